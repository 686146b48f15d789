#include "shard/complete_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/excerpt.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "index/table_shape.h"
#include "index/write/normalize.h"

namespace culmen {
namespace {

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

std::string name_of(const TableView& table, std::size_t row) {
  if (table.id_type == IdType::text) return quote_excerpt(table.labels[row]);
  return id_text(table.ids[row], table.id_type);
}

template <typename AnyIndex>
std::vector<std::optional<Row>> rows_with_ids(const AnyIndex& index, const TableView& table) {
  if (table.id_type != IdType::text) return index.get(table.ids);
  check_labels(table);
  std::vector<std::string_view> texts;
  for (std::size_t row = 0; row < table.num_rows; ++row) texts.push_back(table.labels[row]);
  return index.get(texts);
}

// The rows with the table's ids.
template <typename AnyIndex>
std::vector<Row> found_rows(const AnyIndex& index, const TableView& table) {
  std::vector<Row> rows;
  std::vector<std::optional<Row>> found = rows_with_ids(index, table);
  for (std::size_t row = 0; row < found.size(); ++row) {
    if (!found[row])
      throw RowError(row, "id " + name_of(table, row) + " is not in the index; upsert inserts rows");
    rows.push_back(std::move(*found[row]));
  }
  return rows;
}

}  // namespace

template <typename AnyIndex>
CompleteRows::CompleteRows(const AnyIndex& index, const TableView& table) : view_(table) {
  const Schema schema = index.schema();
  check_names(table, schema);
  if (table.ids.size() != table.num_rows && table.id_type != IdType::text)
    throw InvalidArgument("an update needs the ids of the rows that it changes");
  check_given_ids(table, schema.id_type);
  rows_ = found_rows(index, table);
  complete(schema, table);
}

template CompleteRows::CompleteRows(const Index&, const TableView&);
template CompleteRows::CompleteRows(const ShardedIndex&, const TableView&);

void CompleteRows::complete(const Schema& schema, const TableView& table) {
  view_.attributes = schema.attributes;
  view_.columns.clear();
  attributes_.resize(schema.attributes.size());
  for (std::size_t i = 0; i < schema.attributes.size(); ++i) add_attribute(schema.attributes[i], table, i);
  view_.fields = schema.fields;
  view_.field_views.clear();
  fields_.reserve(schema.fields.size());  // views point into them
  for (std::size_t i = 0; i < schema.fields.size(); ++i) add_field(schema.fields[i], table, i);
  if (!schema.has_labels || !table.labels.empty()) return;
  labels_.offsets.push_back(0);
  for (const Row& row : rows_) labels_.append(row.label);
  view_.labels = labels_.view();
}

void CompleteRows::add_attribute(const Attribute& attribute, const TableView& table, std::size_t position) {
  const auto given = std::ranges::find(table.attributes, attribute.name, &Attribute::name);
  if (given != table.attributes.end()) {
    view_.columns.push_back(table.columns[static_cast<std::size_t>(given - table.attributes.begin())]);
    return;
  }
  for (const Row& row : rows_) attributes_[position].push_back(row.values[position]);
  view_.columns.emplace_back(attributes_[position]);
}

void CompleteRows::add_field(const Field& field, const TableView& table, std::size_t position) {
  const auto given = std::ranges::find(table.fields, field.name, &Field::name);
  if (given != table.fields.end()) {
    view_.fields[position].format = given->format;
    view_.field_views.push_back(table.field_views[static_cast<std::size_t>(given - table.fields.begin())]);
    return;
  }
  UserField& kept = fields_.emplace_back(field);
  for (const Row& row : rows_) kept.add(row.fields[position]);
  view_.field_views.push_back(kept.view());
}

}  // namespace culmen
