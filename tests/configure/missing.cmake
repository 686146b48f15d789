# Configures `source` as if one library after the other were missing, and once as pip does.
cmake_minimum_required(VERSION 3.25)

# With the arguments given, in a folder that remembers the compiler; sets `output`, `errors` and `status`.
macro(configure)
  execute_process(COMMAND ${environment} ${CMAKE_COMMAND} -S ${source} -B ${scratch} -G ${generator}
                          -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_C_COMPILER=${c_compiler} ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
endmacro()

# The first line of the errors names the library and the script.
function(expect_missing name)
  string(REGEX MATCH "^[^\n]*" first "${errors}")
  if(status EQUAL 0 OR NOT first MATCHES "culmen needs ${name}[^\n]*scripts/setup.sh")
    message(FATAL_ERROR "without ${name} the status is ${status}, and the errors are\n${errors}")
  endif()
endfunction()

file(REMOVE_RECURSE ${scratch})
set(parts -D CULMEN_BUILD_TESTS=ON -D CULMEN_BUILD_BENCH=ON -D CULMEN_CUDA=OFF)
set(disabled TBB Eigen3 Boost PkgConfig ZLIB roaring nlohmann_json CLI11 fmt GTest benchmark)
set(names oneTBB Eigen Boost pkg-config zlib CRoaring nlohmann-json CLI11 fmt GoogleTest "Google Benchmark")
foreach(package name IN ZIP_LISTS disabled names)
  configure(${parts} -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
  expect_missing(${name})
  file(REMOVE ${scratch}/CMakeCache.txt)
endforeach()

# pkg-config finds nothing.
set(environment ${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${scratch} PKG_CONFIG_PATH=)
configure(${parts})
expect_missing(Highway)
unset(environment)
file(REMOVE ${scratch}/CMakeCache.txt)

# A Python package, with a toolkit or without.
if(NOT EXISTS /dev/nvidiactl)
  configure(-D SKBUILD=ON -D CULMEN_BUILD_TESTS=OFF -D CULMEN_BUILD_BENCH=OFF)
  if(NOT status EQUAL 0 OR NOT output MATCHES "CUDA: off in a Python package")
    message(FATAL_ERROR "a Python package where there is no GPU is configured with\n${output}${errors}")
  endif()
endif()
