# What `cmake --install` leaves: the rooms as static libraries with their headers, found by
# find_package(Leafproof) as Leafproof::reference, Leafproof::oracle, Leafproof::gpu, and
# Leafproof::backends (make_backend), Leafproof::cuda where they are built; the program `leafproof`
# and the known answers. Components of `cmake --install`: Development, Runtime, and Abi, which is
# Leafproof::backend_abi: the one header that a backend in a shared library needs, and nothing else.
# Headers stay under the names that they are included by: include/leafproof/gpu/batched_builder.h.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(LEAFPROOF_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/Leafproof)

# leafproof_install(NAME): the target leafproof_NAME as Leafproof::NAME. Each is exported to a file
# of its own, so that whoever asks for `reference` needs none of what the others link.
function(leafproof_install name)
  if(NOT TARGET leafproof_${name})
    return()
  endif()
  set_target_properties(leafproof_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(leafproof_${name} INTERFACE cxx_std_20)
  target_include_directories(leafproof_${name} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/leafproof>)
  install(TARGETS leafproof_${name} EXPORT Leafproof-${name} COMPONENT Development)
  install(EXPORT Leafproof-${name} NAMESPACE Leafproof:: DESTINATION ${LEAFPROOF_INSTALL_CMAKE}
          COMPONENT Development)
endfunction()

foreach(name reference oracle gpu backends cuda)
  leafproof_install(${name})
endforeach()
foreach(room reference oracle gpu)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${room}/*.h)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/leafproof/${room}
          COMPONENT Development)
endforeach()

set_target_properties(leafproof_backend_abi PROPERTIES EXPORT_NAME backend_abi)
target_include_directories(leafproof_backend_abi INTERFACE
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS leafproof_backend_abi EXPORT Leafproof-backend_abi COMPONENT Abi)
install(EXPORT Leafproof-backend_abi NAMESPACE Leafproof:: DESTINATION ${LEAFPROOF_INSTALL_CMAKE}
        COMPONENT Abi)
install(FILES ${PROJECT_SOURCE_DIR}/oracle/abi/leafproof_backend.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT Abi)

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/LeafproofConfig.cmake.in ${PROJECT_BINARY_DIR}/LeafproofConfig.cmake
  INSTALL_DESTINATION ${LEAFPROOF_INSTALL_CMAKE} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change any interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LeafproofConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
foreach(component Development Abi)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
          COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/LeafproofConfig.cmake
                ${PROJECT_BINARY_DIR}/LeafproofConfigVersion.cmake
          DESTINATION ${LEAFPROOF_INSTALL_CMAKE} COMPONENT ${component})
endforeach()

if(TARGET leafproof)
  install(TARGETS leafproof COMPONENT Runtime)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/oracle/vectors DESTINATION
          ${CMAKE_INSTALL_DATADIR}/leafproof COMPONENT Runtime FILES_MATCHING PATTERN "*.json")
endif()
