// Exit codes, and the one place that maps exceptions to them.
#pragma once

#include <string>

namespace culmen::tools {

// 5 is reserved for "no usable device".
enum class ExitCode : int {
  ok = 0,
  failure = 1,   // the operating system refused
  usage = 2,     // the command line makes no sense
  bad_data = 3,  // a table or an index is invalid or damaged
  out_of_memory = 4,
  interrupted = 130,  // as shells report a program that Ctrl-C ended
};

// Writes the error to standard error, in one line. Returns `code`.
ExitCode report_error(std::string text, ExitCode code);

// Call it inside a catch block: reports the exception.
ExitCode report_current_exception();

}  // namespace culmen::tools
