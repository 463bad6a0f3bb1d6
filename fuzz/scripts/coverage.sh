#!/usr/bin/env bash
# coverage.sh [--no-build] [--no-run] [--html FOLDER]
#
# What the tests, the laws and the fuzz corpus together execute of reference/, gpu/ (its host side)
# and oracle/: builds them with clang's source-based coverage (preset `coverage`), runs them, and
# prints a table for each folder, then the files below the aims (95 % of lines, 90 % of branches).
# Of a template all instantiations count as one. Witnesses, benchmarks and GPU checks are left out.
# Counters lie in the mapped file (%c): children that end by `_exit` or are killed count as well.
#
#   --no-build      run what is built already
#   --no-run        report on the last run
#   --html FOLDER   the sources line by line, too
# Takes some 20 minutes of a core for the build, and 10 for the run. Exit code 1: a program failed
# (named; its coverage counts nevertheless), 2: it could not be run.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname "$(realpath "$0")")/common.sh"
build=${LEAFPROOF_COVERAGE_BUILD:-$root/build-coverage}
make=yes run=yes html=
while (($#)); do
  case $1 in
    --help | -h) help; exit ;;
    --no-build) make="" ;;
    --no-run) make="" run="" ;;
    --html)
      (($# > 1)) || fail "--html takes a folder"
      html=$2
      shift
      ;;
    *) fail "unknown argument $1 (--help)" ;;
  esac
  shift
done
llvm() { # NAME ARGUMENT...: the tool of the compiler's own version
  local tool
  for tool in "$1-19" "$1"; do
    if command -v "$tool" >/dev/null; then
      "$tool" "${@:2}"
      return
    fi
  done
  fail "$1 is not there (Debian: llvm-19)"
}

# Those that ask the code of the three rooms, not other people's.
tests=()
for file in "$root"/tests/*_test.cc; do
  name=$(basename "$file" .cc)
  case $name in
    witness_* | bench_test | cuda_* | include_graph_test | faults_test) ;;
    *) tests+=("$name") ;;
  esac
done
programs=(leafproof laws "${tests[@]}")
for target in $(all_targets); do programs+=("${target}_fuzz"); done

if [[ $make ]]; then
  LEAFPROOF_PRESET=coverage "$root/leafproof" build "${programs[@]}"
fi
failed=()
profiles=$build/profiles
one() { # NAME COMMAND...
  [[ ! -t 2 ]] || say "$1"
  LLVM_PROFILE_FILE=$profiles/$1-%4m%c.profraw "${@:2}" >"$build/coverage-$1.log" 2>&1 ||
    failed+=("$1")
}
if [[ $run ]]; then
  rm -rf "$profiles"
  mkdir -p "$profiles"
  for name in laws "${tests[@]}"; do
    [[ ! -x $build/bin/$name ]] || one "$name" "$build/bin/$name"
  done
  for target in $(all_targets); do
    mapfile -t folders < <(known "$target")
    one "${target}_fuzz" "$build/bin/${target}_fuzz" "${folders[@]}"
  done
  one verify "$build/bin/leafproof" verify --level 1
  llvm llvm-profdata merge -sparse -o "$build/coverage.profdata" "$profiles"/*.profraw
fi

objects=()
for name in "${programs[@]}"; do
  [[ ! -x $build/bin/$name ]] || objects+=(-object "$build/bin/$name")
done
sources=("$root"/{reference,gpu,oracle} "$build"/rooms/{reference,gpu,oracle}) # headers: by links
llvm llvm-cov export -summary-only -instr-profile "$build/coverage.profdata" "${objects[@]:1}" \
  "${sources[@]}" >"$build/coverage.json"
[[ -z $html ]] || llvm llvm-cov show -format=html -show-branches=count -output-dir "$html" \
  -instr-profile "$build/coverage.profdata" "${objects[@]:1}" "${sources[@]}"
python3 "$root/fuzz/scripts/coverage_table.py" "$root" "$build/coverage.json"
((${#failed[@]} == 0)) || {
  say "failed: ${failed[*]} (logs: $build/coverage-NAME.log)"
  exit 1
}
