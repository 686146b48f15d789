#include "tools/temp_directory_option.h"

#include <CLI/CLI.hpp>

namespace culmen::tools {

void add_temp_directory_option(CLI::App& command, std::string& path, const std::string& help) {
  const auto check = [](const std::string& given) {
    return given.empty() ? std::string("name a directory, or leave the option out") : std::string();
  };
  command.add_option("--temp-directory", path, help)->check(CLI::Validator(check, ""))->type_name("DIR");
}

}  // namespace culmen::tools
