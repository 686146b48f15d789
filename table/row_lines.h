// The line of the file on which each row stands, kept as runs: most files are one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culmen::io {

class RowLines {
 public:
  // Rows are added in order. Costs memory only where a line does not follow the line of the row before.
  void add(std::size_t row, std::uint64_t line);

  // The rows and lines of `other`, moved on by the given numbers.
  void append(const RowLines& other, std::size_t first_row, std::uint64_t first_line);

  std::uint64_t line_of(std::size_t row) const;  // a row that was added
  void clear() { runs_.clear(); }

 private:
  struct Run {
    std::size_t row;
    std::uint64_t line;
  };
  std::vector<Run> runs_;
};

// "t.csv:3"
std::string place_of_line(const std::string& name, std::uint64_t line);

}  // namespace culmen::io
