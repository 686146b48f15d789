// Parses a chunk of complete CSV records into rows. Chunks are parsed in parallel, each by its own parser.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/cell_id.h"
#include "table/csv_faults.h"
#include "table/csv_record.h"
#include "table/csv_schema.h"
#include "table/number.h"
#include "table/row_lines.h"

namespace culmen::io {

// Behind errors of bytes that are no UTF-8.
inline constexpr std::string_view kOtherEncodingHint =
    " (is it Windows-1252 or Latin-1? convert it with: iconv -f WINDOWS-1252 -t UTF-8)";

// The cells of a column of texts.
struct TextCells {
  std::vector<char> bytes;
  std::vector<std::uint32_t> ends;  // [num_rows] of each cell in the bytes

  std::size_t begin(std::size_t row) const { return row == 0 ? 0 : ends[row - 1]; }
  std::string_view operator[](std::size_t row) const {
    return {bytes.data() + begin(row), ends[row] - begin(row)};
  }
  void add(std::string_view text) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    ends.push_back(static_cast<std::uint32_t>(bytes.size()));
  }
  void cut(std::size_t num_rows) {
    if (ends.size() <= num_rows) return;
    bytes.resize(begin(num_rows));
    ends.resize(num_rows);
  }
};

// The id of a row that NullPolicy::drop leaves out.
struct DroppedId {
  std::size_t drop = 0;  // of CsvRows::dropped_at
  std::int64_t id = 0;   // not of texts
};

struct MissingCell {
  std::size_t row = 0;
  std::size_t column = 0;  // of CsvSchema::columns
};

// The rows of a chunk. Objects are refilled, so their memory is reused.
struct CsvRows {
  std::size_t num_rows = 0;
  std::vector<std::size_t> dropped_at;  // for each dropped or refused row: the number of rows before it
  // Of the dropped rows whose id is there, in order, if they are listed and the type of ids is known; texts are in
  // dropped_texts.
  std::vector<DroppedId> dropped_ids;
  TextCells dropped_texts;
  std::uint64_t num_lines = 0;
  const char* next = nullptr;  // first byte not parsed: the end of the input, or an incomplete record
  // [num_rows, num_values] row-major: numbers as they are, NaN if missing, and the bits of an int64 in other columns.
  std::vector<double> values;
  std::vector<TextCells> texts;      // [num_texts]
  std::vector<MissingCell> missing;  // of columns that are not CellType::number, ascending by row
  std::vector<std::int64_t> ids;     // [num_rows], or empty; their bits as long as no one says their type
  IdRangeFound id_range;             // of ids whose type no one says
  RowLines lines;                    // [num_rows]; from 0
  TextCells labels;                  // [num_rows], or empty
  std::vector<CellKinds> kinds;      // [num_columns] of those cells that may change a column's type or format
  // Of the refused rows. Unless they are listed, rows after the first are only checked, up to RefusedRows::kMaxFaults.
  std::vector<CsvFault> faults;
  bool has_stray_quotes = false;  // or the like: what follows the chunk may not begin at a record

  void clear(const CsvSchema& schema);
};

// Ids of dropped rows that are not handed out yet.
class DroppedIds {
 public:
  void append(const CsvRows& rows) {
    for (std::size_t i = 0; i < rows.dropped_ids.size(); ++i) append(rows, i);
  }
  void append(const CsvRows& rows, std::size_t i) {
    ids_.push_back(rows.dropped_ids[i].id);
    texts_.emplace_back(rows.dropped_texts.ends.empty() ? std::string_view() : rows.dropped_texts[i]);
  }
  bool empty() const { return ids_.empty(); }
  void hand_out(const std::function<void(std::int64_t id, std::string_view text)>& take) {
    for (std::size_t i = 0; i < ids_.size(); ++i) take(ids_[i], texts_[i]);
    ids_.clear();
    texts_.clear();
  }

 private:
  std::vector<std::int64_t> ids_;
  std::vector<std::string> texts_;  // empty where ids are none
};

class CsvChunkParser {
 public:
  explicit CsvChunkParser(const CsvSchema& schema);

  // Overwrites `rows`. [begin, end) starts at a record.
  void parse(const char* begin, const char* end, bool at_end_of_file, CsvRows& rows);

 private:
  enum class Use : std::uint8_t {
    none,
    number,
    formed,  // a number with a unit, or with marks between thousands
    value,   // neither a number nor a text
    text,
    id,
    label
  };
  struct Target {
    std::size_t position;  // in the file
    Use use;
    std::size_t column;  // of the schema
    std::size_t slot;
  };

