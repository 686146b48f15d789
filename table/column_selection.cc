#include "table/column_selection.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "culmen/error.h"
#include "table/text.h"

namespace culmen::io {
namespace {

std::size_t find_column(const std::vector<std::string>& names, const std::string& wanted,
                        const std::string& file) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (wanted.empty() || found == names.end()) {
    throw InvalidArgument(file + ": no column " + quote_excerpt(wanted) + "; the columns are " +
                          quote_list(names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void take_all(const std::vector<std::string>& names, const std::string& file, ColumnSelection& selection) {
  selection.took_all = true;
  for (std::size_t column = 0; column < names.size(); ++column) {
    if (column == selection.id || column == selection.label) continue;
    if (names[column].empty()) {
      throw InputError(file + ":1:" + std::to_string(column + 1) + ": expected a column name, found none",
                       InputError::Remedy::choose_columns);
    }
    selection.attributes.push_back({names[column]});
    selection.columns.push_back(column);
  }
}

}  // namespace

ColumnSelection select_columns(const std::vector<std::string>& names, const ReadOptions& options,
                               const std::string& file) {
  ColumnSelection selection;
  if (!options.id_column.empty()) selection.id = find_column(names, options.id_column, file);
  if (!options.label_column.empty()) selection.label = find_column(names, options.label_column, file);
  if (options.attributes.empty()) {
    take_all(names, file, selection);
  } else {
    if (const auto repeated = find_repeated_name(options.attributes)) {
      throw InvalidArgument("attribute " + quote_excerpt(options.attributes[*repeated].name) +
                            " is named twice");
    }
    selection.attributes = options.attributes;
    for (const Attribute& attribute : options.attributes) {
      selection.columns.push_back(find_column(names, attribute.name, file));
    }
  }
  if (selection.attributes.empty()) {
    throw InputError(file + ": no attribute: expected at least one numeric column besides id and label");
  }
  return selection;
}

std::vector<std::string> default_column_names(std::size_t num_columns) {
  std::vector<std::string> names;
  for (std::size_t column = 0; column < num_columns; ++column) {
    names.emplace_back("a").append(std::to_string(column));
  }
  return names;
}

std::optional<std::size_t> find_repeated_name(const std::vector<Attribute>& attributes) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (!seen.insert(attributes[i].name).second) return i;
  }
  return std::nullopt;
}

}  // namespace culmen::io
