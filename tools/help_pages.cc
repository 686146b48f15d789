#include "tools/help_pages.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

namespace culmen::tools {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Those that the help shows.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

// "-k", "--where": all names of all options of a command.
std::vector<std::string> all_names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_expected_max() > 0;  // of a flag 0
}

// Lines that man prints as they are.
std::string roff(std::string_view text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins_line = c == '\n';
  }
  return out;
}

std::string in_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

std::string man_of_option(const CLI::Option& option) {
  const std::string name = option.get_positional() ? option.get_name(true) : option.get_name(false, true);
  const std::string value =
      takes_value(option) && !option.get_positional() ? " " + option.get_type_name() : "";
  return fmt::format(".TP\n.B {}\n{}\n", roff(name + value), roff(in_one_line(option.get_description())));
}

// A text of paragraphs and indented examples, as a footer is.
std::string man_of_footer(std::string_view footer) {
  return footer.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
}

std::string man_of_command(const CLI::App& command) {
  std::string text =
      fmt::format(".SS culmen {}\n{}\n", roff(command.get_name()), roff(command.get_description()));
  for (const CLI::Option* option : options_of(command))
    if (!option->check_lname("help")) text += man_of_option(*option);
  return text + man_of_footer(command.get_footer());
}

std::string bash_script(const CLI::App& app, bool is_zsh) {
  std::string names, cases;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(),
                         fmt::join(all_names_of_options(*command), " "));
  }
  return fmt::format(
      "{}_culmen() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
      "  case ${{COMP_WORDS[1]}} in\n"
      "{}"
      "    *) words= ;;\n"
      "  esac\n"
      "  if [[ $COMP_CWORD -eq 1 || (${{COMP_WORDS[1]}} == help && $word != -*) ]]; then words='{}'; fi\n"
      "  [[ $COMP_CWORD -eq 1 || ${{COMP_WORDS[1]}} == help || $word == -* ]] || return\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}}\n"
      "complete -o default -F _culmen culmen\n",
      is_zsh ? "autoload -U +X bashcompinit && bashcompinit\n" : "", cases, names);
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' || c == '\\' ? "\\" : "").append(1, c);
  return quoted + "'";
}

std::string fish_script(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("complete -c culmen -n __fish_use_subcommand -a {} -d {}\n", command->get_name(),
                        in_quotes(command->get_description()));
    for (const CLI::Option* option : options_of(*command)) {
      const std::string about = in_quotes(in_one_line(option->get_description()));
      const char* const needs_value = takes_value(*option) ? " -r" : "";
      for (const std::string& name : option->get_lnames())
        text += fmt::format("complete -c culmen -n '__fish_seen_subcommand_from {}' -l {} -d {}{}\n",
                            command->get_name(), name, about, needs_value);
      for (const std::string& name : option->get_snames())
        text += fmt::format("complete -c culmen -n '__fish_seen_subcommand_from {}' -s {} -d {}{}\n",
                            command->get_name(), name, about, needs_value);
    }
  }
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH CULMEN 1\n.SH NAME\nculmen \\- exact top\\-k over many attributes\n.SH SYNOPSIS\n.B culmen\n"
      "COMMAND [OPTIONS]\n.SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      roff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) text += man_of_command(*command);
  return text + ".SH NOTES\n" + man_of_footer(app.get_footer());
}

std::string completion_script(const CLI::App& app, std::string_view shell) {
  return shell == "fish" ? fish_script(app) : bash_script(app, shell == "zsh");
}

}  // namespace culmen::tools
