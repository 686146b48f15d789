#include <memory>
#include <string>

#include "culmen/error.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/help_pages.h"
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

struct HelpArguments {
  std::string command;
  std::string shell;
  bool is_man = false;
};

ExitCode run(const CLI::App& app, const HelpArguments& arguments) {
  if (arguments.is_man) return print_result(man_page(app));
  if (!arguments.shell.empty()) return print_result(completion_script(app, arguments.shell));
  return print_result(help_text(app, arguments.command) + '\n');
}

}  // namespace

void add_help(Program& program) {
  CLI::App& command = *program.app.add_subcommand("help", "Explain a command, like its --help");
  const auto arguments = std::make_shared<HelpArguments>();
  command.add_option("COMMAND", arguments->command, "A command; without it, list all of them");
  CLI::Option* man = command.add_flag("--man", arguments->is_man, "Print all of it as a page for man");
  command
      .add_option("--completion", arguments->shell, "Print what completes commands and options in this shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL")
      ->excludes(man);
  command.footer(
      "Examples:\n"
      "  culmen help\n"
      "  culmen help query\n"
      "  culmen help --man | man -l -\n"
      "  source <(culmen help --completion bash)");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(program.app, *arguments); };
  });
}

}  // namespace culmen::tools
