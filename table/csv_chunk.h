// Parses a chunk of complete CSV records into rows. Chunks are parsed in parallel, each by its own parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/column_selection.h"
#include "table/csv_record.h"
#include "table/number.h"
#include "table/row_lines.h"

namespace culmen::io {

struct CsvSchema {
  std::vector<std::string> names;  // of all columns of the file
  ColumnSelection selection;
  char delimiter = ',';
  NullPolicy nulls = NullPolicy::reject;
};

struct CsvFault {
  std::uint64_t line = 0;  // from 0, counted from the chunk's first line
  std::size_t column = 0;  // from 1
  std::string what;
  InputError::Remedy remedy = InputError::Remedy::none;
};

// The rows of a chunk. Objects are refilled, so their memory is reused.
struct CsvRows {
  std::size_t num_rows = 0;
  std::vector<std::size_t> dropped_at;  // for each dropped row: the number of rows before it
  std::uint64_t num_lines = 0;
  const char* next = nullptr;     // first byte not parsed: the end of the input, or an incomplete record
  std::vector<double> values;     // [num_rows, num_attributes] row-major
  std::vector<std::int64_t> ids;  // [num_rows], or empty
  RowLines lines;                 // [num_rows]; from 0
  std::vector<char> label_bytes;
  std::vector<std::uint32_t> label_sizes;  // [num_rows], or empty
  std::optional<CsvFault> fault;           // the first fault; rows after it are not parsed

  void clear();
};

class CsvChunkParser {
 public:
  explicit CsvChunkParser(const CsvSchema& schema);

  // Overwrites `rows`. [begin, end) starts at a record.
  void parse(const char* begin, const char* end, bool at_end_of_file, CsvRows& rows);

 private:
  enum class Use : std::uint8_t { none, attribute, id, label };
  struct Target {
    std::size_t column;
    std::size_t slot;  // of an attribute: its position in the row
    Use use;
  };

  const char* parse_plain_row(const char* record, const char* end, CsvRows& rows);
  const char* parse_plain_cell(const Target& target, const char* cell, const char* end, CsvRows& rows);
  const char* parse_any_row(const char* record, const char* end, bool at_end_of_file, CsvRows& rows);
  bool parse_cells(CsvRows& rows);
  bool parse_cell(const Target& target, CsvRows& rows);
  void begin_row(CsvRows& rows);
  void end_row(std::uint64_t num_lines, CsvRows& rows) const;
  void undo_row(CsvRows& rows) const;
  bool parse_attribute(const Target& target);
  bool parse_id(const Target& target, CsvRows& rows);
  bool parse_label(const Target& target, CsvRows& rows);
  bool take_null(NumberKind kind);
  bool refuse(const Target& target, const char* expected, NumberKind kind, std::string_view text);
  static const char* reason(const Target& target, NumberKind kind);
  InputError::Remedy remedy(const Target& target, NumberKind kind) const;
  void refuse_ragged(CsvRows& rows) const;

  const CsvSchema& schema_;
  std::vector<Target> targets_;        // in the order of the file
  std::vector<Target> plain_targets_;  // one per column of the file; empty if a column has two uses
  std::size_t num_misses_ = 0;         // rows since the last plain one
  RecordSplitter splitter_;
  std::string scratch_;

  // The current row.
  double* row_values_ = nullptr;
  std::size_t label_bytes_before_ = 0;
  bool row_has_null_ = false;
  RecordFault fault_;
  InputError::Remedy remedy_ = InputError::Remedy::none;  // for the fault
};

}  // namespace culmen::io
