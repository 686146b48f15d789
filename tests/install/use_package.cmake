# Installs the build folder `build`, moves the prefix, builds `example` against it, runs it and reads its answer.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${scratch})
run(${CMAKE_COMMAND} --install ${build} --prefix ${scratch}/first)
# A package that remembers where it was installed fails from here on.
file(RENAME ${scratch}/first ${scratch}/prefix)

run(${CMAKE_COMMAND} -S ${example} -B ${scratch}/embed -G ${generator} -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_PREFIX_PATH=${scratch}/prefix)
run(${CMAKE_COMMAND} --build ${scratch}/embed)

execute_process(COMMAND ${scratch}/embed/embed OUTPUT_VARIABLE answer COMMAND_ERROR_IS_FATAL ANY)
set(expected
"on a budget
  hotel 101: score 0, price 60, rating 7.5
  hotel 102: score -9.5, price 85, rating 8.25
for a treat
  hotel 104: score 137, price 240, rating 9.5
  hotel 103: score 136.5, price 120, rating 9
")
if(NOT answer STREQUAL expected)
  message(FATAL_ERROR "the example printed\n${answer}instead of\n${expected}")
endif()
