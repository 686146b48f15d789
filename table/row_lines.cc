#include "table/row_lines.h"

#include <algorithm>

namespace culmen::io {

void RowLines::add(std::size_t row, std::uint64_t line) {
  const bool continues = !runs_.empty() && runs_.back().line + (row - runs_.back().row) == line;
  if (!continues) runs_.push_back({row, line});
}

void RowLines::append(const RowLines& other, std::size_t first_row, std::uint64_t first_line) {
  for (const Run& run : other.runs_) add(first_row + run.row, first_line + run.line);
}

std::uint64_t RowLines::line_of(std::size_t row) const {
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), row,
                                      [](std::size_t wanted, const Run& run) { return wanted < run.row; });
  const Run& run = *(after - 1);
  return run.line + (row - run.row);
}

std::string place_of_line(const std::string& name, std::uint64_t line) {
  return name + ":" + std::to_string(line);
}

}  // namespace culmen::io
