// Reads a CSV source in batches of rows. Memory: one batch and two windows.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_parser.h"

namespace culmen::io {

// Smaller than for whole tables: batches fill quickly, and a stream should use little memory.
inline constexpr CsvTuning kBatchTuning = {.window_bytes = std::size_t{1} << 20};

BatchTotals read_csv_in_batches(ByteSource& source, const std::string& name, const ReadOptions& options,
                                char delimiter, const BatchOptions& batches,
                                const std::function<void(const TableBatch&)>& take,
                                const CsvTuning& tuning = kBatchTuning);

// The same of JSON Lines.
BatchTotals read_json_lines_in_batches(std::unique_ptr<ByteSource> lines, const std::string& name,
                                       const ReadOptions& options, const BatchOptions& batches,
                                       const std::function<void(const TableBatch&)>& take,
                                       const CsvTuning& tuning = kBatchTuning);

}  // namespace culmen::io
