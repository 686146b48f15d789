# CUDA is found, never required: without it culmen has no GPU engines. Sets CULMEN_HAS_CUDA.
set(CULMEN_HAS_CUDA OFF)
if(NOT CULMEN_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "CULMEN_CUDA is \"${CULMEN_CUDA}\": expected AUTO, ON or OFF")
endif()
if(CULMEN_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off")
  return()
endif()
# pip shows nothing of a build, and the engines for GPUs take most of its time.
if(CULMEN_CUDA STREQUAL "AUTO" AND SKBUILD AND NOT EXISTS /dev/nvidiactl)
  message(STATUS "CUDA: off in a Python package where there is no GPU, unless CULMEN_CUDA is ON")
  return()
endif()
include(CheckLanguage)
check_language(CUDA)
find_package(CUDAToolkit 12.4 QUIET)
if(CMAKE_CUDA_COMPILER AND CUDAToolkit_FOUND)
  set(CULMEN_HAS_CUDA ON)
elseif(CULMEN_CUDA STREQUAL "ON")
  message(FATAL_ERROR "CULMEN_CUDA is ON, but no CUDA toolkit from 12.4 on was found: put nvcc on PATH or set CUDACXX")
else()
  message(STATUS "CUDA: not found")
  return()
endif()

# Machine code for the GPUs of this machine; where there is none, for Hopper, and PTX that the driver compiles for
# what is newer. The preset every-card names all from Turing on.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  if(DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES $ENV{CUDAARCHS})
  elseif(EXISTS /dev/nvidiactl)
    set(CMAKE_CUDA_ARCHITECTURES native)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
endif()
enable_language(CUDA)
# By its flag: CMake 3.25 does not know that nvcc takes C++20. --fmad=false: bits are promised, see
# cmake/options.cmake.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--fmad=false>")
message(STATUS "CUDA: ${CUDAToolkit_VERSION} for ${CMAKE_CUDA_ARCHITECTURES}")

# Adds files to culmen that include the CUDA runtime's headers. Only these are told where they lie: with and without CUDA
# the others are compiled by the same command, and ccache has them for both.
function(culmen_cuda_sources)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(culmen PRIVATE ${ARGN})
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY culmen APPEND PROPERTY
               COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:-isystem;${CUDAToolkit_INCLUDE_DIRS}>")
endfunction()
