# Enables CUDA where there is a compiler for it. Asked for by LEAFPROOF_CUDA (AUTO, ON, OFF).
# Sets, for gpu/CMakeLists.txt and others:
#   LEAFPROOF_HAS_CUDA        TRUE when the language CUDA is enabled (nvcc was found and is wanted)
#   LEAFPROOF_CUDA_WHY        one phrase for the summary: version and architectures, or why not
#   CMAKE_CUDA_ARCHITECTURES  80-real;90;120-real unless the caller set it (no 120 before CUDA
#                             12.8). PTX is that of 90: what lies between and beyond can run it
#   CUDA::cudart_static, ...  imported targets of find_package(CUDAToolkit)
#   CCCL::CUB, CCCL::Thrust   imported targets of find_package(CCCL), part of the toolkit
# A target with *.cu files needs nothing else: C++20, extended lambdas, no contraction [G-7] and
# warnings as errors are set here for every CUDA file. No GPU is needed to build.

set(LEAFPROOF_HAS_CUDA FALSE)
set(LEAFPROOF_CUDA_WHY "off (LEAFPROOF_CUDA)")
if(LEAFPROOF_CUDA STREQUAL "OFF")
  return()
endif()

find_program(LEAFPROOF_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda
             PATH_SUFFIXES bin)
if(NOT LEAFPROOF_NVCC)
  set(LEAFPROOF_CUDA_WHY "no nvcc found")
  if(LEAFPROOF_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LEAFPROOF_CUDA is ON, but no nvcc was found (looked on PATH, in "
                        "CUDA_PATH, CUDA_HOME and /usr/local/cuda).")
  endif()
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${LEAFPROOF_NVCC} CACHE FILEPATH "The CUDA compiler")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE text)
  string(REGEX MATCH "release ([0-9.]+)" text "${text}")
  if(CMAKE_MATCH_1 VERSION_LESS 12.8)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "CUDA architectures")
  else()
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 120-real CACHE STRING "CUDA architectures")
  endif()
endif()
enable_language(CUDA)

# CMake 3.25 does not know that nvcc can compile C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_COMPILE_FEATURES cuda_std_20)
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
foreach(flag --extended-lambda --expt-relaxed-constexpr -fmad=false -Werror=all-warnings
             -Xcompiler=-Wall,-Wextra,-ffp-contract=off)
  add_compile_options($<$<COMPILE_LANGUAGE:CUDA>:${flag}>)
endforeach()

find_package(CUDAToolkit REQUIRED)
find_package(CCCL CONFIG QUIET HINTS ${CUDAToolkit_LIBRARY_DIR}/cmake)

set(LEAFPROOF_HAS_CUDA TRUE)
string(REPLACE ";" " " text "${CMAKE_CUDA_ARCHITECTURES}")
set(LEAFPROOF_CUDA_WHY "${CMAKE_CUDA_COMPILER_VERSION}, architectures ${text}")
