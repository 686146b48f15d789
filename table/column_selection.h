// The columns of a file to read: ReadOptions resolved against the file's column names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "culmen/table_io.h"

namespace culmen::io {

inline constexpr std::size_t kMaxColumns = 4096;

struct ColumnSelection {
  std::vector<Attribute> attributes;
  std::vector<std::size_t> columns;  // [num_attributes] position of each in the file
  std::optional<std::size_t> id;
  std::optional<std::size_t> label;
  bool took_all = false;  // no attributes were named, so all other columns are
};

// `names`: those of the file, unique except for empty ones. Throws InvalidArgument for a name that is unknown (the text
// lists the known ones) or given twice, InputError if no attribute is left or one has no name.
ColumnSelection select_columns(const std::vector<std::string>& names, const ReadOptions& options,
                               const std::string& file);

// a0, a1, ...: names for files that have none.
std::vector<std::string> default_column_names(std::size_t num_columns);

// Position of the first attribute whose name has appeared before; nullopt if all differ.
std::optional<std::size_t> find_repeated_name(const std::vector<Attribute>& attributes);

}  // namespace culmen::io
