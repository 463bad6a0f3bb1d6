#!/usr/bin/env bash
# run.sh [--target T]... [--time SECONDS] [--jobs N] [--seed N]
#
# Runs fuzz targets under libFuzzer, each for --time seconds (default 60), --jobs of them at once
# (default: one for each core), all of them unless --target names some. `./leafproof fuzz` builds
# them first and then calls this.
#
#   --target T    topology, conv, ...; may be repeated. --list prints all names; --programs, first
#                 of all, those of the programs that the other arguments ask for.
#   --time S      seconds for each target
#   --jobs N      targets at once
#   --seed N      libFuzzer's seed, to run the same again (default 0: another one every time)
#
# Starts from fuzz/corpus/T and fuzz/regressions/T; new inputs are kept in the build folder, where
# the next run finds them (merge.sh brings the useful ones into fuzz/corpus). A finding is kept as
# fuzz/regressions/candidates/T/FILE, with a line that replays it.
# Exit code: 0 nothing found, 1 something was, 2 it could not be run.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "$(realpath "$0")")/common.sh"

targets=() seconds=60 jobs=$(nproc) seed=0 only_names=
if [[ ${1:-} == --programs ]]; then
  only_names=yes
  shift
fi
while (($#)); do
  case $1 in
    --help | -h) help; exit ;;
    --list) all_targets; exit ;;
    --target | --time | --jobs | --seed)
      (($# > 1)) || fail "$1 takes a value (--help)"
      case $1 in
        --target)
          is_target "$2" || fail "no target $2; there are: $(all_targets | xargs)"
          targets+=("$2")
          ;;
        *)
          [[ $2 =~ ^[0-9]{1,9}$ ]] || fail "$1 takes a number, not '$2'"
          case $1 in --time) seconds=$2 ;; --jobs) jobs=$2 ;; --seed) seed=$2 ;; esac
          ;;
      esac
      shift
      ;;
    *) fail "unknown argument $1 (--help)" ;;
  esac
  shift
done
((${#targets[@]})) || mapfile -t targets < <(all_targets)
((jobs > 0 && seconds > 0)) || fail "--jobs and --time must be positive"
if [[ $only_names ]]; then
  printf '%s_fuzz\n' "${targets[@]}"
  exit
fi
for target in "${targets[@]}"; do program "$target" >/dev/null; done

candidates=$root/fuzz/regressions/candidates
logs=$build/fuzz-logs
mkdir -p "$logs"

# One target to its end; its log is kept, and its exit code is libFuzzer's.
run_target() {
  local target=$1 grown=$build/fuzz-corpus/$1 arguments=()
  mkdir -p "$grown" "$candidates/$target"
  mapfile -t arguments < <(options "$target"; printf '%s\n' "$grown"; known "$target")
  "$(program "$target")" -max_total_time="$seconds" -seed="$seed" -timeout=300 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="$candidates/$target/" "${arguments[@]}" \
    >"$logs/$target.log" 2>&1
}

statistic() { sed -n "s/^stat::$2: *//p" "$logs/$1.log"; }

# One line for each target; says how to replay what it found.
report() { # TARGET EXIT-CODE
  local target=$1 executions new artifact
  executions=$(statistic "$target" number_of_executed_units)
  new=$(statistic "$target" new_units_added)
  printf '%-10s %8d s %12s executions %8s a second %8s new inputs   %s\n' "$target" "$seconds" \
    "${executions:-?}" "$(statistic "$target" average_exec_per_sec)" "${new:-?}" \
    "$( (($2 == 0)) && echo ok || echo "FINDING (exit code $2)")"
  (($2)) || return 0
  artifact=$(sed -n "s/.*Test unit written to //p" "$logs/$target.log" | tail -n 1)
  grep -m 1 -E 'finding:|ERROR:|runtime error:' "$logs/$target.log" | cut -c -400 || true
  echo "  all of it: $logs/$target.log"
  if [[ -z $artifact ]]; then
    echo "  no input was kept: the engine itself ended (see the log)"
    return
  fi
  echo "  replay:    $build/bin/${target}_fuzz $artifact"
  [[ $of_cases != *" $target "* ]] || echo "  as a case: ./leafproof replay --as text $artifact"
  echo "  smaller:   fuzz/scripts/minimise.sh $target $artifact"
}

found=0
declare -A running=() # process: target
collect() {           # waits for one of them
  local process status=0
  wait -n -p process "${!running[@]}" || status=$?
  report "${running[$process]}" "$status"
  unset "running[$process]"
  ((status == 0)) || found=1
}
for target in "${targets[@]}"; do
  ((${#running[@]} < jobs)) || collect
  [[ ! -t 2 ]] || say "$target, $seconds s"
  run_target "$target" &
  running[$!]=$target
done
while ((${#running[@]})); do collect; done
find "$candidates" -type d -empty -delete
exit "$found"
