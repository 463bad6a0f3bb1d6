#!/usr/bin/env bash
# run_or_why.sh PROGRAM VECTORS: passes where the check passes on a device, or where there is none
# and the program exits 3 with one line that says why, in CUDA's words, and nothing on stdout.
set -uo pipefail
talk=$(mktemp)
trap 'rm -f "$talk"' EXIT
code=0
out=$("$1" --quick --vectors "$2" 2>"$talk") || code=$?
said=$(<"$talk")
printf '%s\n%s\n' "$out" "$said"
[[ $code != 0 ]] || exit 0
[[ $code == 3 && -z $out && $said == "gpu-check: no CUDA device can be used: "*cuda* ]]
