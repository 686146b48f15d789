// The options that say how a text file is written. What they do not say, the reader finds.
#pragma once

#include <optional>
#include <string>

#include "culmen/csv_dialect.h"

namespace CLI {
class App;
}

namespace culmen::tools {

struct DialectArguments {
  std::string delimiter;
  std::string decimal;
  std::string thousands;
  std::string dates;
  std::optional<std::string> null_words;
  std::string header;
};

// Into the group "Text files". `arguments` live as long as the command.
void add_dialect_options(CLI::App& command, DialectArguments& arguments);

// Throws InvalidArgument for a mark that cannot be one.
CsvDialect parse_dialect(const DialectArguments& arguments);

// The options that say what the dialect is, for a command line; empty for commas between cells and decimal points.
std::string dialect_options(const CsvDialect& dialect);

}  // namespace culmen::tools
