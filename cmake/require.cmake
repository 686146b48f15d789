# culmen_require(FOUND NAME PACKAGE): goes on if the variable FOUND is true, after a QUIET look for the library NAME. If it is
# not, the first line says what to do about it; PACKAGE is Debian's.
function(culmen_require found name package)
  if(${found})
    return()
  endif()
  message(NOTICE "culmen needs ${name}, which is missing: run scripts/setup.sh (Debian, Ubuntu), or install ${package}")
  message(FATAL_ERROR "${name} is missing")
endfunction()
