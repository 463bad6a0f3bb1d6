#!/usr/bin/env bash
# Puts the sources of what the fuzz targets link into $SRC, where build.sh finds them. Run while the
# image is made: OSS-Fuzz and ClusterFuzzLite run the targets on a machine that has none of it, and
# what is built from source is instrumented, too.
set -euo pipefail
cd "${SRC:?}"
clone() { git clone --depth 1 --branch "$3" "$2" "$1"; }
clone zlib https://github.com/madler/zlib v1.3.1
clone libzip https://github.com/nih-at/libzip v1.11.2
clone fmt https://github.com/fmtlib/fmt 9.1.0
clone json https://github.com/nlohmann/json v3.11.3
clone CLI11 https://github.com/CLIUtils/CLI11 v2.4.2
clone eigen https://gitlab.com/libeigen/eigen 3.4.0
clone highway https://github.com/google/highway 1.2.0
clone oneTBB https://github.com/uxlfoundation/oneTBB v2021.13.0
# Headers alone; the release and hash of cmake/NanoVDB.cmake.
curl -fsSL -o openvdb.tar.gz \
  https://github.com/AcademySoftwareFoundation/openvdb/archive/refs/tags/v13.0.0.tar.gz
echo "4d6a91df5f347017496fe8d22c3dbb7c4b5d7289499d4eb4d53dd2c75bb454e1  openvdb.tar.gz" |
  sha256sum --check
mkdir -p openvdb
tar xzf openvdb.tar.gz --strip-components=1 -C openvdb
rm openvdb.tar.gz
