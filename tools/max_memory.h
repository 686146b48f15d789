// --max-memory of the commands that keep an index open.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace culmen::tools {

inline void add_max_memory(CLI::App& command, std::uint64_t& bytes, const std::string& group) {
  command
      .add_option(
          "--max-memory", bytes,
          "Keep about so much of what was read, as in 512MB or 4GB, and read the rest again when it is\n"
          "needed: for an index that is larger than memory (default: all that was read)")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->group(group);
}

}  // namespace culmen::tools
