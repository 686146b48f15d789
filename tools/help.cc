#include <memory>
#include <string>

#include "culmen/error.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/result.h"

namespace culmen::tools {
namespace {

// The help of one command, or of the program. The program's own help() would be that of the current command, `help`.
std::string help_text(const CLI::App& app, const std::string& name) try {
  if (!name.empty()) return app.get_subcommand(name)->help(app.get_name());
  return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
} catch (const CLI::OptionNotFound&) {
  throw InvalidArgument(unknown_command(app, name));
}

ExitCode run(const CLI::App& app, const std::string& name) {
  return print_result(help_text(app, name) + '\n');
}

}  // namespace

void add_help(Program& program) {
  CLI::App& command = *program.app.add_subcommand("help", "Explain a command, like its --help");
  const auto name = std::make_shared<std::string>();
  command.add_option("COMMAND", *name, "A command; without it, list all of them");
  command.footer(
      "Examples:\n"
      "  culmen help\n"
      "  culmen help query");
  command.callback([&program, name] { program.run = [&program, name] { return run(program.app, *name); }; });
}

}  // namespace culmen::tools
