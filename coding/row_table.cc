#include "coding/row_table.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/calendar.h"
#include "base/suggestion.h"
#include "culmen/error.h"

namespace culmen {
namespace {

[[noreturn]] void refuse_value(std::string_view wanted, const ReadJson& value) {
  throw InvalidArgument(
      fmt::format("expected {}, found {}", wanted,
                  value.dump(-1, ' ', false, ReadJson::error_handler_t::replace).substr(0, 40)));
}

std::int64_t read_timestamp(const ReadJson& value, const ColumnFormat& format) {
  if (!value.is_string()) refuse_value("a timestamp, such as \"2025-06-01T12:30:00\"", value);
  const auto text = value.get<std::string>();
  std::optional<ParsedTimestamp> time = parse_timestamp(text);
  if (!time) {
    if (const std::optional<std::int64_t> day = parse_date(text)) time = ParsedTimestamp{*day * 86'400};
  }
  if (!time) refuse_value("a timestamp, such as \"2025-06-01T12:30:00\"", value);
  if (time->has_zone && format.time_zone.empty()) refuse_value("a timestamp without a zone", value);
  const std::optional<TimestampCount> count = count_in_unit(*time, format.unit);
  if (!count || !count->is_exact) refuse_value("a timestamp that the column's unit holds exactly", value);
  return count->value;
}

// A value of a column that int64 holds.
std::int64_t read_whole(const ReadJson& value, const ColumnFormat& format) {
  switch (format.type) {
    case ColumnType::boolean:
      if (!value.is_boolean()) refuse_value("true or false", value);
      return value.get<bool>() ? 1 : 0;
    case ColumnType::date: {
      const std::optional<std::int64_t> day =
          value.is_string() ? parse_date(value.get<std::string>()) : std::nullopt;
      if (!day) refuse_value("a date, such as \"2025-06-01\"", value);
      return *day;
    }
    case ColumnType::timestamp:
      return read_timestamp(value, format);
    case ColumnType::integer:
    case ColumnType::floating:
    case ColumnType::text:
      break;
  }
  return read_int64(value, "value");
}

// Whether float64 holds an integer of JSON without rounding it.
bool is_exact(const ReadJson& value, double rounded) {
  if (value.is_number_unsigned())
    return rounded < 0x1p64 && static_cast<std::uint64_t>(rounded) == value.get<std::uint64_t>();
  return static_cast<std::int64_t>(rounded) == value.get<std::int64_t>();  // negative: -2^63 at least
}

// A bit per row, of which most are set: they are kept only where one is not.
class Presence {
 public:
  explicit Presence(std::size_t num_rows) : bits_((num_rows + 7) / 8, 0xff) {}
  void set_missing(std::size_t row) {
    bits_[row / 8] = static_cast<std::uint8_t>(bits_[row / 8] & ~(1U << row % 8));
    has_missing_ = true;
  }
  // Empty: none is missing.
  Array<std::uint8_t> take() && { return has_missing_ ? std::move(bits_) : Array<std::uint8_t>(); }

 private:
  Array<std::uint8_t> bits_;
  bool has_missing_ = false;
};

// The values of one column of the table.
class RowReader {
 public:
  RowReader(const ReadJson::array_t& rows, const char* part, const std::string& name)
      : rows_(rows), part_(part), name_(name) {}

  // Calls use(row, value) for each row; the value is null where it is missing.
  template <typename Use>
  void each(const Use& use) const {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto& object = rows_[row].get_ref<const ReadJson::object_t&>();
      const auto part = object.find(part_);
      const ReadJson* value = nullptr;
      if (part != object.end()) {
        const auto& values = part->second.get_ref<const ReadJson::object_t&>();
        const auto found = values.find(name_);
        if (found != values.end() && !found->second.is_null()) value = &found->second;
      }
      try {
        use(row, value);
      } catch (const InvalidArgument& error) {
        throw InvalidArgument(fmt::format("row {}: {}: {}", row + 1, name_, error.what()));
      }
    }
  }
  std::size_t num_rows() const { return rows_.size(); }

 private:
  const ReadJson::array_t& rows_;
  const char* part_;
  const std::string& name_;
};

// Appends the column's values to the table's storage, which the view points into.
ColumnView add_numbers(const RowReader& reader, const ColumnFormat& format, Table& table) {
  ColumnView view;
  if (format.type == ColumnType::floating) {
    Array<double> values(reader.num_rows(), std::numeric_limits<double>::quiet_NaN());
    reader.each([&](std::size_t row, const ReadJson* value) {
      if (value == nullptr) return;
      if (!value->is_number()) refuse_value("a number", *value);
      values[row] = value->get<double>();
      if (value->is_number_integer() && !is_exact(*value, values[row]))
        refuse_value("a number that float64 holds exactly", *value);
    });
    table.storage.emplace_back(std::move(values));
    view = ColumnView(std::get<Array<double>>(table.storage.back()));
  } else {
    Array<std::int64_t> values(reader.num_rows());
    Presence presence(reader.num_rows());
    reader.each([&](std::size_t row, const ReadJson* value) {
      if (value == nullptr) {
        presence.set_missing(row);
      } else {
        values[row] = read_whole(*value, format);
      }
    });
    table.storage.emplace_back(std::move(values));
    view = ColumnView(std::get<Array<std::int64_t>>(table.storage.back()));
    table.validities.push_back(std::move(presence).take());
    if (!table.validities.back().empty()) view.validity.bits = table.validities.back().data();
  }
  return view;
}

Texts read_texts(const RowReader& reader) {
  Texts texts;
  Presence presence(reader.num_rows());
  texts.texts.offsets.push_back(0);
  reader.each([&](std::size_t row, const ReadJson* value) {
    if (value == nullptr) {
      presence.set_missing(row);
      texts.texts.append({});
    } else {
      if (!value->is_string()) refuse_value("a text", *value);
      texts.texts.append(value->get_ref<const std::string&>());
    }
  });
  texts.validity = std::move(presence).take();
  return texts;
}

void check_part(const ReadJson::object_t& row, const char* part, const std::vector<std::string>& known) {
  const auto found = row.find(part);
  if (found == row.end()) return;
  check_members(read_object(found->second, part), known, part);
}

// Every row is an object of known parts, and has an id if the first has one.
void check_rows(const ReadJson::array_t& rows, const Schema& schema) {
  std::vector<std::string> attributes;
  std::vector<std::string> fields;
  for (const Attribute& attribute : schema.attributes) attributes.push_back(attribute.name);
  for (const Field& field : schema.fields) fields.push_back(field.name);
  std::vector<std::string> parts = {"id", "attributes"};
  if (schema.has_labels) parts.emplace_back("label");
  if (!schema.fields.empty()) parts.emplace_back("fields");
  for (std::size_t row = 0; row < rows.size(); ++row) {
    try {
      const ReadJson::object_t& object = read_object(rows[row], "a row");
      check_members(object, parts, "a row");
      check_part(object, "attributes", attributes);
      check_part(object, "fields", fields);
      if (object.contains("id") != rows.front().get_ref<const ReadJson::object_t&>().contains("id"))
        throw InvalidArgument("either every row has an id, or none has");
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("row {}: {}", row + 1, error.what()));
    }
  }
}

// Ids that are texts are in the place of labels.
void add_ids_and_labels(const ReadJson::array_t& rows, const Schema& schema, Table& table) {
  NamedIds ids = {.type = schema.id_type};
  if (schema.has_labels) table.labels.offsets.push_back(0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& object = rows[row].get_ref<const ReadJson::object_t&>();
    const std::string what = fmt::format("row {}: ", row + 1);
    if (const auto id = object.find("id"); id != object.end()) read_id(id->second, what + "id", ids);
    if (!schema.has_labels) continue;
    const auto label = object.find("label");
    table.labels.append(label == object.end() ? std::string() : read_text(label->second, what + "label"));
  }
  table.ids.assign(ids.numbers.begin(), ids.numbers.end());
  for (const std::string& text : ids.texts) table.labels.append(text);
  if (schema.id_type == IdType::text && ids.texts.empty() && !rows.empty())
    throw InvalidArgument("the ids of the index are texts: give each row an \"id\"");
}

}  // namespace

Table read_rows(const ReadJson& json, const Schema& schema) {
  const ReadJson::array_t& rows = read_array(json, "rows");
  check_rows(rows, schema);
  Table table;
  table.num_rows = rows.size();
  table.attributes = schema.attributes;
  table.fields = schema.fields;
  table.id_name = schema.id_name;
  table.label_name = schema.label_name;
  table.id_type = schema.id_type;
  add_ids_and_labels(rows, schema, table);
  // Views point into what these hold, so they must not grow out of their memory.
  table.storage.reserve(schema.attributes.size() + schema.fields.size());
  table.validities.reserve(schema.attributes.size() + schema.fields.size());
  for (const Attribute& attribute : schema.attributes)
    table.columns.push_back(
        add_numbers(RowReader(rows, "attributes", attribute.name), attribute.format, table));
  for (const Field& field : schema.fields) {
    const RowReader reader(rows, "fields", field.name);
    if (field.is_text()) {
      table.field_columns.emplace_back(read_texts(reader));
    } else {
      table.field_columns.emplace_back(add_numbers(reader, field.format, table));
    }
  }
  return table;
}

}  // namespace culmen
