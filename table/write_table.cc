// write_table: checks the table, and chooses the format by the name of the file.
#include <algorithm>
#include <string>
#include <variant>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/output_file.h"
#include "table/write_rows.h"

namespace culmen {
namespace {

bool has_rows(const std::variant<ColumnView, Texts>& column, std::size_t num_rows) {
  if (const Texts* const texts = std::get_if<Texts>(&column))
    return texts->texts.offsets.size() == num_rows + 1;
  const ColumnView& values = std::get<ColumnView>(column);
  return values.size == num_rows && (num_rows == 0 || values.data != nullptr);
}

void check_shape(const Table& table) {
  if (table.attributes.empty()) throw InvalidArgument("a table without attributes cannot be written");
  const bool fits =
      table.columns.size() == table.attributes.size() &&
      std::ranges::all_of(table.columns, [&](const ColumnView& c) { return c.size == table.num_rows; }) &&
      (table.ids.empty() || table.ids.size() == table.num_rows) &&
      (table.labels.offsets.empty() || table.labels.offsets.size() == table.num_rows + 1) &&
      table.field_columns.size() == table.fields.size() &&
      std::ranges::all_of(table.field_columns,
                          [&](const auto& column) { return has_rows(column, table.num_rows); });
  const bool is_there =
      table.num_rows == 0 || std::all_of(table.columns.begin(), table.columns.end(),
                                         [](const ColumnView& c) { return c.data != nullptr; });
  if (!is_there) throw InvalidArgument("a column of the table is a null pointer");
  if (!fits)
    throw InvalidArgument("the table's attributes, fields, columns, ids and labels do not fit together");
}

}  // namespace

void write_table(const Table& table, const std::string& path) {
  check_shape(table);
  const bool is_npy = path.ends_with(".npy");
  if (!is_npy && !path.ends_with(".csv") && path != "-") {
    throw InvalidArgument("cannot tell the format of \"" + path +
                          "\": expected a name in .csv or .npy, or - for CSV on standard output");
  }
  io::OutputFile output(path);
  if (is_npy) {
    io::write_npy(table, output);
  } else {
    io::write_csv(table, output);
  }
  output.commit();
}

}  // namespace culmen
