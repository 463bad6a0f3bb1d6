#!/usr/bin/env bash
# check.sh [FOLDER]
#
# Runs build.sh as OSS-Fuzz does, without Docker: with CC, CXX, CFLAGS, CXXFLAGS, SANITIZER,
# LIB_FUZZING_ENGINE, SRC and OUT set, and nothing of this checkout's build folders. Then it checks
# what lies in OUT as the engine would use it: every target runs on its seed corpus with its
# dictionary, finds its libraries in OUT, and mutates for a moment.
# FOLDER (default: a new one under the folder for temporary files) keeps the build; CXXFLAGS, CFLAGS
# and SANITIZER from the environment replace those of OSS-Fuzz's address sanitizer.
set -euo pipefail
if [[ ${1:-} == --help || ${1:-} == -h ]]; then
  sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"
  exit
fi
root=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
folder=$(realpath -m "${1:-$(mktemp -d)}")
export SRC=$folder/src OUT=$folder/out WORK=$folder/work
export CC=${CC:-clang-19} CXX=${CXX:-clang++-19}
export LIB_FUZZING_ENGINE=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
export SANITIZER=${SANITIZER:-address}
flags="-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address"
flags+=" -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
export CFLAGS=${CFLAGS-$flags} CXXFLAGS=${CXXFLAGS-$flags}
rm -rf "$OUT"
mkdir -p "$SRC" "$OUT"
ln -sfn "$root" "$SRC/leafproof"
(cd -P "$SRC/leafproof" && bash fuzz/oss-fuzz/build.sh)

c_library='/(libc|libm|libdl|librt|libpthread|libresolv)[.]so'
failed=0
complain() {
  echo "check.sh: $*" >&2
  failed=1
}
cd "$OUT"
unset LD_LIBRARY_PATH
for source in "$root"/fuzz/*_fuzz.cc; do
  name=$(basename "$source" .cc)
  target=${name%_fuzz}
  for file in "$name" "${name}_seed_corpus.zip" "$name.options"; do
    [[ -s $file ]] || complain "$file is missing"
  done
  if ldd "./$name" | grep -E '=> not found'; then complain "$name misses libraries"; fi
  while read -r library; do # the loader names them by OUT/./lib
    [[ $(realpath "$library") == "$OUT"/lib/* ]] || complain "$name takes $library from outside OUT"
  done < <(ldd "./$name" | awk -v skip="$c_library" '$3 ~ /^\// && $3 !~ skip { print $3 }')
  rm -rf "$folder/seeds"
  mkdir "$folder/seeds"
  (cd "$folder/seeds" && cmake -E tar xf "$OUT/${name}_seed_corpus.zip")
  seeds=$(find "$folder/seeds" -type f | wc -l)
  wanted=$(cd "$root/fuzz" && find corpus regressions -path "*/$target/*" -type f | wc -l)
  ((seeds > 0 && seeds == wanted)) || complain "$name has $seeds seeds of $wanted"
  dictionary=()
  [[ ! -e $name.dict ]] || dictionary=("-dict=$name.dict")
  # As many runs as there are seeds, and some mutants.
  if ! "./$name" "${dictionary[@]}" -runs=$((seeds + 200)) "$folder/seeds" \
    >"$folder/$name.log" 2>&1; then
    tail -n 20 "$folder/$name.log" >&2
    complain "$name failed"
  fi
  echo "$name: $seeds seeds, $(grep -oE 'Done [0-9]+ runs' "$folder/$name.log" | tail -n 1)"
done
exit "$failed"
