// What a command has found or done, on standard output.
#pragma once

#include <string>

#include "tools/exit_codes.h"

namespace culmen::tools {

// Prints `text` and returns `code`, also if nobody reads it. If it cannot be written, says why on standard
// error and returns `code`, or failure in place of ok. `done`: what the command has changed by then, for that
// message; empty: nothing.
ExitCode print_result(const std::string& text, ExitCode code = ExitCode::ok, const std::string& done = "");

}  // namespace culmen::tools
