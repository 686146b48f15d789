// The commands of the program. Each call adds one to the command line; the parser stores what is to be run in
// `program`, and main() runs it once the whole line has been understood.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "tools/exit_codes.h"

namespace culmen::tools {

struct Program {
  CLI::App app;
  bool quiet = false;
  std::function<ExitCode()> run;
};

void add_generate(Program& program);
void add_build(Program& program);
void add_query(Program& program);
void add_info(Program& program);
void add_verify(Program& program);

inline void add_quiet(CLI::App& command, Program& program) {
  command.add_flag("-q,--quiet", program.quiet, "Say nothing on standard error but errors");
}

}  // namespace culmen::tools
