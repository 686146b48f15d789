// Reads and checks the values of a binary matrix file. The reader of its format has parsed the header.
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
  bool has_row_prefix = false;           // fvecs: each row begins with num_columns as an int32
  std::uint64_t first_row = 0;           // its number in error texts: rows before it have been read
  std::uint64_t num_unchecked_rows = 0;  // at the beginning: may hold anything
};

inline std::uint64_t element_bytes(ElementType type) {
  return type == ElementType::float32 || type == ElementType::int32 ? 4 : 8;
}

[[noreturn]] void throw_too_short(const std::string& name);

// Reads the values, after the reader of the header.
using MatrixReading = std::function<void(ByteSource& values, const MatrixFormat& format)>;

// Throws InputError if the file is longer or shorter than the header says, or the shape is impossible. Call it before
// allocating anything.
void check_matrix_size(const MatrixFormat& format, std::uint64_t header_bytes, const ByteSource& source,
                       const std::string& name);

// Reads a whole matrix. The columns are a0, a1, ...; a row-major matrix stays one block with strided columns. NaN is a
// missing value. Throws InputError naming row and column for an infinity, and for an integer beyond 2^53 in an
// attribute.
Table read_matrix(ByteSource& source, const MatrixFormat& format, const std::string& name,
                  const ReadOptions& options);

// Reads a header with `open`, for example open_npy, and then the whole matrix.
Table read_opened(const auto& open, ByteSource& source, const std::string& name, const ReadOptions& options) {
  Table table;
  open(source, name, [&](ByteSource& values, const MatrixFormat& format) {
    table = read_matrix(values, format, name, options);
  });
  return table;
}

// Reads in batches of rows. Column-major matrices are first read as a whole.
BatchTotals read_matrix_in_batches(ByteSource& source, const MatrixFormat& format, const std::string& name,
                                   const ReadOptions& options, const BatchOptions& batches,
                                   const std::function<void(const TableBatch&)>& take);

}  // namespace culmen::io
