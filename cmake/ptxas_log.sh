#!/bin/sh
# ptxas_log.sh COMPILER...: runs a compiler. What ptxas says of kernels (-Xptxas -v) goes to the
# object's name + ".ptxas", everything else to stderr. It stands before ccache, which repeats what
# the compiler said.
object= last=
for word; do
  [ "$last" != -o ] || object=$word
  last=$word
done
[ -n "$object" ] || exec "$@"
said=$object.said
"$@" 2>"$said"
code=$?
is_ptxas='^ptxas info|bytes stack frame'
grep -E "$is_ptxas" "$said" >"$object.ptxas"
grep -vE "$is_ptxas" "$said" >&2
rm -f "$said"
exit $code
