// The commands of the program. Each call adds one to the command line; the parser stores what is to be run in
// `program`, and main() runs it once the whole line has been understood.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

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
void add_insert(Program& program);
void add_upsert(Program& program);
void add_delete(Program& program);
void add_get(Program& program);
void add_info(Program& program);
void add_compact(Program& program);
void add_verify(Program& program);
void add_repair(Program& program);
void add_help(Program& program);

inline void add_quiet(CLI::App& command, Program& program) {
  command.add_flag("-q,--quiet", program.quiet, "Say nothing on standard error but errors");
}

// An option of the commands that change an index.
inline void add_durability(CLI::App& command, std::string& durability) {
  command
      .add_option(
          "--durability", durability,
          "When a change counts as done: sync, once it survives a power cut; os, once it survives the\n"
          "end of the program; batch, not before the command ends (default sync)")
      ->check(CLI::IsMember({"sync", "os", "batch"}))
      ->type_name("LEVEL");
}

}  // namespace culmen::tools
