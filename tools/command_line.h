// Errors for mistyped commands and options, which name what was given and what exists.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace culmen::tools {

// Call it before parsing. Throws InvalidArgument if the line begins with neither a command nor an option of the
// program.
void check_command(const CLI::App& app, int argc, const char* const* argv);

// The error text for `name`, which is not a command.
std::string unknown_command(const CLI::App& app, std::string_view name);

// The error text for the argument that caused CLI11's ExtrasError.
std::string unexpected_argument(const CLI::App& app);

}  // namespace culmen::tools
