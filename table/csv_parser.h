// Parses a CSV source window by window and hands its rows to whoever collects them: RFC 4180, UTF-8, a header
// line, LF or CRLF. In parallel, with memory for two windows and their rows, whatever the length of the
// source.
//
// A field is refused beyond 64 KiB, a line beyond 16 MiB, a file beyond 4096 columns. The error is that of
// the first faulty record in the file, whatever the number of threads and wherever the chunks were cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_chunk.h"
#include "table/window_stream.h"

namespace culmen::io {

// Never changes a result. Tests make both tiny so that every record meets a boundary.
struct CsvTuning {
  std::size_t window_bytes = std::size_t{16} << 20;  // read at a time, and twice that in memory
  std::size_t chunk_bytes = std::size_t{256} << 10;  // parsed by one task
};

// The rows of one window, in order.
struct CsvWindow {
  std::span<const CsvRows> chunks;     // of the last one the rows in front of its fault, if it has one
  std::uint64_t num_lines_before = 0;  // in front of the window
  std::size_t num_bytes = 0;           // that the rows took up
};

class CsvRowSink {
 public:
  virtual ~CsvRowSink() = default;
  virtual void begin(const CsvSchema& schema) = 0;  // which stays as long as the parser
  virtual void take(const CsvWindow& window) = 0;
  // Called ten times a second while a source that is read as it comes has nothing.
  virtual void wait() {}
};

[[noreturn]] void throw_csv_fault(const std::string& name, std::uint64_t line, std::size_t column,
                                  const std::string& what,
                                  InputError::Remedy remedy = InputError::Remedy::none);

class CsvParser {
 public:
  // Throws InvalidArgument for a delimiter that cannot be one.
  CsvParser(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
            const CsvTuning& tuning, ReadPolicy policy);

  // In the caller's task arena. The first faulty record ends it, after the sink has taken what is in front.
  void parse(CsvRowSink& sink);

 private:
  std::string_view read_header();
  std::string_view parse_window(std::string_view window, CsvRowSink& sink);
  std::size_t parse_chunks(const std::vector<const char*>& cuts);
  void report_progress() const;

  const std::string& name_;
  const ReadOptions& options_;
  const CsvTuning tuning_;
  WindowStream windows_;
  CsvSchema schema_;
  std::vector<CsvRows> chunks_;
  std::uint64_t num_lines_ = 0;  // in front of the window
};

}  // namespace culmen::io
