#!/usr/bin/env bash
# instruction_set_symbols.sh NM OBJECT...: of the objects compiled for one instruction set
# (products_avx*), no function may be shared with another object: a linker keeps one of several that
# have the same name, and it would run on CPUs that it was not compiled for. So each is either not
# to be seen outside, or in the namespace that Eigen has in that file alone, or the way in.
set -euo pipefail
nm=$1
seen=0
for object in "${@:2}"; do
  [[ $(basename "$object") == products_avx* ]] || continue
  symbols=$("$nm" --defined-only --extern-only -C "$object")
  [[ -n $symbols ]] || continue # a build without instruction sets (sanitizers)
  seen=$((seen + 1))
  shared=$(grep -vE 'LeafproofEigenAvx|leafproof::gpu::products_avx|DW\.ref\.' <<<"$symbols" || true)
  if [[ -n $shared ]]; then
    echo "$object shares with other objects:"
    echo "$shared"
    exit 1
  fi
  grep -q 'LeafproofEigenAvx' <<<"$symbols" || { echo "$object has no product"; exit 1; }
done
((seen == 2 || seen == 0)) || { echo "$seen objects of two were looked at"; exit 1; }
echo "$seen objects share nothing"
