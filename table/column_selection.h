// The columns of a file to read: ReadOptions resolved against the file's column names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"

namespace culmen::io {

inline constexpr std::size_t kMaxColumns = 4096;

// A file lacks an attribute of the index that is to take its rows.
class MissingColumn : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

// A column that becomes an attribute or a field.
struct KeptColumn {
  std::size_t position = 0;  // in the file
  std::string name;          // in the table: with a schema its name in the index
  bool is_attribute = false;
  bool is_named = false;                    // an attribute, by the options or the schema
  bool is_undecided = false;                // an attribute if it holds numbers
  Attribute attribute = {};                 // of an attribute
  std::optional<FieldRole> role = {};       // of a field; nullopt: depends on what it holds
  std::optional<ColumnType> type = {};      // as ReadOptions::types says
  std::optional<ColumnFormat> format = {};  // as the schema says, or the type; of timestamps only the schema
};

struct ColumnSelection {
  std::vector<KeptColumn> columns;  // attributes in their order, then the others
  std::optional<std::size_t> id;
  std::optional<std::size_t> label;
  bool has_choice = false;  // ReadOptions::columns says what is kept
};

// `names`: those of the file, unique except for empty ones. `by_position`: the file has no names, and these are
// default_column_names(). Throws InvalidArgument for a name that is unknown (the text lists the known ones) or given
// twice, InputError for a column without a name or one that the schema does not have.
ColumnSelection select_columns(const std::vector<std::string>& names, const ReadOptions& options,
                               const std::string& file, bool by_position = false);

// The type of ids that the options or their schema say; nullopt: neither.
std::optional<IdType> given_id_type(const ReadOptions& options);

// What files written from the index call the columns of ids and labels: as the table did, or "id" and "label"; behind
// "row." while an attribute or a field is called so. select_columns finds them by these names.
std::string id_title(const Schema& schema);
std::string label_title(const Schema& schema);

// Throws InputError if there are no attributes, or too many attributes or fields. `attributes`, `fields`: their names;
// `chosen`: by the caller.
void check_column_counts(const std::vector<std::string>& attributes, const std::vector<std::string>& fields,
                         bool chosen, const std::string& file, bool may_be_none = false);

// a0, a1, ...: names for files that have none.
std::vector<std::string> default_column_names(std::size_t num_columns);

// Position of the first attribute whose name has appeared before; nullopt if all differ.
std::optional<std::size_t> find_repeated_name(const std::vector<Attribute>& attributes);

}  // namespace culmen::io
