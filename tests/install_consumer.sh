#!/usr/bin/env bash
# install_consumer.sh BUILD CMAKE COMPILER NANOVDB [REASON]: installs the build into a folder of its
# own, builds docs/example and tests/install against it by find_package, runs both, and has the
# program judge what the example wrote. Exit 77, saying REASON, where that cannot be done.
set -euo pipefail
tests=$(dirname "$(realpath "$0")")
build=$1 cmake=$2 compiler=$3 nanovdb=$4
if [[ -n ${5:-} ]]; then
  printf '%s: Skipped\n%s\n' "$0" "$5"
  exit 77
fi

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$cmake" --install "$build" --component Development --prefix "$place/prefix" >"$place/log" ||
  { cat "$place/log"; exit 1; }
if grep -rlF "$tests" "$place/prefix" --include='*.cmake'; then
  echo "the installed package names the checkout that it was built from"
  exit 1
fi

build_consumer() { # SOURCE NAME
  env -u LEAFPROOF_NANOVDB_INCLUDE "$cmake" -S "$1" -B "$place/$2" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$place/prefix" \
    -DLEAFPROOF_NANOVDB_INCLUDE="$nanovdb" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror"
  "$cmake" --build "$place/$2"
}
build_consumer "$tests/install" every_room
"$place/every_room/every_room"
build_consumer "$tests/../docs/example" example
cd "$place"
example/refine_shells
program=$build/bin/leafproof
"$program" show shells.nvdb
"$program" check refine shells.nvdb fine.nvdb --factor 2 --profile layout