  // What seen_numbers_ remembers of a column: the units, and whether a number was not written as an integer.
  static constexpr std::uint8_t kSeenFraction = 1;
  static constexpr std::uint8_t seen_bit(Unit unit) {
    return static_cast<std::uint8_t>(2 << static_cast<int>(unit));
  }
  // A record that was refused, and where the next one begins.
  struct RefusedRecord {
    const char* begin;
    const char* next;
  };

  void parse_rows(const char* begin, const char* end, bool at_end_of_file, CsvRows& rows);
  const char* skip_refused(const char* record, CsvRows& rows);
  const char* parse_plain_row(const char* record, const char* end, CsvRows& rows);
  inline const char* parse_plain_number(const Target& target, const char* cell, const char* end,
                                        CsvRows& rows, std::uint8_t& seen);
  const char* parse_plain_cell(const Target& target, const char* cell, const char* end, CsvRows& rows,
                               std::uint8_t& seen);
  const char* parse_plain_gap(const Target& target, const char* cell, const char* end, CsvRows& rows);
  const char* parse_any_row(const char* record, const char* end, bool at_end_of_file, CsvRows& rows);
  bool parse_cells(CsvRows& rows);
  bool parse_cell(const Target& target, CsvRows& rows);
  void begin_row(CsvRows& rows);
  void end_row(std::uint64_t num_lines, CsvRows& rows) const;
  void drop_row(CsvRows& rows) const;
  void undo_row(CsvRows& rows) const;
  const char* parse_plain_quoted(const Target& target, const char* cell, const char* end,
                                 CsvRows& rows) const;
  bool parse_plain_formed(const Target& target, std::string_view text, std::uint8_t& seen);
  bool parse_number_cell(const Target& target, CsvRows& rows);
  bool fits_unit(const CsvColumn& column, Unit unit) const;
  bool parse_value_cell(const Target& target, CsvRows& rows);
  std::optional<std::int64_t> parse_value(const CsvColumn& column, std::string_view text, CellKinds& kinds);
  std::optional<ParsedTimestamp> parse_time_of_zone(const CsvColumn& column, std::string_view text);
  std::optional<std::int64_t> parse_time(const CsvColumn& column, std::string_view text, CellKinds& kinds);
  bool parse_text_cell(const Target& target, CsvRows& rows);
  const char* parse_plain_id(const char* cell, const char* end, CsvRows& rows);
  bool parse_id(const Target& target, CsvRows& rows);
  bool keeps_id(std::string_view text) const;
  bool is_plain_id(std::string_view text) const;
  bool refuse_id(const Target& target, NumberKind kind, std::string_view text);
  bool parse_label(const Target& target, CsvRows& rows);
  bool is_missing_text(std::string_view text) const;  // of a cell without quotes
  void set_missing(const Target& target, CsvRows& rows);
  bool take_missing(const Target& target, std::string_view text, CsvRows& rows);
  bool take_ambiguous(const Target& target, std::string_view text, CsvRows& rows);
  bool take_other(const Target& target, NumberKind kind, std::string_view text, CsvRows& rows);
  bool refuse(std::size_t position, std::string_view expected, std::string_view found,
              std::string_view reason, InputError::Remedy remedy);
  bool refuse_encoding(const Target& target, std::string_view text);
  bool refuse_cell(const Target& target, NumberKind kind, std::string_view text);
  const char* refuse_unsplit(const char* record, const char* end, CsvRows& rows);
  void refuse_ragged();
  std::string text_of_row(const char* record, const char* next);
  const char* refuse_row(const char* record, const char* next, CsvRows& rows);

  const CsvSchema& schema_;
  std::vector<Target> targets_;        // in the order of the file
  std::vector<Target> plain_targets_;  // one per column of the file; empty if any row may be another
  std::size_t num_misses_ = 0;         // rows since the last plain one
  RecordSplitter splitter_;
  std::string scratch_, number_scratch_;
  std::vector<RefusedRecord> refused_;  // in order, known before the rows are parsed again
  std::size_t next_refused_ = 0;
  // [num_columns + 1] of the numbers in plain rows.
  std::vector<std::uint8_t> seen_numbers_;

  // The current row.
  double* row_values_ = nullptr;
  bool row_has_null_ = false;
  bool row_lacks_id_ = false;
  bool row_has_large_id_ = false;
  const char* fault_position_ = nullptr;
  CsvFault fault_;
};

}  // namespace culmen::io
