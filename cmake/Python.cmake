# Python and nanobind, for the module leafproof._core. Asked for by LEAFPROOF_PYTHON (AUTO, ON,
# OFF). Sets LEAFPROOF_HAS_PYTHON and LEAFPROOF_PYTHON_WHY, one phrase for the summary.
# Looked for: Python_EXECUTABLE where it is set, else .deps/python (a virtual environment), else
# what CMake finds; nanobind is the one that this Python imports.

set(LEAFPROOF_HAS_PYTHON FALSE)
set(LEAFPROOF_PYTHON_WHY "off (LEAFPROOF_PYTHON)")
if(LEAFPROOF_PYTHON STREQUAL "OFF")
  return()
endif()

set(environment ${CMAKE_CURRENT_LIST_DIR}/../.deps/python/bin/python)
if(NOT Python_EXECUTABLE AND EXISTS ${environment})
  set(Python_EXECUTABLE ${environment} CACHE FILEPATH "The Python that the module is for")
endif()
find_package(Python 3.10 QUIET
             COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
if(NOT Python_FOUND)
  set(LEAFPROOF_PYTHON_WHY "no Python from 3.10 on with its headers (Debian: python3-dev)")
else()
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(nanobind CONFIG QUIET HINTS ${folder})
  set(LEAFPROOF_PYTHON_WHY
      "no nanobind for ${Python_EXECUTABLE} (python3 -m venv .deps/python; its pip installs it)")
  if(nanobind_FOUND)
    set(LEAFPROOF_HAS_PYTHON TRUE)
    set(LEAFPROOF_PYTHON_WHY "${Python_VERSION}, nanobind ${nanobind_VERSION}")
  endif()
endif()
if(LEAFPROOF_PYTHON STREQUAL "ON" AND NOT LEAFPROOF_HAS_PYTHON)
  message(FATAL_ERROR "LEAFPROOF_PYTHON is ON, but there is ${LEAFPROOF_PYTHON_WHY}.")
endif()
