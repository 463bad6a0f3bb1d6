# OpenVDB, for reading .vdb files and as a third witness in the tests. Debian's package has no CMake
# config, so the imported target is made here. Asked for by LEAFPROOF_OPENVDB (AUTO, ON, OFF).
# Sets LEAFPROOF_HAS_OPENVDB, and the target leafproof_openvdb where there is one; what links it
# sees the macro LEAFPROOF_HAS_OPENVDB.

set(LEAFPROOF_HAS_OPENVDB FALSE)
if(LEAFPROOF_OPENVDB STREQUAL "OFF")
  return()
endif()

find_path(LEAFPROOF_OPENVDB_INCLUDE openvdb/openvdb.h)
find_library(LEAFPROOF_OPENVDB_LIBRARY openvdb)
find_package(TBB CONFIG QUIET)
find_path(LEAFPROOF_BOOST_INCLUDE boost/version.hpp) # its headers include Boost
if(LEAFPROOF_OPENVDB_INCLUDE AND LEAFPROOF_OPENVDB_LIBRARY AND LEAFPROOF_BOOST_INCLUDE
   AND TBB_FOUND)
  add_library(leafproof_openvdb INTERFACE)
  target_include_directories(leafproof_openvdb SYSTEM INTERFACE ${LEAFPROOF_OPENVDB_INCLUDE})
  target_link_libraries(leafproof_openvdb INTERFACE ${LEAFPROOF_OPENVDB_LIBRARY} TBB::tbb)
  find_package(Imath CONFIG QUIET) # half floats, inline in OpenVDB's headers
  if(TARGET Imath::Imath)
    target_link_libraries(leafproof_openvdb INTERFACE Imath::Imath)
  endif()
  target_compile_definitions(leafproof_openvdb INTERFACE LEAFPROOF_HAS_OPENVDB)
  # Boost 1.74's MPL casts -1 to an enumeration.
  target_compile_options(leafproof_openvdb
                         INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-enum-constexpr-conversion>)
  # Boost 1.74's MPL casts -1 to an enumeration, which clang 16 and later call an error.
  target_compile_options(leafproof_openvdb INTERFACE
                         $<$<CXX_COMPILER_ID:Clang>:-Wno-enum-constexpr-conversion>)
  set(LEAFPROOF_HAS_OPENVDB TRUE)
elseif(LEAFPROOF_OPENVDB STREQUAL "ON")
  message(FATAL_ERROR "LEAFPROOF_OPENVDB is ON, but OpenVDB, TBB or Boost headers were not found "
                      "(Debian: libopenvdb-dev libtbb-dev libboost-dev).")
endif()
