// How a text file of rows is written: what is between its cells, and how its numbers look.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace culmen {

// What is not given is found in the first megabyte of the file.
struct CsvDialect {
  std::optional<char> delimiter = {};   // comma, tab, semicolon or bar
  std::optional<bool> has_header = {};  // false: the columns are called a0, a1, ...
  std::optional<char> decimal = {};     // point or comma
  // Between groups of three digits: comma, point, apostrophe, blank (of any kind), or '\0' for none.
  std::optional<char> thousands = {};
  // Cells that are missing values, in place of the usual words; in columns of text, too. An empty cell always is one.
  std::optional<std::vector<std::string>> null_words = {};

  friend bool operator==(const CsvDialect&, const CsvDialect&) = default;
};

// "semicolons between cells, decimal commas, points between thousands, no header"; empty for commas and points. What is
// nullopt is left out.
[[nodiscard]] std::string describe(const CsvDialect& dialect);

}  // namespace culmen
