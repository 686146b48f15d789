// Reads a whole CSV source into a table, with memory for little beside the table. What CSV is, and which
// errors there are: csv_parser.h. An id that appears twice is looked for once all records have been read.
#pragma once

#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_parser.h"

namespace culmen::io {

Table read_csv(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
               const CsvTuning& tuning = {});

// The first row whose id has appeared before, as the error that names both lines.
void check_csv_ids(std::span<const std::int64_t> ids, const RowLines& lines, const std::string& name,
                   const CsvSchema& schema);

}  // namespace culmen::io
