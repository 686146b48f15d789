// Parses ids: a list with commas, or a file with one per line.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coding/named_ids.h"
#include "culmen/id_set.h"

namespace culmen::tools {

// "1,2,-5", of that option; of texts A-1,"b, c", with quotes as in CSV. Throws InvalidArgument.
NamedIds parse_ids(std::string_view text, std::string_view option, IdType type);

// Each word is an id. Throws InvalidArgument.
NamedIds ids_of_words(const std::vector<std::string>& words, IdType type);

// Reads a file with one id per line, and skips empty lines, or, if its name ends in .roaring, a bitmap in Roaring's
// portable format. "-": lines from standard input. Throws IoError, InputError naming the line, or FormatError.
NamedIds read_ids(const std::string& path, IdType type);
// The rows with the ids of such a file.
Filter read_id_filter(const std::string& path, IdType type);

// Ids after the directory, and the options --ids and --ids-file.
struct IdArguments {
  std::vector<std::string> words;
  std::optional<std::string> ids;
  std::optional<std::string> ids_file;

  int num_given() const {
    return static_cast<int>(!words.empty()) + static_cast<int>(ids.has_value()) +
           static_cast<int>(ids_file.has_value());
  }
  // The ids, however they were given.
  NamedIds read(IdType type) const {
    if (!words.empty()) return ids_of_words(words, type);
    return ids ? parse_ids(*ids, "--ids", type) : read_ids(*ids_file, type);
  }
};
void add_id_options(CLI::App& command, IdArguments& arguments);

}  // namespace culmen::tools
