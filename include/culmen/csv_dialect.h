// How a text file of rows is written: what is between its cells, and how its numbers look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace culmen {

// What 01/02/2024 begins with. 31.12.2024 always begins with the day.
enum class DateOrder : std::uint8_t { day_first, month_first };

// What is not given is found in the first megabyte of the file.
struct CsvDialect {
  std::optional<char> delimiter = {};   // comma, tab, semicolon or bar
  std::optional<bool> has_header = {};  // false: the columns are called a0, a1, ...
  std::optional<char> decimal = {};     // point or comma
  // Between groups of three digits: comma, point, apostrophe, blank (of any kind), or '\0' for none.
  std::optional<char> thousands = {};
  std::optional<DateOrder> dates = {};  // not found: no date of the file is written so
  // Cells that are missing values, in place of the usual words; in columns of text, too. An empty cell always is one.
  std::optional<std::vector<std::string>> null_words = {};

  friend bool operator==(const CsvDialect&, const CsvDialect&) = default;
};

// "semicolons between cells, decimal commas, points between thousands, no header"; empty for commas and points. What is
// nullopt is left out.
[[nodiscard]] std::string describe(const CsvDialect& dialect);

}  // namespace culmen
