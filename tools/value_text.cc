#include "tools/value_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "tools/csv_cell.h"
#include "tools/item_list.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

bool is_always_shown(const std::string& name, const Schema& schema) {
  const bool is_column =
      std::ranges::find(schema.attributes, name, &Attribute::name) != schema.attributes.end() ||
      std::ranges::find(schema.fields, name, &Field::name) != schema.fields.end();
  if (is_column) return false;
  return name == "id" || name == schema.id_name ||
         (schema.has_labels && (name == "label" || name == schema.label_name));
}

}  // namespace

std::vector<ShownColumn> shown_columns(const IndexInfo& info, const Schema& schema,
                                       const std::optional<std::string>& show,
                                       const std::vector<std::string>& own) {
  std::optional<std::vector<std::string>> names;
  if (show) {
    names = split_names(*show);
    std::erase_if(*names, [&](const std::string& name) { return is_always_shown(name, schema); });
  }
  return culmen::shown_columns(info, names, own, "--show");
}

std::string csv_cell(const FieldValue& value, const ColumnFormat& format) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text != nullptr) return text_cell(*text);
  return quoted_if_needed(exact_text(value, format));
}

std::string readable_text(const FieldValue& value, const ColumnFormat& format, ValueType type) {
  const auto* const number = std::get_if<double>(&value);
  return number != nullptr ? recognisable(*number, type) : exact_text(value, format);
}

std::string format_text(const ColumnFormat& format) {
  std::string text{type_name(format.type)};
  if (format.type != ColumnType::timestamp) return text;
  text.append(" in ").append(unit_name(format.unit));
  if (!format.time_zone.empty()) text.append(", ").append(format.time_zone);
  return text;
}

}  // namespace culmen::tools
