#include "tools/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/suggestion.h"
#include "culmen/error.h"

namespace culmen::tools {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// What others call the commands.
constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
    {"erase", "delete"}, {"remove", "delete"}, {"update", "upsert"},
    {"add", "insert"},   {"search", "query"},  {"create", "build"},
};

std::string meant_command(std::string_view name, const std::vector<std::string>& commands) {
  for (const auto& [word, command] : kOtherWords)
    if (word == name) return fmt::format(" (did you mean \"{}\"?)", command);
  return did_you_mean(name, commands);
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::string unknown_command(const CLI::App& app, std::string_view name) {
  const std::vector<std::string> commands = command_names(app);
  return fmt::format("there is no command \"{}\"{}; the commands are {}; culmen --help explains them", name,
                     meant_command(name, commands), fmt::join(commands, ", "));
}

void check_command(const CLI::App& app, int argc, const char* const* argv) {
  const std::vector<std::string> commands = command_names(app);
  if (argc < 2)
    throw InvalidArgument(
        fmt::format("name a command: {}; culmen --help explains them", fmt::join(commands, ", ")));
  const std::string name = argv[1];
  if (name.starts_with('-')) {
    if (app.get_option_no_throw(name) != nullptr) return;
    throw InvalidArgument(
        fmt::format("culmen has no option {}: a command comes first; culmen --help lists them, culmen "
                    "COMMAND --help its options",
                    name));
  }
  if (std::find(commands.begin(), commands.end(), name) == commands.end())
    throw InvalidArgument(unknown_command(app, name));
}

std::string unexpected_argument(const CLI::App& app) {
  const CLI::App& command = *app.get_subcommands().front();
  const std::string name = "culmen " + command.get_name();
  const std::string extra = app.remaining(true).front();
  if (!extra.starts_with('-'))
    return fmt::format("{} does not expect \"{}\"; {} --help shows how it is used", name, extra, name);
  const std::string option = extra.substr(0, extra.find('='));
  return fmt::format("{} has no option {}{}; {} --help shows those it has", name, option,
                     did_you_mean(option, option_names(command)), name);
}

}  // namespace culmen::tools
