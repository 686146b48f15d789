#include "index/write/reload.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "base/ids.h"
#include "index/build/bulk_load.h"
#include "index/field_key.h"

namespace culmen {
namespace {

// A field's column, row by row.
class ReloadedField {
 public:
  ReloadedField(const Field& field, const Dictionary* dictionary) : field_(field), dictionary_(dictionary) {}

  void add(const LeafFields& fields, std::size_t f, std::size_t row) {
    if (fields.misses_field(f, row)) {
      add_missing();
    } else if (is_stored_text(field_)) {
      add_text(fields.text(f, row));
    } else if (dictionary_ != nullptr) {
      add_text((*dictionary_)[static_cast<std::uint32_t>(fields.key(f, row))]);
    } else {
      add_key(fields.key(f, row));
    }
  }

  void add(const FieldChange& change, std::size_t row) {
    if (change.is_missing(row)) {
      add_missing();
    } else if (field_.is_text()) {
      add_text(change.text_at(change.keys.empty() ? row : static_cast<std::size_t>(change.keys[row])));
    } else {
      add_key(change.keys[row]);
    }
  }

  FieldView view() const {
    const Validity validity = {validity_.empty() ? nullptr : validity_.data()};
    if (field_.is_text()) return TextView{{text_, offsets_}, validity};
    ColumnView column =
        field_.format.type == ColumnType::floating ? ColumnView(doubles_) : ColumnView(integers_);
    column.validity = validity;
    return column;
  }

 private:
  void add_key(std::int64_t key) {
    if (field_.format.type == ColumnType::floating) {
      doubles_.push_back(double_of_key(key));
    } else {
      integers_.push_back(key);
    }
    end_row(true);
  }
  void add_text(std::string_view text) {
    text_.insert(text_.end(), text.begin(), text.end());
    offsets_.push_back(text_.size());
    end_row(true);
  }
  void add_missing() {
    if (field_.is_text()) {
      offsets_.push_back(text_.size());
    } else if (field_.format.type == ColumnType::floating) {
      doubles_.push_back(0);
    } else {
      integers_.push_back(0);
    }
    end_row(false);
  }
  // Has no bitmap before the first missing value.
  void end_row(bool is_present) {
    if (!is_present || !validity_.empty()) validity_.resize(num_rows_ / 8 + 1, 0xff);
    if (!is_present) validity_.back() &= static_cast<std::uint8_t>(~(1U << num_rows_ % 8));
    ++num_rows_;
  }

  const Field& field_;
  const Dictionary* dictionary_;
  std::size_t num_rows_ = 0;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
  std::vector<char> text_;
  std::vector<std::uint64_t> offsets_ = {0};
  std::vector<std::uint8_t> validity_;
};

// The rows as a user's table. Values are copied as stored, without a change of sign, missing ones as NaN: an attribute
// of Preference::low is loaded as a high one, and gets its preference back in the end.
template <typename T>
struct Rows {
  std::vector<std::vector<T>> columns;
  std::vector<std::int64_t> ids;
  Labels labels;
  std::vector<ReloadedField> fields;

  explicit Rows(const Snapshot& s) : columns(s.attributes.size()) {
    labels.offsets.push_back(0);
    for (std::size_t f = 0; f < s.fields.size(); ++f)
      fields.emplace_back(s.fields[f], has_dictionary(s.fields[f]) ? s.dictionaries[f].get() : nullptr);
  }

  void add_label(std::string_view label) {
    labels.bytes.insert(labels.bytes.end(), label.begin(), label.end());
    labels.offsets.push_back(labels.bytes.size());
  }

  void add_leaf(const Snapshot& s, std::uint32_t leaf, const HashedIds& without) {
    const std::int64_t* leaf_ids = s.leaf_ids(leaf);
    const T* values = s.leaf_values<T>(leaf);
    const LeafFields leaf_fields = s.leaf_fields(leaf);
    const auto slots = static_cast<std::size_t>(s.leaf_rows);
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      if (!without.empty() && without.count(leaf_ids[r]) > 0) continue;
      ids.push_back(leaf_ids[r]);
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(values[i * slots + r]);
      for (const AttributeGaps& gaps : leaf_fields.gaps())
        if (leaf_fields.misses_attribute(gaps.attribute, r))
          columns[gaps.attribute].back() = std::numeric_limits<T>::quiet_NaN();
      if (s.has_labels) add_label(s.arena->label(leaf, r));
      for (std::size_t f = 0; f < fields.size(); ++f) fields[f].add(leaf_fields, f, r);
    }
  }

  void add_change(const Snapshot& s, const Change& change) {
    for (std::size_t r = 0; r < change.num_rows(); ++r) {
      ids.push_back(change.ids[r]);
      if (s.has_labels) add_label(change.label(r));
      for (std::size_t f = 0; f < fields.size(); ++f) fields[f].add(change.fields[f], r);
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const T* values = reinterpret_cast<const T*>(change.value(0, i, sizeof(T)));
      columns[i].insert(columns[i].end(), values, values + change.num_rows());
    }
  }

  TableView view(const Snapshot& s) const {
    TableView table{ids.size(), s.attributes, {}, ids, s.has_labels ? labels.view() : LabelsView{}};
    for (Attribute& attribute : table.attributes) {
      attribute.number = oriented(attribute.number, attribute.preference);
      attribute.preference = Preference::high;
    }
    for (const std::vector<T>& column : columns) table.columns.emplace_back(column);
    table.fields = s.fields;
    for (const ReloadedField& field : fields) table.field_views.push_back(field.view());
    return table;
  }
};

// As the user chose them. The number of partitions is chosen again.
BuildOptions options_of(const Snapshot& s) {
  BuildOptions options;
  options.partitioning = s.partitioner->kind();
  options.leaf_rows = s.leaf_rows;
  options.value_type = s.value_type;
  return options;
}

}  // namespace

std::shared_ptr<Snapshot> reload_rows(const Snapshot& s, std::span<const std::uint32_t> leaves,
                                      const Change& change) {
  const FloatingPointScope floating_point;
  const HashedIds removed(change.removed.begin(), change.removed.end());
  std::shared_ptr<Snapshot> loaded = visit_value_type(s, [&]<typename T>(T) {
    Rows<T> rows(s);
    for (const std::uint32_t leaf : leaves) rows.add_leaf(s, leaf, removed);
    rows.add_change(s, change);
    return bulk_load(rows.view(s), options_of(s), s.stand_ins);
  });
  IndexMetadata metadata = s.metadata();
  metadata.row_metadata() = loaded->row_metadata();
  metadata.rounded_values += change.rounded_values;
  metadata.next_id = std::max(metadata.next_id, change.next_id);
  loaded->metadata() = std::move(metadata);
  return loaded;
}

}  // namespace culmen
