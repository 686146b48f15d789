// The line of each row in its file, stored as runs: most files are one run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culmen::io {

class RowLines {
 public:
  // Appends a row. Costs memory only if its line does not follow that of the previous row.
  void add(std::size_t row, std::uint64_t line);

  // Appends the rows and lines of `other`, shifted by the given numbers.
  void append(const RowLines& other, std::size_t first_row, std::uint64_t first_line);

  std::uint64_t line_of(std::size_t row) const;  // of a row that was added
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
