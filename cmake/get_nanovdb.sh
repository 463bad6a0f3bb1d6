#!/usr/bin/env bash
# get_nanovdb.sh PREFIX: the NanoVDB 13 headers (library version 32.9 or a later 32.x) in
# PREFIX/include, for a Debian whose own libnanovdb-dev is too old to know ValueOnIndex.
# The package comes from a later Debian suite through an apt configuration of its own: apt checks
# the archive's signature and the package's hash, and the system's apt and packages stay untouched.
set -euo pipefail

prefix=$(realpath -m "${1:?usage: get_nanovdb.sh PREFIX}")
here=$(dirname "$(realpath "$0")")
suites=${LEAFPROOF_NANOVDB_SUITES:-"forky sid"}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# A copy that may lie beside the checkout, for the day when no suite has a fitting package.
fallback=$here/../../shared/toolchain/libnanovdb-dev.deb
fallback_sha256=d2c18269c72c4bda787a1f4cad41c58cc1c3b3aa3c874e9bb7d379acf0ff630a

say() { printf 'get_nanovdb: %s\n' "$*" >&2; }

# The library version of the headers under a folder, "32.9.0"; nothing when there are none.
version_in() {
  awk '$1 == "#define" && $2 ~ /^NANOVDB_(MAJOR|MINOR|PATCH)_VERSION_NUMBER$/ { v = v "." $3 }
       END { print substr(v, 2) }' "$1/nanovdb/NanoVDB.h" 2>/dev/null || true
}
fits() { [[ $1 =~ ^32\.([0-9]+)\. ]] && ((BASH_REMATCH[1] >= 9)); }

have=$(version_in "$prefix/include")
if fits "$have"; then
  say "NanoVDB $have is already in $prefix"
  exit 0
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Downloads libnanovdb-dev of one suite into $tmp/deb.
download_from() {
  local suite=$1 archive arch
  arch=$(dpkg --print-architecture)
  # The mirror is the one that the system's own apt uses for Debian.
  archive=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
    awk -F'|' '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
  if [[ -z $archive || ! -r $keyring ]]; then
    say "apt knows no Debian archive, or its keyring is missing (run apt-get update once)"
    return 1
  fi
  local apt=$tmp/apt-$suite
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,preferences.d}
  : >"$apt/status"
  echo "deb [arch=$arch signed-by=$keyring] $archive $suite main" >"$apt/sources.list"
  local options=(
    -q -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::Etc::Preferences=/dev/null -o "Dir::Etc::PreferencesParts=$apt/preferences.d"
    -o "Dir::State::Lists=$apt/lists" -o "Dir::State::Status=$apt/status" -o "Dir::Cache=$apt/cache"
    -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o Acquire::Languages=none
    -o Acquire::AllowInsecureRepositories=false -o Acquire::Retries=3 -o Acquire::http::Timeout=20
    -o "APT::Sandbox::User=$(id -un)"
  )
  mkdir -p "$tmp/deb"
  apt-get "${options[@]}" update >"$apt/log" 2>&1 &&
    (cd "$tmp/deb" && apt-get "${options[@]}" download libnanovdb-dev) >>"$apt/log" 2>&1 ||
    { say "$suite: $(tail -n 1 "$apt/log")"; return 1; }
}

# Unpacks a package and moves its headers into place if their version fits.
take() {
  local deb=$1 source=$2 version
  rm -rf "$tmp/x"
  dpkg-deb -x "$deb" "$tmp/x"
  version=$(version_in "$tmp/x/usr/include")
  if ! fits "$version"; then
    say "$source: library version '$version' does not fit (32.9 or a later 32.x is needed)"
    return 1
  fi
  mkdir -p "$prefix"
  rm -rf "$prefix/include" "$prefix/doc"
  mv "$tmp/x/usr/share/doc/libnanovdb-dev" "$prefix/doc" # its licence
  mv "$tmp/x/usr/include" "$prefix/include"
  say "took NanoVDB $version (sha256 $(sha256sum <"$deb" | cut -d' ' -f1)) from $source"
}

if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
  for suite in $suites; do
    if download_from "$suite"; then
      deb=$(ls "$tmp"/deb/*.deb)
      take "$deb" "Debian $suite, $(basename "$deb")" && exit 0
      rm -f "$deb"
    fi
  done
  if [[ -r $fallback ]]; then
    echo "$fallback_sha256  $fallback" | sha256sum --check --quiet - &&
      take "$fallback" "the copy beside this checkout" && exit 0
  fi
fi
say "no NanoVDB 13 found. Get its headers (any 32.x from 32.9 on) and put the folder 'nanovdb' into
  $prefix/include, or name the folder above it in the environment: LEAFPROOF_NANOVDB_INCLUDE=DIR"
exit 1
