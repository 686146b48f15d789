// JSON Lines: an object on each line, read as the CSV that it stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_parser.h"
#include "table/csv_record.h"
#include "table/find_dialect.h"

namespace culmen::io {

// The source of that CSV: a header, and a line for each line of the file. Strings are in quotes, and so is the text of
// lists and objects; null, and a name that an object lacks, are empty cells. The columns are the names that occur in the first
// megabyte, or in what has arrived of a pipe, and the fields of options.schema, unless the rows are partial. Of names that occur later those are left out that options.columns does not keep. read() throws InputError naming the line for
// what is no such object.
std::unique_ptr<ByteSource> csv_of_json_lines(std::unique_ptr<ByteSource> lines, std::string name,
                                              const ReadOptions& options);

// The object of a row of that CSV, of columns with these names.
std::string object_of_row(std::span<const std::string> names, std::span<const CsvField> fields);

}  // namespace culmen::io
