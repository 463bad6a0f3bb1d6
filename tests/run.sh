#!/usr/bin/env bash
# run.sh test [--all] [ctest arguments]: builds everything, runs the test suite, counts and lists
# what was skipped. With --all, or CI in the environment, every check around the tests as well:
# format, laws with a fresh seed, second compiler, a build without anything optional, sanitizers.
# run.sh lint: format, and static analysis, which takes longer than all of the above.
# Called by ./leafproof. Its last line is `N passed, N failed, N skipped`; exit 0 if none failed.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")
cd "$root"
command=$1
shift
jobs=$(nproc)
logs=$root/build/logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0

build() { # PRESET KINDS [TARGET...]
  LEAFPROOF_PRESET=$1 LEAFPROOF_KINDS=$2 "$root/leafproof" build "${@:3}"
}

# Runs one check; what it prints is kept in a log and shown only when the check fails.
check() { # NAME COMMAND...
  local name=$1 log=$logs/$1.log begin=$SECONDS
  if [[ -t 2 ]]; then printf '%s ...\r' "$name" >&2; fi
  if "${@:2}" >"$log" 2>&1; then
    passed=$((passed + 1))
    printf 'ok      %-12s %4d s\n' "$name" $((SECONDS - begin))
  else
    failed=$((failed + 1))
    tail -n 60 "$log"
    printf 'FAILED  %-12s %4d s   all of it: %s\n' "$name" $((SECONDS - begin)) "$log"
  fi
}

# Runs ctest in the build folder of a preset, shows what failed, and counts.
run_ctest() { # BUILD-FOLDER [ctest arguments]
  local folder=$1 status=0 text line
  text=$logs/ctest-$(basename "$folder").txt
  # A line per test is progress; everything else is kept.
  (cd "$folder" && ctest -j "$jobs" --output-on-failure --no-tests=error "${@:2}") 2>&1 |
    tee "$text" | while IFS= read -r line; do
    if [[ $line =~ ^\ *[0-9]+/[0-9]+\ Test|^\ +Start\ +[0-9]+: && ! $line =~ \*\*\* ]]; then
      [[ ! -t 2 ]] || printf '\r\033[K%.100s' "$line" >&2
    elif [[ ! $line =~ \*\*\*Skipped ]]; then
      printf '%s\n' "$line"
    fi
  done || status=$?
  count_ctest "$text" "$folder"
  return "$status"
}

count_ctest() { # CTEST-OUTPUT BUILD-FOLDER
  local results skips
  results=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#' "$1" || true)
  skips=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$1" || true)
  local good
  good=$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$1" || true)
  passed=$((passed + good))
  skipped=$((skipped + skips))
  failed=$((failed + results - good - skips))
  ((results)) || failed=$((failed + 1)) # ctest itself failed
  if ((skips)); then
    echo
    echo "SKIPPED: $skips, each with its reason:"
    # In ctest's log a skipped test prints `FILE:LINE: Skipped`, then its reason.
    awk '/^[0-9]+\/[0-9]+ Testing: /  { name = $3 }
         take                         { print "  " name ": " $0; take = 0 }
         /: Skipped$/                 { take = 1 }' "$2/Testing/Temporary/LastTest.log" | sort
    echo
  fi
}

sources() { git ls-files --cached --others --exclude-standard -- "$@" | sort; }

format() { sources '*.h' '*.cc' '*.cu' '*.cuh' | xargs clang-format-19 --dry-run -Werror; }

# Host code only: no clang compiles the CUDA files.
tidy() {
  build clang "needed optional checks" &&
    run-clang-tidy-19 -quiet -j "$jobs" -p build-clang \
      "^$root/(reference|gpu|oracle|properties|fuzz|tests)/"
}

# The tests where memory, overflow and races are most at stake; all of them under a sanitizer are
# LEAFPROOF_PRESET=asan ./leafproof build && ctest --test-dir build-asan -LE slow.
sanitized() { # PRESET TEST...
  local test
  build "$1" "$kinds" "${@:2}" || return
  for test in "${@:2}"; do "build-$1/bin/$test" || return; done
}

closing_line() {
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0))
}

if [[ $command == lint ]]; then
  LEAFPROOF_KINDS="needed optional checks" "$root/leafproof" build reference/all
  check format format
  check clang-tidy tidy
  closing_line
  exit
fi

all=${CI:-}
if [[ ${1:-} == --all ]]; then
  all=yes
  shift
fi
kinds="needed optional"
[[ -z $all ]] || kinds+=" checks"
build default "$kinds"
run_ctest build "$@" || true
if [[ -n $all ]]; then
  check format format
  check site mkdocs build --strict --quiet --site-dir build/site
  check verify build/bin/leafproof verify
  seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
  printf "fresh laws: RC_PARAMS='seed=%s' build/bin/laws\n" "$seed"
  check fresh-laws env "RC_PARAMS=seed=$seed" build/bin/laws --gtest_brief=1
  check clang build clang "$kinds"
  check minimal build minimal needed leafproof
  check asan sanitized asan builder_sweep_test builder_adopt_test layout_view_test compare_test \
    builder_pool_test builder_conv_test builder_map_test builder_convolution_test \
    builder_plan_test conv_compare_test
  check tsan sanitized tsan builder_threads_test
fi
closing_line
