// Finds in the beginning of a text file how it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/table_io.h"
#include "table/cell_form.h"

namespace culmen::io {

inline constexpr std::size_t kSampleBytes = std::size_t{1} << 20;

// The lines in which rows are refused, each the first one of its row or another.
class RefusedLines {
 public:
  // In order.
  void add(std::uint64_t line) { lines_.push_back(line); }
  // Whether the row that begins in line `first` is refused.
  bool are_of_row(std::uint64_t first, std::uint64_t num_lines) const;

  RefusedLines common_with(const RefusedLines& other) const;

  friend bool operator==(const RefusedLines&, const RefusedLines&) = default;

 private:
  std::vector<std::uint64_t> lines_;
};

struct FoundDialect {
  CsvDialect dialect;  // complete but for null_words
  CellForm form;
  std::vector<ColumnForm> columns;  // of the file
  bool is_json_lines = false;       // made of it: each record is a line of the file, and the header is none
  RefusedLines refused = {};        // of the sample: nothing in them tells how the others are written
};

// The beginning of a text file.
struct TextSample {
  std::string_view text;  // the first megabyte, or the whole file
  bool is_whole = false;
};

// Reads a text as the file will be read, to learn which rows are refused.
using ReadSample =
    std::function<void(std::string_view text, const ReadOptions& options, const FoundDialect& found)>;

// `usual`: the delimiter that the file's name says. What ReadOptions::dialect gives is not looked for. Throws InputError if
// the cells do not tell which mark is the decimal one, or whether the first line is a header; what it is given cannot be a
// fault of the sample.
FoundDialect find_dialect(const TextSample& sample, char usual, const ReadOptions& options,
                          const std::string& name, const ReadSample& read);

// Of the CSV that JSON Lines stand for (table/json_lines.h), of which all but the order of dates is known.
FoundDialect find_dialect_of_json_lines(const TextSample& sample, const ReadOptions& options,
                                        const std::string& name, const ReadSample& read);

// Whether a text begins with an object of JSON; nullopt: more of it must be seen.
std::optional<bool> begins_like_json_lines(std::string_view text);

// Throws InvalidArgument for characters that cannot be what the dialect says, and for a mark of two meanings.
void check_dialect(const CsvDialect& dialect);

}  // namespace culmen::io
