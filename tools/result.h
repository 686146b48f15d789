// The result of a command, on standard output.
#pragma once

#include <string>

#include "tools/exit_codes.h"

namespace culmen::tools {

// Prints `text` and returns `code`, also if the reader has closed standard output. If `text` cannot be written, reports
// why on standard error and returns `code`, or failure instead of ok. `done`: what the command has changed, for that
// message.
ExitCode print_result(const std::string& text, ExitCode code = ExitCode::ok, const std::string& done = "");

}  // namespace culmen::tools
