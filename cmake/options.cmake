# Compiler settings shared by every target of this tree.
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  find_program(CULMEN_CCACHE ccache)
  if(CULMEN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Without the first two ccache gives up on files with a precompiled header, and preprocesses all others once more. The
    # third lets builds in other folders, and of other copies of the sources, share what was compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
        CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CULMEN_CCACHE})
  endif()
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Includes are written from the root of the repository.
include_directories(${PROJECT_SOURCE_DIR})

# An answer is exact to the bit only if the compiler neither contracts a*b+c on its own nor reorders sums:
# fma is written where the contract wants it. For the same reason -ffast-math and flush-to-zero stay out.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>
                    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
# clang moves arithmetic out of a FloatingPointScope, to where the host program's rules hold, unless it is told that
# rules change.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-ffp-model=strict>)

if(CULMEN_ASSERTIONS)
  add_compile_definitions(CULMEN_ASSERTIONS _GLIBCXX_ASSERTIONS)
endif()

if(CULMEN_SANITIZE)
  add_compile_options(-fsanitize=${CULMEN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CULMEN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options(-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers.ignore)
  endif()
endif()

if(CULMEN_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "libFuzzer comes with clang: configure with -DCMAKE_CXX_COMPILER=clang++")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Warnings are for the people who build culmen, errors only where a preset asks for them.
add_library(culmen_warnings INTERFACE)
target_compile_options(culmen_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>)
if(CULMEN_WERROR)
  target_compile_options(culmen_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)  # it sees faults in its std::string
    target_compile_options(culmen_warnings INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=stringop-overflow;-Wno-error=restrict;-Wno-error=array-bounds>)
  endif()
  if(CMAKE_UNITY_BUILD)  # gcc takes the files that a unity build includes for headers
    target_compile_options(culmen_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=subobject-linkage>)
  endif()
  if(CULMEN_SANITIZE)  # what instrumentation leaves of an std::optional looks uninitialized to gcc
    target_compile_options(culmen_warnings INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-error=maybe-uninitialized>)
  endif()
endif()

# Instruction sets without fma would only be a slow way to the same bits: beside the plain fallback the
# kernels are built for AVX2 and AVX-512.
set(CULMEN_SIMD_TARGETS "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)")

# Many files spend more time on these than on their own code. Each still includes what it needs: clang-tidy reads the
# files without what is precompiled.
function(culmen_precompile_common_headers target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <atomic> <bit> <charconv> <cmath> <cstdint> <cstring> <functional> <limits> <memory> <mutex>
    <optional> <span> <string> <string_view> <utility> <vector> <tbb/blocked_range.h> <tbb/parallel_for.h>)
endfunction()
