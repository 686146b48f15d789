// Reads the two float32 formats of vector search: fvecs (each row: its length as int32, then the values) and
// fbin (rows and columns as two uint32, or two uint64 in files that some tools write, then the values).
#pragma once

#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/matrix.h"

namespace culmen::io {

Table read_fvecs(ByteSource& source, const std::string& name, const ReadOptions& options);
Table read_fbin(ByteSource& source, const std::string& name, const ReadOptions& options);

// Read and check the header, then call `read` for the values.
void open_fvecs(ByteSource& source, const std::string& name, const MatrixReading& read);
void open_fbin(ByteSource& source, const std::string& name, const MatrixReading& read);

}  // namespace culmen::io
