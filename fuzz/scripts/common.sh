# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share: where things are, and which targets there are. Sourced.
root=$(dirname "$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")")
build=${LEAFPROOF_FUZZ_BUILD:-$root/build-fuzz}
of_cases=" batch conv numbers topology views " # those that `leafproof replay` reads too

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }
fail() {
  say "$*"
  exit 2
}

# The comment at the head of the script is its help.
help() { sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; }

all_targets() {
  local file
  for file in "$root"/fuzz/*_fuzz.cc; do basename "$file" _fuzz.cc; done
}

is_target() { [[ -n $1 && -e $root/fuzz/$1_fuzz.cc ]]; }

# The program of a target, which must have been built with libFuzzer.
program() {
  local path=$build/bin/$1_fuzz
  [[ -x $path ]] || fail "$path is not built: LEAFPROOF_PRESET=fuzz ./leafproof build $1_fuzz"
  printf '%s\n' "$path"
}

# Options of libFuzzer that belong to a target: its dictionary.
options() {
  local dictionary=$root/fuzz/dictionaries/$1.dict
  [[ ! -e $dictionary ]] || printf -- '-dict=%s\n' "$dictionary"
}

# Folders of known inputs of a target.
known() {
  local folder
  for folder in "$root/fuzz/corpus/$1" "$root/fuzz/regressions/$1"; do
    [[ ! -d $folder ]] || printf '%s\n' "$folder"
  done
}
