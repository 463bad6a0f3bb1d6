#!/usr/bin/env bash
# instruction_set_symbols.sh NM OBJDUMP OBJECT...: that a CPU never meets code for a better one. Of
# the builder's objects,
#   those compiled for one instruction set (products_avx*) share no function with another object: a
#     linker keeps one of several that have the same name. Each is either not to be seen outside, or
#     in the namespace that Eigen has in that file alone, or the way in;
#   in all others, wide registers occur only in functions that say so by their names (..._avx2).
set -euo pipefail
nm=$1 objdump=$2
seen=0
for object in "${@:3}"; do
  name=$(basename "$object")
  if [[ $name == products_avx* ]]; then
    symbols=$("$nm" --defined-only --extern-only -C "$object" | grep -v '___asan_' || true)
    [[ -n $symbols ]] || continue # a build without instruction sets (sanitizers)
    seen=$((seen + 1))
    allowed='LeafproofEigenAvx|leafproof::gpu::products_avx|DW\.ref\.'
    wrong=$(grep -vE "$allowed" <<<"$symbols" || true)
    grep -q 'LeafproofEigenAvx' <<<"$symbols" || wrong="no product in it"
  elif [[ $name == *.cc.o ]]; then
    wrong=$("$objdump" -d --no-show-raw-insn "$object" |
      awk '/^[0-9a-f]+ </ {f = $2} /%[yz]mm/ && f !~ /avx/ && !seen[f]++ {print f}')
    if [[ -n $wrong && $name == products_baseline* ]]; then
      echo "this build assumes wide registers: nothing to check"
      exit 77
    fi
  fi
  if [[ -n ${wrong:-} ]]; then
    echo "$object:"
    echo "$wrong"
    exit 1
  fi
done
((seen == 2 || seen == 0)) || { echo "$seen objects of two were looked at"; exit 1; }
echo "$seen objects share nothing"
