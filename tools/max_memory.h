// --max-memory of the commands that keep an index open.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace culmen::tools {

// Of commands that write: beside what was read there is what they change.
inline void add_max_memory_of_writer(CLI::App& command, std::uint64_t& bytes, const std::string& group) {
  command
      .add_option("--max-memory", bytes,
                  "Keep about so much of what was read and changed, as in 512MB or 4GB: for an index that is "
                  "larger than memory.\n"
                  "Once half of it is changes, the next batch waits for a checkpoint, which takes as long as "
                  "compact, in temporary\n"
                  "files beside the index (default: all that was read and changed)")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE")
      ->group(group);
}

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
