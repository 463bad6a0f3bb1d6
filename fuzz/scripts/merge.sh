#!/usr/bin/env bash
# merge.sh [TARGET]...
#
# Brings what runs have grown in the build folder into fuzz/corpus: of all inputs as few as reach
# the same code, the smallest first. What is in fuzz/corpus stays; regressions are left alone.
# Prints how many inputs each target has before and after.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "$(realpath "$0")")/common.sh"
[[ ${1:-} != --help && ${1:-} != -h ]] || { help; exit; }
targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(all_targets)
count() { find "$1" -type f | wc -l; }
for target in "${targets[@]}"; do
  is_target "$target" || fail "no target $target; there are: $(all_targets | xargs)"
  corpus=$root/fuzz/corpus/$target grown=$build/fuzz-corpus/$target
  mkdir -p "$corpus" "$grown"
  before=$(count "$corpus")
  "$(program "$target")" -merge=1 "$corpus" "$grown" >"$build/merge-$target.log" 2>&1 ||
    fail "$target failed on its own corpus: $build/merge-$target.log"
  printf '%-10s %6d inputs, now %6d\n' "$target" "$before" "$(count "$corpus")"
done
