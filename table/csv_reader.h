// Reads CSV: RFC 4180, UTF-8, a header line, LF or CRLF. In parallel, and with memory for little beside the
// table.
//
// A field is refused beyond 64 KiB, a line beyond 16 MiB, a file beyond 4096 columns. The error is that of
// the first faulty record in the file, whatever the number of threads and wherever the chunks were cut; an id
// that appears twice is looked for once all records have been read.
#pragma once

#include <cstddef>
#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"

namespace culmen::io {

// Never changes a result. Tests make both tiny so that every record meets a boundary.
struct CsvTuning {
  std::size_t window_bytes = std::size_t{16} << 20;  // read at a time, and twice that in memory
  std::size_t chunk_bytes = std::size_t{256} << 10;  // parsed by one task
};

Table read_csv(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
               const CsvTuning& tuning = {});

}  // namespace culmen::io
