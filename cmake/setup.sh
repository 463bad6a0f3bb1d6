#!/usr/bin/env bash
# setup.sh KINDS yes|no: makes sure that what cmake/packages.txt lists of these kinds is there
# ("needed optional", or with "checks"), and the NanoVDB headers. With `no`, or without root or apt,
# nothing is installed: it says what is missing and how to get it.
# Talks on stderr. Exit 2 when something needed is missing.
set -euo pipefail
root=$(dirname "$(dirname "$(realpath "$0")")")
kinds=$1
install=$2
nanovdb=$root/.deps/nanovdb

say() { printf 'leafproof: %s\n' "$*" >&2; }

is_there() { # PACKAGE COMMAND
  if [[ $2 != - ]]; then
    command -v "$2" >/dev/null
  elif command -v dpkg-query >/dev/null; then
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
  fi # no dpkg: whether a library is there, CMake will find out
}

# Sets `missing` (packages), `fatal` (those of them that are needed) and `reasons` (lines).
look() {
  missing=() fatal=() reasons=
  local kind package command why
  while read -r kind package command why; do
    [[ $kind == \#* || -z $kind || " $kinds " != *" $kind "* ]] && continue
    is_there "$package" "$command" && continue
    missing+=("$package")
    [[ $kind == optional ]] || fatal+=("$package")
    reasons+=$(printf '  %-20s %-9s %s' "$package" "$kind" "$why")$'\n'
  done <"$root/cmake/packages.txt"
}

run_as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo -n "$@"; fi
}
can_install() {
  [[ $install == yes ]] && command -v apt-get >/dev/null &&
    { [[ $(id -u) == 0 ]] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; }
}

look
if ((${#missing[@]})) && can_install; then
  say "installing with apt:"
  printf '%s' "$reasons" >&2
  mkdir -p "$root/build"
  log=$root/build/apt.log
  # One unreachable archive of many is no reason to stop: the installation itself decides.
  run_as_root apt-get -q update >"$log" 2>&1 || true
  run_as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 "${missing[@]}" >>"$log" 2>&1 ||
    { say "apt failed (all of it is in $log):"; tail -n 5 "$log" >&2; }
  look
fi
if ((${#missing[@]})); then
  say "missing on this machine:"
  printf '%s' "$reasons" >&2
  say "to get it on Debian 12: apt-get install --no-install-recommends ${missing[*]}"
fi

if [[ ! -e $nanovdb/include/nanovdb/NanoVDB.h && -z ${LEAFPROOF_NANOVDB_INCLUDE:-} ]]; then
  if [[ $install == no ]]; then
    say "missing: the NanoVDB 13 headers"
    say "to get them: cmake/get_nanovdb.sh .deps/nanovdb (Debian), or set LEAFPROOF_NANOVDB_INCLUDE"
    fatal+=(nanovdb)
  elif ! "$root/cmake/get_nanovdb.sh" "$nanovdb"; then
    say "no package of the NanoVDB 13 headers here; CMake will try the upstream release"
  fi
fi
((${#fatal[@]} == 0)) || exit 2
