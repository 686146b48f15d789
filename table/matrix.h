// Reads the values of a binary matrix file, checked, into a table. The file's own reader has parsed the
// header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "culmen/table_io.h"
#include "table/byte_source.h"

namespace culmen::io {

struct MatrixFormat {
  ElementType type = ElementType::float32;
  std::uint64_t num_rows = 0;
  std::uint64_t num_columns = 0;  // without the prefix
  bool column_major = false;
  bool has_row_prefix = false;  // fvecs: each row begins with num_columns as an int32
  std::uint64_t first_row = 0;  // its number in error texts; those in front have been read
};

// Goes on from where the header's reader ends: `values` gives what stands behind the header.
using MatrixReading = std::function<void(ByteSource& values, const MatrixFormat& format)>;

// What must stand behind the header, or InputError: the file is longer or shorter, or the shape is beyond
// what can be. Call it before anything is allocated.
void check_matrix_size(const MatrixFormat& format, std::uint64_t header_bytes, const ByteSource& source,
                       const std::string& name);

// Reads from behind the header. The columns are a0, a1, ...; row-major rows stay one matrix with strided
// columns. Throws InputError naming row and column for NaN, an infinity or an integer beyond 2^53 in an
// attribute.
Table read_matrix(ByteSource& source, const MatrixFormat& format, const std::string& name,
                  const ReadOptions& options);

// A whole matrix by one of the readers of headers, such as open_npy.
Table read_opened(const auto& open, ByteSource& source, const std::string& name, const ReadOptions& options) {
  Table table;
  open(source, name, [&](ByteSource& values, const MatrixFormat& format) {
    table = read_matrix(values, format, name, options);
  });
  return table;
}

// A batch of rows at a time; column-major matrices have to be read as a whole first.
BatchTotals read_matrix_in_batches(ByteSource& source, const MatrixFormat& format, const std::string& name,
                                   const ReadOptions& options, const BatchOptions& batches,
                                   const std::function<void(const TableBatch&)>& take);

}  // namespace culmen::io
