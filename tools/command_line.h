// Mistyped commands and options: errors that name what was given and what there is.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace culmen::tools {

// Before the line is parsed. Throws InvalidArgument if it begins with neither a command nor an option of the
// program.
void check_command(const CLI::App& app, int argc, const char* const* argv);

// What is wrong with `name`, which is no command.
std::string unknown_command(const CLI::App& app, std::string_view name);

// After CLI11's ExtrasError: what it is that nobody took.
std::string unexpected_argument(const CLI::App& app);

}  // namespace culmen::tools
