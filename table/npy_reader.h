// Reads NPY files: versions 1.0, 2.0 and 3.0, float32, float64, int32 and int64, C and Fortran order, one or
// two axes. The header is parsed, never evaluated, and must agree with the file's length.
#pragma once

#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/matrix.h"

namespace culmen::io {

Table read_npy(ByteSource& source, const std::string& name, const ReadOptions& options);

// Reads and checks the header, then calls `read` for the values.
void open_npy(ByteSource& source, const std::string& name, const MatrixReading& read);

}  // namespace culmen::io
