#include "tools/csv_rows.h"

#include "table/column_selection.h"
#include "tools/csv_cell.h"

namespace culmen::tools {

std::vector<std::string> own_columns(const Schema& schema) {
  std::vector<std::string> names = {io::id_title(schema)};
  if (schema.has_labels) names.push_back(io::label_title(schema));
  return names;
}

std::string csv_header(const std::vector<std::string>& own, const std::vector<ShownColumn>& columns) {
  std::string line;
  for (const std::string& name : own) {
    if (!line.empty()) line += ',';
    line += quoted_if_needed(name);
  }
  for (const ShownColumn& column : columns) line += ',' + quoted_if_needed(column.title);
  return line + '\n';
}

std::string csv_line(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns) {
  std::string line = text_cell(id_text(row, info.id_type));
  if (info.has_labels) line += ',' + quoted_if_needed(row.label);
  for (const ShownColumn& column : columns) line += ',' + csv_cell(value_of(row, column), column.format);
  return line + '\n';
}

}  // namespace culmen::tools
