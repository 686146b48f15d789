// culmen shell: many questions to an index that is opened once.
#pragma once

#include <cstdint>
#include <string>

#include "tools/exit_codes.h"

namespace culmen::tools {

// Reads questions from standard input until it ends. On a terminal errors are told and the next question is asked for;
// otherwise the first error ends it.
ExitCode run_shell(const std::string& directory, std::uint64_t max_memory, const std::string& codes,
                   bool quiet);

}  // namespace culmen::tools
