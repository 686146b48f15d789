// CSV files, as the program reads them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "gil.h"
#include "interrupt.h"
#include "reports.h"
#include "text.h"
#include "text_column.h"

namespace culmen::python {
namespace {

using SharedTable = std::shared_ptr<Table>;

// Keeps the table as long as the array.
template <typename T>
nb::object array_of(const ColumnView& column, const SharedTable& table) {
  const nb::capsule owner(new SharedTable(table),
                          [](void* p) noexcept { delete static_cast<SharedTable*>(p); });
  const auto stride = column.stride_bytes / static_cast<std::ptrdiff_t>(sizeof(T));
  return nb::cast(nb::ndarray<nb::numpy, const T>(reinterpret_cast<const T*>(column.data), {column.size},
                                                  owner, {static_cast<std::int64_t>(stride)}));
}

nb::object values_of(const ColumnView& column, const SharedTable& table) {
  switch (column.type) {
    case ElementType::float32:
      return array_of<float>(column, table);
    case ElementType::float64:
      return array_of<double>(column, table);
    case ElementType::int32:
      return array_of<std::int32_t>(column, table);
    case ElementType::int64:
      break;
  }
  return array_of<std::int64_t>(column, table);
}

nb::object gaps_of(const ColumnView& column, const SharedTable& table) {
  if (column.validity.bits == nullptr) return nb::none();
  Array<std::uint8_t> gaps(column.size, table->ids.get_allocator());
  for (std::size_t row = 0; row < gaps.size(); ++row) gaps[row] = column.validity.is_missing(row) ? 1 : 0;
  return nb::cast(to_numpy(std::move(gaps))).attr("view")("?");
}

nb::tuple column_of(const std::string& name, const ColumnFormat& format, const ColumnView& column,
                    const SharedTable& table) {
  return nb::make_tuple(name, format_tuple(format), values_of(column, table), gaps_of(column, table));
}

nb::tuple text_column_of(const std::string& name, Texts texts) {
  return nb::make_tuple(name, format_tuple({ColumnType::text}),
                        std::make_unique<TextColumn>(std::move(texts)), nb::none());
}

// As Columns in _columns.py: (name, format, values, gaps) of each column, attributes first.
nb::list columns_of(const SharedTable& table) {
  nb::list columns;
  for (std::size_t i = 0; i < table->columns.size(); ++i)
    columns.append(
        column_of(table->attributes[i].name, table->attributes[i].format, table->columns[i], table));
  for (std::size_t i = 0; i < table->fields.size(); ++i) {
    auto& column = table->field_columns[i];
    if (Texts* const texts = std::get_if<Texts>(&column)) {
      columns.append(text_column_of(table->fields[i].name, std::move(*texts)));
    } else {
      columns.append(
          column_of(table->fields[i].name, table->fields[i].format, std::get<ColumnView>(column), table));
    }
  }
  if (!table->label_name.empty())
    columns.append(text_column_of(table->label_name, {std::move(table->labels), {}}));
  return columns;
}

// "" is no mark.
std::optional<char> mark_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return text->empty() ? '\0' : (*text)[0];
}

// Errors name the arguments that help.
Table read_with_hints(const std::string& file, const ReadOptions& options) {
  try {
    return read_table(file, options);
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (error.remedy() == InputError::Remedy::give_decimal)
      throw InputError(text + " (dialect=CsvDialect(decimal=\".\") or \",\" says so)");
    if (error.remedy() == InputError::Remedy::give_dates)
      throw InputError(text + " (dialect=CsvDialect(dates=\"day-first\") or \"month-first\" says so)");
    if (error.remedy() == InputError::Remedy::give_id_type)
      throw InputError(text + " (id_type=\"text\" takes ids as texts, id_type=\"int64\" as numbers)");
    if (error.remedy() == InputError::Remedy::list_rejected)
      throw InputError(text + " (rejects=[] takes such rows, and the others are read)");
    if (error.remedy() == InputError::Remedy::give_header)
      throw InputError(text + " (dialect=CsvDialect(header=True) or False says so)");
    throw;
  }
}

// The columns, the ids, as numbers or texts, or None, and the numbers of dropped rows; of a table with ids, as many numbers after the last
// row.
nb::tuple read_csv(const nb::bytes& path, const std::vector<std::string>& attributes, const std::string& id,
                   const std::string& label, std::optional<std::vector<std::string>> columns,
                   std::vector<std::string> stored, bool drops_nulls,
                   const std::optional<std::string>& delimiter, const std::optional<std::string>& decimal,
                   const std::optional<std::string>& thousands, std::optional<bool> has_header,
                   std::optional<std::vector<std::string>> null_words, const std::string& dates,
                   bool unique_ids, const std::optional<std::string>& id_type, const nb::object& reject,
                   const nb::bytes& temp_directory) {
  ReadOptions options;
  for (const std::string& name : attributes) options.attributes.push_back({.name = name});
  options.id_column = id;
  options.label_column = label;
  options.columns = std::move(columns);
  options.stored = std::move(stored);
  options.unique_ids = unique_ids;
  options.temp_directory = path_of(temp_directory);
  if (id_type) options.id_type = parse_id_type(*id_type);
  options.nulls = drops_nulls ? NullPolicy::drop : NullPolicy::keep;
  options.dialect = {.delimiter = mark_of(delimiter),
                     .has_header = has_header,
                     .decimal = mark_of(decimal),
                     .thousands = mark_of(thousands),
                     .null_words = std::move(null_words)};
  if (!dates.empty())
    options.dialect.dates = dates == "day-first" ? DateOrder::day_first : DateOrder::month_first;
  options.on_progress = [](std::uint64_t /*done*/, std::uint64_t /*total*/) {
    const GilAcquired acquired;
    check_signals();
  };
  if (!reject.is_none())
    options.on_rejected_row = [&reject](const RejectedRow& row) {
      const GilAcquired acquired;
      reject(row.line, row.column, nb::bytes(row.problem.data(), row.problem.size()),
             nb::bytes(row.text.data(), row.text.size()));
    };
  const std::string file = path_of(path);
  const auto table = std::make_shared<Table>(without_gil([&] { return read_with_hints(file, options); }));
  std::vector<std::uint64_t> dropped = std::move(table->dropped_rows);
  for (std::uint64_t row = dropped.size(); row < table->num_dropped_rows; ++row)
    dropped.push_back(table->num_rows + row);
  nb::object ids = nb::none();
  if (table->id_type == IdType::text) {
    ids = nb::cast(std::make_unique<TextColumn>(Texts{std::move(table->labels), {}}));
  } else if (!id.empty()) {
    ids = nb::cast(to_numpy(std::move(table->ids)));
  }
  return nb::make_tuple(columns_of(table), ids, to_numpy(std::move(dropped)),
                        std::string(id_type_name(table->id_type)));
}

}  // namespace

void bind_csv(nb::module_& module) {
  module.def("read_csv", read_csv, nb::arg("path"), nb::arg("attributes"), nb::arg("id"), nb::arg("label"),
             nb::arg("columns").none(), nb::arg("stored"), nb::arg("drops_nulls"),
             nb::arg("delimiter").none(), nb::arg("decimal").none(), nb::arg("thousands").none(),
             nb::arg("has_header").none(), nb::arg("null_words").none(), nb::arg("dates"),
             nb::arg("unique_ids"), nb::arg("id_type").none(), nb::arg("reject").none(),
             nb::arg("temp_directory"));
}

}  // namespace culmen::python
