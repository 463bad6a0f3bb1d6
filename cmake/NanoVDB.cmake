# The NanoVDB 13 headers: finds them, or fetches the pinned upstream release.
# Sets LEAFPROOF_NANOVDB_INCLUDE (cache; the folder that holds nanovdb/) and
# LEAFPROOF_NANOVDB_VERSION.
# Looked for, in this order: the cache variable or environment variable LEAFPROOF_NANOVDB_INCLUDE,
# .deps/nanovdb (where cmake/get_nanovdb.sh puts them), the system.

option(LEAFPROOF_FETCH_NANOVDB "Download the pinned NanoVDB release when no headers are found" ON)

# Sets `out` to the library version of the headers in `folder`, e.g. 32.9.0.
function(leafproof_nanovdb_version folder out)
  set(version "")
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${folder}/nanovdb/NanoVDB.h line
         REGEX "^#define NANOVDB_${part}_VERSION_NUMBER" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND version "${number}")
  endforeach()
  string(REPLACE ";" "." version "${version}")
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

find_path(LEAFPROOF_NANOVDB_INCLUDE nanovdb/NanoVDB.h
          HINTS ENV LEAFPROOF_NANOVDB_INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}/.deps/nanovdb/include)

if(NOT LEAFPROOF_NANOVDB_INCLUDE AND LEAFPROOF_FETCH_NANOVDB)
  include(FetchContent)
  # Only the headers are wanted: SOURCE_SUBDIR names a folder without a CMakeLists.txt.
  FetchContent_Declare(
    nanovdb
    URL https://github.com/AcademySoftwareFoundation/openvdb/archive/refs/tags/v13.0.0.tar.gz
    URL_HASH SHA256=4d6a91df5f347017496fe8d22c3dbb7c4b5d7289499d4eb4d53dd2c75bb454e1
    DOWNLOAD_EXTRACT_TIMESTAMP TRUE
    SOURCE_SUBDIR nanovdb/nanovdb/util)
  FetchContent_MakeAvailable(nanovdb)
  set(LEAFPROOF_NANOVDB_INCLUDE ${nanovdb_SOURCE_DIR}/nanovdb
      CACHE PATH "The folder that holds nanovdb/NanoVDB.h" FORCE)
endif()

if(NOT EXISTS ${LEAFPROOF_NANOVDB_INCLUDE}/nanovdb/NanoVDB.h)
  message(FATAL_ERROR "No NanoVDB 13 headers. Run cmake/get_nanovdb.sh .deps/nanovdb (Debian), or "
                      "set LEAFPROOF_NANOVDB_INCLUDE to the folder that holds nanovdb/NanoVDB.h.")
endif()
leafproof_nanovdb_version(${LEAFPROOF_NANOVDB_INCLUDE} LEAFPROOF_NANOVDB_VERSION)
if(NOT LEAFPROOF_NANOVDB_VERSION MATCHES "^32\\." OR LEAFPROOF_NANOVDB_VERSION VERSION_LESS 32.9)
  message(FATAL_ERROR "NanoVDB in ${LEAFPROOF_NANOVDB_INCLUDE} has library version "
                      "${LEAFPROOF_NANOVDB_VERSION}; 32.9 or a later 32.x (NanoVDB 13) is needed.")
endif()
