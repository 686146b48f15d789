// Parses a CSV source window by window, in parallel, and passes the rows to a sink: RFC 4180, UTF-8, a header line, LF
// or CRLF. Memory: two windows and their rows, whatever the length of the source.
//
// Refuses fields over 64 KiB, lines over 16 MiB and files with more than 4096 columns. The faulty records are the same
// whatever the number of threads and the boundaries of chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_chunk.h"
#include "table/find_dialect.h"
#include "table/window_stream.h"

namespace culmen::io {

// These sizes never change a result. Tests make both tiny, so that every record meets a boundary.
struct CsvTuning {
  std::size_t window_bytes = std::size_t{16} << 20;  // read at a time, and twice that in memory
  std::size_t chunk_bytes = std::size_t{256} << 10;  // parsed by one task
};

// The rows of one window, in order.
struct CsvWindow {
  std::span<const CsvRows> chunks;     // unless refused rows are listed: up to the first with a fault
  std::uint64_t num_lines_before = 0;  // before the window
  std::size_t num_bytes = 0;           // of the rows in the source
};

class CsvRowSink {
 public:
  virtual ~CsvRowSink() = default;
  // They live as long as the parser.
  virtual void begin(const CsvSchema& schema, const std::vector<CellKinds>& first_rows) = 0;
  virtual void take(const CsvWindow& window) = 0;
  // True: the sink hands out the list of refused rows, in CsvWindow::chunks, when it has taken those before them.
  virtual bool lists_refused() const { return false; }
  // Called while a pipe has no data, each time that none has come for as long as patience() said before.
  virtual void wait() {}
  virtual std::chrono::milliseconds patience() const { return kPatience; }
};

class CsvParser {
 public:
  // The first rows suggest the types of the columns; `once`: they determine them, as the source will not be read again.
  CsvParser(ByteSource& source, const std::string& name, const ReadOptions& options,
            const FoundDialect& found, const CsvTuning& tuning, ReadPolicy policy, bool once);

  // Says what the columns are, as an earlier pass over the source has found.
  void set_columns(std::vector<CsvColumn> columns) { known_columns_ = std::move(columns); }

  // Leaves out so many records behind the header, whatever is in their cells: of one whose end cannot be told, a line.
  void skip(std::uint64_t num_records) { num_left_to_skip_ = num_records; }

  // Calls f, which parses or uses what was parsed. If the header seems to have another separator, errors say so.
  template <typename F>
  void hinting(F&& f) const;

  // Runs in the caller's task arena. The sink gets all rows, if refused ones are listed; else those before the first faulty
  // record, and what follows is checked: of a pipe, what has arrived.
  void parse(CsvRowSink& sink);
  // Hands out the list of refused rows, or throws for faulty records.
  void finish() { refused_.finish(); }

  const CsvSchema& schema() const { return schema_; }
  // [CsvSchema::columns] of the cells so far.
  const std::vector<CellKinds>& kinds() const { return kinds_; }

 private:
  std::string_view read_header();
  std::string_view split_first_record(RecordSplitter& splitter, std::string_view text);
  std::string_view behind(const RecordSplitter& record, std::string_view text);
  std::string_view drop_blank_lines(std::string_view text);
  void name_columns(const RecordSplitter& first_record);
  std::string_view skip_records(std::string_view text);
  std::string_view determine_columns(std::string_view text);
  ColumnForm form_of(const KeptColumn& column) const;
  template <typename Take>
  std::size_t for_first_rows(std::string_view text, Take&& take) const;
  void add_kinds(const RecordSplitter& record);
  void count_id(const RecordSplitter& record);
  bool has_refused_id(const RecordSplitter& record) const;
  bool has_refused_cell(const RecordSplitter& record) const;
  std::string_view parse_window(std::string_view window, CsvRowSink& sink);
  std::size_t parse_chunks(const std::vector<const char*>& cuts);
  void report_progress() const;

  const std::string& name_;
  const ReadOptions& options_;
  const FoundDialect& found_;
  const CsvTuning tuning_;
  WindowStream windows_;
  const bool once_;
  const bool is_stream_;  // may go on for ever
  RefusedRows refused_;
  CsvSchema schema_;
  ColumnSelection selection_;
  std::string separator_hint_;
  std::vector<CsvColumn> known_columns_;
  std::vector<CellKinds> kinds_;
  std::size_t num_text_ids_ = 0, num_other_ids_ = 0;  // of the first rows, if nobody says what ids are
  std::vector<CsvRows> chunks_;
  std::uint64_t num_left_to_skip_ = 0;
  std::uint64_t num_lines_ = 0;  // before the window
  bool is_window_done_ = true;   // but for an incomplete record; else the rest of it has to be cut again
};

template <typename F>
void CsvParser::hinting(F&& f) const {
  try {
    f();
  } catch (const RowError&) {  // of who uses the rows
    throw;
  } catch (const InputError& error) {
    if (separator_hint_.empty()) throw;
    throw InputError(error.what() + separator_hint_, error.remedy());
  } catch (const InvalidArgument& error) {  // columns that are not there
    if (separator_hint_.empty()) throw;
    throw InvalidArgument(error.what() + separator_hint_);
  }
}

}  // namespace culmen::io
