#!/usr/bin/env bash
# run.sh BUILD VERSION [WHY-NOT...]: the package for one version of Python, tested. Makes a virtual
# environment in BUILD/python/VERSION, compiles the module's own files against the libraries that
# BUILD has, installs the package there and runs pytest. What is there and unchanged is kept.
# VERSION "wheel": `pip wheel .` as a user runs it, with the default Python, installed into an empty
# environment. Exit 77, with the reason: skipped.
set -euo pipefail
build=$1 version=$2
root=$(dirname "$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")")
place=$build/python/$version
log=$place/log.txt
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

skip() {
  echo "oracle/python/tests/run.sh:0: Skipped"
  echo "$*"
  exit 77
}

# Runs it; shows what it said where it failed.
quietly() {
  "$@" >"$log" 2>&1 && return
  tail -n 40 "$log"
  return 1
}

# The interpreter of a version: on PATH, or one that pyenv has.
find_python() {
  local python
  for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python3; do
    if "$python" -c '' 2>/dev/null; then
      printf '%s\n' "$python"
      return
    fi
  done
}

# install NAME...: from PyPI, unless they are there.
install() {
  [[ -e $place/.installed && $(<"$place/.installed") == "$*" ]] && return
  if ! "$place/venv/bin/python" -m pip install -q "$@" >"$log" 2>&1; then
    skip "pip cannot install $*: $(grep -v '^$' "$log" | tail -n 1)"
  fi
  printf '%s\n' "$*" >"$place/.installed"
}

[[ $# -le 2 ]] || skip "${*:3}"
wanted=$version
[[ $version != wheel ]] || wanted=3
python=$(find_python "$wanted")
[[ -n $python ]] || skip "there is no Python $wanted"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[[ -e $headers/Python.h ]] || skip "$python has no headers (Debian: python3-dev)"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  skip "$python makes no virtual environments (Debian: python3-venv)"
mkdir -p "$place"
# By the compiler of BUILD.
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
options=(--config-settings "cmake.define.CMAKE_CXX_COMPILER=$compiler") # pip 23.0 has no -C

if [[ $version == wheel ]]; then
  # As a user has it, but for warnings, so that ccache knows the libraries.
  rm -rf "$place/wheels" "$place/venv"
  "$python" -m venv "$place/venv"
  if ! "$place/venv/bin/python" -m pip wheel -w "$place/wheels" "$root" \
    "${options[@]}" --config-settings cmake.define.LEAFPROOF_WERROR=ON >"$log" 2>&1; then
    grep -qE 'Connection|Could not find a version|Temporary failure' "$log" &&
      skip "pip cannot reach PyPI: $(grep -v '^$' "$log" | tail -n 1)"
    tail -n 60 "$log"
    exit 1
  fi
  quietly "$place/venv/bin/python" -m pip install --no-index --find-links "$place/wheels" leafproof
  cd "$place" # not where the sources are
  exec "$place/venv/bin/python" "$root/oracle/python/tests/installed.py"
fi

[[ -x $place/venv/bin/python ]] || "$python" -m venv "$place/venv"
install dask distributed hypothesis nanobind numpy pytest scikit-build-core
key=$( (cd "$root" && find oracle/python pyproject.toml CMakeLists.txt cmake/Python.cmake -type f \
  ! -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum
  find "$build" -name 'libleafproof_*.a' -printf '%p %T@\n' | sort) | sha256sum)
if [[ ! -e $place/.key || $(<"$place/.key") != "$key" ]]; then
  quietly "$place/venv/bin/python" -m pip install --no-build-isolation --no-deps \
    --force-reinstall "${options[@]}" --config-settings cmake.source-dir=oracle/python \
    --config-settings "cmake.define.LEAFPROOF_BUILD=$build" \
    --config-settings "build-dir=$place/cmake" "$root"
  printf '%s\n' "$key" >"$place/.key"
fi
cd "$place" # not where the sources are
LEAFPROOF_PROGRAM=$build/bin/leafproof exec "$place/venv/bin/python" -m pytest -q \
  -p no:cacheprovider --rootdir "$root/oracle/python/tests" "$root/oracle/python/tests"
