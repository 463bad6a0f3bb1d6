#!/usr/bin/env bash
# setup.sh NAME...: installs a library of the field into an environment of its own,
# .deps/libraries/NAME, with pinned versions, so that its adapter can run it. Nothing outside that
# folder changes. Exit code 3, and a sentence, where it cannot be installed here.
#   torch spconv minkowski   Python 3.10 with PyTorch 1.12.1, the last to import without a GPU alone
#   mlx-lato mlx-lattice     Python 3.12 with MLX for the CPU
#   fvdb                     is never installed: its source fetches more while it is built
# PYTHON310 and PYTHON312 in the environment name interpreters that are not on PATH.
set -euo pipefail
root=$(dirname "$(dirname "$(dirname "$(dirname "$(realpath "${BASH_SOURCE[0]}")")")")")
libraries=$root/.deps/libraries

say() { printf 'conformance: %s\n' "$*" >&2; }

# interpreter VERSION: one that runs, from the environment, PATH, pyenv or uv.
interpreter() {
  local named=PYTHON${1/./} candidate uv
  uv=$(uv python find "$1" 2>/dev/null || true)
  for candidate in "${!named:-}" "python$1" \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python "$uv"; do
    if [[ -n $candidate ]] &&
      "$candidate" -c "import sys; assert '%d.%d' % sys.version_info[:2] == '$1'" 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  say "Python $1 is not here (on PATH, in pyenv, in uv, or as $named)"
  return 3
}

# environment NAME VERSION PACKAGE...: a virtual environment with these packages.
environment() {
  local python
  python=$(interpreter "$2")
  "$python" -m venv --clear "$libraries/$1"
  pip="$libraries/$1/bin/python -m pip"
  $pip install --quiet "${@:3}"
}

# source_of PACKAGE: its source, unpacked in the environment's folder src.
source_of() {
  $pip download --quiet --no-deps --no-binary :all: --no-build-isolation -d "$1" "$2"
  tar -xf "$1"/*.tar.gz -C "$1" --strip-components=1
}

torch=(numpy==1.26.4 torch==1.12.1)

install_torch() { environment torch 3.10 "${torch[@]}"; }

install_spconv() { environment spconv 3.10 "${torch[@]}" spconv==2.3.8; }

install_mlx_lato() { environment mlx-lato 3.12 numpy==2.3.5 mlx==0.32.4 mlx-cpu==0.32.4; }

install_minkowski() {
  if ! echo '#include <cblas.h>' | c++ -E -x c++ - >/dev/null 2>&1; then
    say "MinkowskiEngine needs OpenBLAS with its headers (Debian: libopenblas-dev)"
    return 3
  fi
  environment minkowski 3.10 "${torch[@]}" 'setuptools<60' wheel ninja
  local source=$libraries/minkowski/src
  source_of "$source" MinkowskiEngine==0.5.4
  # A name that Python 3.10 has no more, and a folder that the build writes to without making it.
  grep -rl --include='*.py' 'from collections import Sequence' "$source" |
    xargs sed -i 's/^from collections import Sequence/from collections.abc import Sequence/'
  sed -i 's/^from collections.abc import Sequence, namedtuple/from collections import namedtuple\
from collections.abc import Sequence/' "$source/MinkowskiEngine/MinkowskiKernelGenerator.py"
  mkdir -p "$source/MinkowskiEngine"
  (cd "$source" && mkdir -p MinkowskiEngineBackend &&
    PATH=$libraries/minkowski/bin:$PATH MAX_JOBS=${MAX_JOBS:-2} "$libraries/minkowski/bin/python" \
      setup.py build_ext --inplace --cpu_only --blas=openblas) >"$libraries/minkowski.log" 2>&1 || {
    say "MinkowskiEngine did not build ($libraries/minkowski.log)"
    return 3
  }
  printf '%s\n' "$source" >"$("$libraries/minkowski/bin/python" -c \
    'import site; print(site.getsitepackages()[0])')/minkowski.pth"
}

install_mlx_lattice() {
  environment mlx-lattice 3.12 numpy==2.3.5 mlx==0.31.2 mlx-cpu==0.31.2 nanobind==2.12.0 \
    scikit-build-core cmake ninja lattice-contract==0.6.3
  local source=$libraries/mlx-lattice/src
  source_of "$source" mlx-lattice==0.6.3
  # Without Metal its target platform_metal has no source, which CMake refuses: this one compiles
  # to "unavailable" there.
  sed -i 's/^ *[$]<.*:\(metal.capabilities.cpp\)>/\1/' "$source/native/platform/CMakeLists.txt"
  # Of its stubs for builds without Metal one is not there.
  local stub=$source/native/features/coordinates/metal/stub.cpp
  grep -q eval_relation_implicit_gemm_view_from_edges "$stub" || cat >>"$stub" <<'STUB'
namespace mlx_lattice::coords::metal {
void eval_relation_implicit_gemm_view_from_edges(RelationImplicitGemmViewFromEdgesShape,
                                                 const mx::Stream&, const std::vector<mx::array>&,
                                                 std::vector<mx::array>&) {
  unavailable();
}
}  // namespace mlx_lattice::coords::metal
STUB
  PATH=$libraries/mlx-lattice/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${MAX_JOBS:-2} \
    $pip install --no-build-isolation --no-deps "$source" >"$libraries/mlx-lattice.log" 2>&1 || {
    say "mlx-lattice did not build ($libraries/mlx-lattice.log)"
    return 3
  }
}

install_fvdb() {
  if python3 -c 'import fvdb' 2>/dev/null; then
    mkdir -p "$libraries/fvdb/bin"
    ln -sf "$(python3 -c 'import sys; print(sys.executable)')" "$libraries/fvdb/bin/python"
    return
  fi
  say "fvdb is judged where \`import fvdb\` works already; it does not here, and its source" \
    "package fetches other sources while it is built"
  return 3
}

[[ $# -gt 0 ]] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$libraries"
for name in "$@"; do
  case $name in
    torch | spconv | minkowski | mlx-lato | mlx-lattice | fvdb) ;;
    *) say "there is no library '$name'"; exit 2 ;;
  esac
  stamp=$libraries/$name/.installed
  key=$(sha256sum <"${BASH_SOURCE[0]}")
  [[ -e $stamp && $(<"$stamp") == "$key" ]] && continue
  say "installing $name into $libraries/$name"
  "install_${name//-/_}"
  printf '%s\n' "$key" >"$stamp"
done
