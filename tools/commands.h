// The commands of the program. Each call adds one to the parser, which stores the command to run in `program`; main()
// runs it once the whole line is parsed.
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
void add_inspect(Program& program);
void add_build(Program& program);
void add_query(Program& program);
void add_insert(Program& program);
void add_upsert(Program& program);
void add_delete(Program& program);
void add_get(Program& program);
void add_export(Program& program);
void add_info(Program& program);
void add_compact(Program& program);
void add_verify(Program& program);
void add_repair(Program& program);
void add_rebalance(Program& program);
void add_serve(Program& program);
void add_shell(Program& program);
void add_help(Program& program);

inline void add_quiet(CLI::App& command, Program& program,
                      const char* what = "Write only errors to standard error") {
  command.add_flag("-q,--quiet", program.quiet, what);
}

// An option of the commands that change an index.
inline void add_durability(CLI::App& command, std::string& durability) {
  command
      .add_option(
          "--durability", durability,
          "When a change is durable: sync, each batch survives a power failure once it is written; os, each\n"
          "survives a crash of the program; batch, only at the end of the command (default sync)")
      ->check(CLI::IsMember({"sync", "os", "batch"}))
      ->type_name("LEVEL");
}

}  // namespace culmen::tools
