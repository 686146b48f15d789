#include "shard/snapshot_table.h"

#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "api/read_row.h"

namespace culmen {
namespace {

// Of one field.
class FieldColumn {
 public:
  void add(const FieldValue& value) {
    const std::size_t row = num_rows_++;
    if (row % 8 == 0) validity_.push_back(0xff);
    if (std::holds_alternative<std::monostate>(value))
      validity_.back() &= static_cast<std::uint8_t>(~(1U << row % 8));
    if (const auto* number = std::get_if<double>(&value)) {
      doubles_.resize(row);
      doubles_.push_back(*number);
    } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      integers_.resize(row);
      integers_.push_back(*integer);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      add_text(row, *text);
    }
  }

  void move_to(const Field& field, Table& table, std::size_t number) {
    if (field.is_text()) {
      end_texts(num_rows_);
      table.field_columns[number] = Texts{std::move(texts_), std::move(validity_)};
      return;
    }
    const std::size_t column = table.attributes.size() + number;
    ColumnView view;
    if (field.format.type == ColumnType::floating) {
      doubles_.resize(num_rows_);
      view = ColumnView(table.storage[column].emplace<std::vector<double>>(std::move(doubles_)));
    } else {
      integers_.resize(num_rows_);
      view = ColumnView(table.storage[column].emplace<std::vector<std::int64_t>>(std::move(integers_)));
    }
    table.validities[column] = std::move(validity_);
    if (num_rows_ > 0) view.validity = {table.validities[column].data()};
    table.field_columns[number] = view;
  }

 private:
  // Empty texts up to this row.
  void end_texts(std::size_t row) { texts_.offsets.resize(row + 1, texts_.bytes.size()); }
  void add_text(std::size_t row, std::string_view text) {
    end_texts(row);
    texts_.bytes.insert(texts_.bytes.end(), text.begin(), text.end());
    end_texts(row + 1);
  }

  std::size_t num_rows_ = 0;
  std::vector<std::uint8_t> validity_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
  Labels texts_;
};

}  // namespace

Table table_of(std::span<const std::shared_ptr<const Snapshot>> snapshots) {
  const Snapshot& first = *snapshots.front();
  Table table;
  table.attributes = first.attributes;
  table.fields = first.fields;
  table.id_name = first.id_name;
  table.label_name = first.label_name;
  std::vector<std::vector<double>> columns(first.attributes.size());
  std::vector<FieldColumn> fields(first.fields.size());
  if (first.has_labels) table.labels.offsets.push_back(0);
  for (const std::shared_ptr<const Snapshot>& snapshot : snapshots) {
    const auto stride = static_cast<std::uint64_t>(snapshot->leaf_rows);
    for (const std::uint32_t leaf : snapshot->order().leaves)
      for (std::uint32_t position = 0; position < snapshot->leaf(leaf).num_rows; ++position) {
        const Row row = read_row(*snapshot, leaf * stride + position);
        table.ids.push_back(row.id);
        for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(row.values[i]);
        for (std::size_t f = 0; f < fields.size(); ++f) fields[f].add(row.fields[f]);
        if (!first.has_labels) continue;
        table.labels.bytes.insert(table.labels.bytes.end(), row.label.begin(), row.label.end());
        table.labels.offsets.push_back(table.labels.bytes.size());
      }
  }
  table.num_rows = table.ids.size();
  table.storage.resize(columns.size() + fields.size());
  table.validities.resize(columns.size() + fields.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    table.columns.emplace_back(table.storage[i].emplace<std::vector<double>>(std::move(columns[i])));
  table.field_columns.resize(fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) fields[f].move_to(table.fields[f], table, f);
  return table;
}

}  // namespace culmen
