// --max-memory of the commands that keep an index open.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace culmen::tools {

// text: what the option is for.
inline void add_max_memory(CLI::App& command, std::uint64_t& bytes, const std::string& group,
                           const std::string& text) {
  // CLI11 takes -1 as the largest number, and 0.
  const CLI::Validator is_size(
      [](const std::string& size) {
        const std::size_t unit = size.find_first_not_of("0123456789"), first = size.find_first_not_of('0');
        const bool is_number = first < std::min(unit, size.size());
        const bool has_digits_behind =
            unit != std::string::npos && size.find_first_of("0123456789", unit) < size.size();
        return is_number && !has_digits_behind ? std::string()
                                               : "a size is a number of bytes, KB, MB, GB or TB, as 512MB";
      },
      "");
  command.add_option("--max-memory", bytes, text)
      ->transform(CLI::AsSizeValue(false))
      ->transform(is_size)  // the last one comes first
      ->type_name("SIZE")
      ->group(group);
}

// Of commands that write: beside what was read there is what they change.
inline void add_max_memory_of_writer(CLI::App& command, std::uint64_t& bytes, const std::string& group) {
  add_max_memory(command, bytes, group,
                 "Keep about so much of what was read and changed, as in 512MB or 4GB: for an index that is "
                 "larger than memory.\n"
                 "Once half of it is changes, the next batch waits for a checkpoint, which takes as long as "
                 "compact, in temporary\n"
                 "files beside the index (default: all that was read and changed)");
}

inline void add_max_memory_of_reader(CLI::App& command, std::uint64_t& bytes, const std::string& group) {
  add_max_memory(
      command, bytes, group,
      "Keep about so much of what was read, as in 512MB or 4GB, and read the rest again when it is\n"
      "needed: for an index that is larger than memory (default: all that was read)");
}

}  // namespace culmen::tools
