// What the program's exit code says, and the one place where an exception becomes such a code.
#pragma once

#include <string>

namespace culmen::tools {

// 5 is kept for "no usable device".
enum class ExitCode : int {
  ok = 0,
  failure = 1,   // the operating system refused
  usage = 2,     // the command line asks for something that cannot be
  bad_data = 3,  // a table or an index is damaged or not fit
  out_of_memory = 4,
  interrupted = 130,  // as a shell reports a program ended by Ctrl-C
};

// Says on standard error, in one line, what went wrong. Returns `code`.
ExitCode report_error(std::string text, ExitCode code);

// Call it inside a catch block: reports what was caught.
ExitCode report_current_exception();

}  // namespace culmen::tools
