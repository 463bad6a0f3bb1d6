#!/usr/bin/env bash
# install_abi.sh BUILD CMAKE: installs the component Abi alone, which must be one header and what
# finds it; builds docs/example/abi_c against it in a project that knows C and nothing else, and has
# the program judge that library.
set -euo pipefail
tests=$(dirname "$(realpath "$0")")
build=$1 cmake=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$cmake" --install "$build" --component Abi --prefix "$place/prefix" >"$place/log" ||
  { cat "$place/log"; exit 1; }
(cd "$place/prefix" && find . -type f -not -name '*.cmake' | sort)
headers=$(find "$place/prefix" -name '*.h' -printf '%P\n')
if [[ $headers != include/leafproof_backend.h ]]; then
  echo "the component Abi has other headers than the one: $headers"
  exit 1
fi
"$cmake" -S "$tests/../docs/example/abi_c" -B "$place/abi_c" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$place/prefix"
"$cmake" --build "$place/abi_c"
library=$place/abi_c/libsorted_lists.so
"$build/bin/leafproof" about "$library"
"$build/bin/leafproof" replay --backend "$library" 'case1 coarsen factor=2 source=[-1,0,0;5,0,0][]'

# Another component is refused by name, as it is not there.
mkdir "$place/other"
printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(Other LANGUAGES C)' \
  'find_package(Leafproof COMPONENTS gpu)' >"$place/other/CMakeLists.txt"
"$cmake" -S "$place/other" -B "$place/other/build" -DCMAKE_PREFIX_PATH="$place/prefix" \
  >"$place/log" 2>&1
if ! grep -q 'the component gpu is not installed' "$place/log"; then
  cat "$place/log"
  exit 1
fi
