// Finds in the beginning of a text file how it is written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/table_io.h"
#include "table/cell_form.h"

namespace culmen::io {

inline constexpr std::size_t kSampleBytes = std::size_t{1} << 20;

struct FoundDialect {
  CsvDialect dialect;  // complete but for null_words
  CellForm form;
  std::vector<ColumnForm> columns;  // of the file
  bool is_json_lines = false;       // made of it: each record is a line of the file, and the header is none
};

// `sample`: the first megabyte, or the whole file. `usual`: the delimiter that the file's name says. What
// ReadOptions::dialect gives is not looked for. Throws InputError if the cells do not tell which mark is the decimal one,
// or whether the first line is a header; what it is given cannot be a fault of the sample.
FoundDialect find_dialect(std::string_view sample, bool is_whole, char usual, const ReadOptions& options,
                          const std::string& name);

// Of the CSV that JSON Lines stand for (table/json_lines.h), of which all but the order of dates is known.
FoundDialect find_dialect_of_json_lines(std::string_view sample, bool is_whole, const ReadOptions& options,
                                        const std::string& name);

// Whether a text begins with an object of JSON; nullopt: more of it must be seen.
std::optional<bool> begins_like_json_lines(std::string_view text);

// Throws InvalidArgument for characters that cannot be what the dialect says, and for a mark of two meanings.
void check_dialect(const CsvDialect& dialect);

}  // namespace culmen::io
