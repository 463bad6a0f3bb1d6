#!/usr/bin/env bash
# Builds all fuzz targets the way OSS-Fuzz and ClusterFuzzLite ask for: CC, CXX, CFLAGS, CXXFLAGS,
# LIB_FUZZING_ENGINE and SANITIZER say how; the checkout is the working folder; what is needed to
# run goes to $OUT: TARGET_fuzz, TARGET_fuzz_seed_corpus.zip, .dict and .options beside it, and
# shared libraries in lib/. check.sh runs it without Docker.
#
# Dependencies whose sources lie in $SRC (see the Dockerfile) are built with the same flags and
# linked statically; what is not there is taken from the system.
set -euo pipefail
: "${SRC:?}" "${OUT:?}" "${CC:?}" "${CXX:?}" "${LIB_FUZZING_ENGINE:?}"
root=$PWD
if [[ ! -e $root/fuzz/oss-fuzz/build.sh ]]; then
  echo "build.sh runs in the checkout, not in $root" >&2
  exit 2
fi
work=${WORK:-$SRC/work}
prefix=$work/dependencies
mkdir -p "$work" "$OUT/lib" "$prefix"

# dependency NAME [CMake option]...: the sources in $SRC/NAME, where there are any.
dependency() {
  [[ -e $SRC/$1/CMakeLists.txt ]] || return 0
  cmake -G Ninja -S "$SRC/$1" -B "$work/$1" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DBUILD_TESTING=OFF -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_PREFIX="$prefix" "${@:2}"
  cmake --build "$work/$1" --target install
}
dependency zlib
dependency libzip -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF -DENABLE_OPENSSL=OFF \
  -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF \
  -DBUILD_OSSFUZZ=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
dependency fmt -DFMT_TEST=OFF -DFMT_DOC=OFF
dependency json -DJSON_BuildTests=OFF
dependency CLI11 -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF
dependency eigen -DEIGEN_BUILD_DOC=OFF -DEIGEN_BUILD_PKGCONFIG=OFF
dependency highway -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF
dependency oneTBB -DTBB_TEST=OFF -DTBB_STRICT=OFF

nanovdb=()
[[ ! -d $SRC/openvdb/nanovdb ]] || nanovdb=("-DLEAFPROOF_NANOVDB_INCLUDE=$SRC/openvdb/nanovdb")
case ${SANITIZER:-address} in # `none`, `coverage`, `introspector`: nothing of ours
  address | undefined | address,undefined) sanitize=${SANITIZER:-address} ;;
  *) sanitize= ;;
esac
# DT_RPATH, which libraries of libraries are looked for by as well.
cmake -G Ninja -S "$root" -B "$work/leafproof" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="${LEAFPROOF_OPTIMISE:--O1}" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags \
  -DLEAFPROOF_FUZZ=ON -DLEAFPROOF_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" \
  -DLEAFPROOF_SANITIZE="$sanitize" -DLEAFPROOF_TESTS=OFF -DLEAFPROOF_BENCHMARKS=OFF \
  -DLEAFPROOF_WERROR="${LEAFPROOF_WERROR:-OFF}" -DLEAFPROOF_CUDA=OFF \
  -DLEAFPROOF_OPENVDB=OFF -DLEAFPROOF_ASSIMP=OFF \
  ${nanovdb[@]+"${nanovdb[@]}"}
cmake --build "$work/leafproof" --target fuzz/all

for source in "$root"/fuzz/*_fuzz.cc; do
  name=$(basename "$source" .cc)
  target=${name%_fuzz}
  cp "$work/leafproof/bin/$name" "$OUT/"
  # Libraries that the machine of the run has not: all but those of the C library.
  c_library='/(libc|libm|libdl|librt|libpthread|libresolv)[.]so'
  ldd "$OUT/$name" | awk -v skip="$c_library" '$3 ~ /^\// && $3 !~ skip { print $3 }' |
    while read -r library; do cp -nL "$library" "$OUT/lib/"; done

  seeds=$work/seeds/$target
  rm -rf "$seeds"
  mkdir -p "$seeds"
  for folder in corpus regressions; do
    [[ ! -d $root/fuzz/$folder/$target ]] || cp "$root/fuzz/$folder/$target"/* "$seeds/"
  done
  (cd "$seeds" && cmake -E tar cf "$OUT/${name}_seed_corpus.zip" --format=zip -- *)
  dictionary=$root/fuzz/dictionaries/$target.dict
  printf '[libfuzzer]\nmax_len = 4096\ntimeout = 60\nrss_limit_mb = 2560\n' >"$OUT/$name.options"
  if [[ -e $dictionary ]]; then
    cp "$dictionary" "$OUT/$name.dict"
    echo "dict = $name.dict" >>"$OUT/$name.options"
  fi
done
