#!/usr/bin/env bash
# minimise.sh TARGET FILE [SECONDS]
#
# Makes a finding smaller while it stays one, for at most SECONDS (default 60), and prints where the
# result is. Of a target that takes cases, only smaller cases are tried; `leafproof replay --shrink
# FILE` goes further where a backend differs from the reference.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "$(realpath "$0")")/common.sh"
[[ ${1:-} != --help && ${1:-} != -h ]] || { help; exit; }
(($# == 2 || $# == 3)) || fail "takes a target and a file (--help)"
is_target "$1" || fail "no target $1; there are: $(all_targets | xargs)"
[[ -f $2 ]] || fail "no such file: $2"
out=$2.small
if "$(program "$1")" "$2" >/dev/null 2>&1; then fail "$2 is no finding: the target passes it"; fi
cp "$2" "$out"
"$(program "$1")" -minimize_crash=1 -max_total_time="${3:-60}" -exact_artifact_path="$out" "$2" \
  >"$out.log" 2>&1 || true
say "$(stat -c %s "$2") bytes, now $(stat -c %s "$out")"
printf '%s\n' "$out"
