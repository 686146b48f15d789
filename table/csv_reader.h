// Reads a whole CSV source into a table, with little memory in addition to the table. csv_parser.h defines the format
// and the errors. Ids are checked for uniqueness once all records are read.
#pragma once

#include <memory>
#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_parser.h"

namespace culmen::io {

// `delimiter`: the usual one; ReadOptions::dialect or the file may say another.
Table read_csv(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
               const CsvTuning& tuning = {});

// JSON Lines, as the CSV that they stand for (table/json_lines.h).
Table read_json_lines(std::unique_ptr<ByteSource> lines, const std::string& name, const ReadOptions& options,
                      const CsvTuning& tuning = {});

// Throws for the first row whose id has appeared before; the text names both lines. memory: for a copy of the ids.
void check_csv_ids(std::span<const std::int64_t> ids, IdType type, const RowLines& lines,
                   const std::string& name, const CsvSchema& schema,
                   const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen::io
