#include "culmen/update.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/error.h"

namespace culmen {
namespace {

// The values of a column that the table does not have: those of the index.
struct KeptColumn {
  std::variant<std::vector<double>, std::vector<std::int64_t>, Labels> values;
  std::vector<std::uint8_t> validity;

  Validity validity_view() const { return {validity.empty() ? nullptr : validity.data()}; }

  void set_missing(std::size_t row) { validity[row / 8] &= static_cast<std::uint8_t>(~(1U << row % 8)); }
};

void append_text(Labels& texts, std::string_view text) {
  texts.bytes.insert(texts.bytes.end(), text.begin(), text.end());
  texts.offsets.push_back(texts.bytes.size());
}

template <typename T>
void keep_numbers(KeptColumn& kept, std::span<const Row> rows, std::size_t field) {
  std::vector<T> numbers(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (const T* number = std::get_if<T>(&rows[row].fields[field])) {
      numbers[row] = *number;
    } else {
      kept.set_missing(row);
    }
  }
  kept.values = std::move(numbers);
}

KeptColumn kept_field(const Field& field, std::span<const Row> rows, std::size_t position) {
  KeptColumn kept;
  kept.validity.assign(rows.size() / 8 + 1, 0xff);
  if (!field.is_text()) {
    if (field.format.type == ColumnType::floating) {
      keep_numbers<double>(kept, rows, position);
    } else {
      keep_numbers<std::int64_t>(kept, rows, position);
    }
    return kept;
  }
  Labels texts = {{}, {0}};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string* const text = std::get_if<std::string>(&rows[row].fields[position]);
    append_text(texts, text == nullptr ? std::string_view() : std::string_view(*text));
    if (text == nullptr) kept.set_missing(row);
  }
  kept.values = std::move(texts);
  return kept;
}

FieldView view_of(const KeptColumn& kept) {
  if (const Labels* const texts = std::get_if<Labels>(&kept.values))
    return TextView{texts->view(), kept.validity_view()};
  const auto* const numbers = std::get_if<std::vector<double>>(&kept.values);
  ColumnView view = numbers != nullptr ? ColumnView(*numbers)
                                       : ColumnView(std::get<std::vector<std::int64_t>>(kept.values));
  view.validity = kept.validity_view();
  return view;
}

void check_names(const TableView& table, const Schema& schema) {
  const auto refuse = [](const std::string& name) {
    throw InvalidArgument("the index has no column \"" + name + "\" that an update could change");
  };
  for (const Attribute& attribute : table.attributes)
    if (std::ranges::find(schema.attributes, attribute.name, &Attribute::name) == schema.attributes.end())
      refuse(attribute.name);
  for (const Field& field : table.fields)
    if (std::ranges::find(schema.fields, field.name, &Field::name) == schema.fields.end()) refuse(field.name);
}

// The table's rows with all columns of the index.
class CompleteRows {
 public:
  CompleteRows(const Schema& schema, const TableView& table, std::vector<Row> rows)
      : rows_(std::move(rows)), view_(table) {
    view_.attributes = schema.attributes;
    view_.columns.clear();
    attributes_.resize(schema.attributes.size());
    for (std::size_t i = 0; i < schema.attributes.size(); ++i) add_attribute(schema.attributes[i], table, i);
    view_.fields = schema.fields;
    view_.field_views.clear();
    fields_.resize(schema.fields.size());
    for (std::size_t i = 0; i < schema.fields.size(); ++i) add_field(schema.fields[i], table, i);
    if (!schema.has_labels || !table.labels.empty()) return;
    labels_.offsets.push_back(0);
    for (const Row& row : rows_) append_text(labels_, row.label);
    view_.labels = labels_.view();
  }

  const TableView& view() const { return view_; }

 private:
  void add_attribute(const Attribute& attribute, const TableView& table, std::size_t position) {
    const auto given = std::ranges::find(table.attributes, attribute.name, &Attribute::name);
    if (given != table.attributes.end()) {
      view_.columns.push_back(table.columns[static_cast<std::size_t>(given - table.attributes.begin())]);
      return;
    }
    for (const Row& row : rows_) attributes_[position].push_back(row.values[position]);
    view_.columns.emplace_back(attributes_[position]);
  }

  void add_field(const Field& field, const TableView& table, std::size_t position) {
    const auto given = std::ranges::find(table.fields, field.name, &Field::name);
    if (given != table.fields.end()) {
      view_.fields[position].format = given->format;
      view_.field_views.push_back(table.field_views[static_cast<std::size_t>(given - table.fields.begin())]);
      return;
    }
    fields_[position] = kept_field(field, rows_, position);
    view_.field_views.push_back(view_of(fields_[position]));
  }

  std::vector<Row> rows_;
  TableView view_;
  std::vector<std::vector<double>> attributes_;
  std::vector<KeptColumn> fields_;
  Labels labels_;
};

template <typename AnyIndex>
WriteResult update_rows(AnyIndex& index, const TableView& table, const WriteOptions& options) {
  const Schema schema = index.schema();
  check_names(table, schema);
  if (table.ids.size() != table.num_rows)
    throw InvalidArgument("an update needs the ids of the rows that it changes");
  std::vector<Row> rows;
  const std::vector<std::optional<Row>> found = index.get(table.ids);
  for (std::size_t row = 0; row < found.size(); ++row) {
    if (!found[row])
      throw RowError(row,
                     "id " + std::to_string(table.ids[row]) + " is not in the index; upsert inserts rows");
    rows.push_back(*found[row]);
  }
  return index.upsert(CompleteRows(schema, table, std::move(rows)).view(), options);
}

}  // namespace

WriteResult update(Index& index, const TableView& table, const WriteOptions& options) {
  return update_rows(index, table, options);
}

WriteResult update(ShardedIndex& index, const TableView& table, const WriteOptions& options) {
  return update_rows(index, table, options);
}

}  // namespace culmen
