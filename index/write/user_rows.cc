#include "index/write/user_rows.h"

#include <algorithm>
#include <limits>
#include <string>
#include <variant>

#include "index/build/partition_cuts.h"
#include "index/field_key.h"
#include "index/read_session.h"

namespace culmen {

// ---- UserField

void UserField::add(const LeafFields& fields, const LeafTexts& texts, std::size_t f, std::size_t row,
                    const Dictionary* dictionary) {
  if (fields.misses_field(f, row)) {
    add_missing();
  } else if (is_stored_text(field_)) {
    add_text(texts.text(f, row));
  } else if (dictionary != nullptr) {
    add_text((*dictionary)[static_cast<std::uint32_t>(fields.key(f, row))]);
  } else {
    add_key(fields.key(f, row));
  }
}

void UserField::add(const FieldChange& change, std::size_t row) {
  if (change.is_missing(row)) {
    add_missing();
  } else if (field_.is_text()) {
    add_text(change.text_at(change.keys.empty() ? row : static_cast<std::size_t>(change.keys[row])));
  } else {
    add_key(change.keys[row]);
  }
}

void UserField::add(const FieldValue& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) return add_text(*text);
  if (const std::int64_t* key = std::get_if<std::int64_t>(&value)) return add_key(*key);
  const double* number = std::get_if<double>(&value);
  if (number == nullptr) return add_missing();
  doubles_.push_back(*number);
  end_row(true);
}

void UserField::add(const UserField& other, std::size_t row) {
  const bool is_present = other.validity_.empty() || (other.validity_[row / 8] >> row % 8 & 1) != 0;
  if (!is_present) {
    add_missing();
  } else if (field_.is_text()) {
    const std::uint64_t start = other.offsets_[row];
    add_text({other.text_.data() + start, static_cast<std::size_t>(other.offsets_[row + 1] - start)});
  } else if (field_.format.type == ColumnType::floating) {
    doubles_.push_back(other.doubles_[row]);
    end_row(true);
  } else {
    add_key(other.integers_[row]);
  }
}

FieldView UserField::view() const {
  const Validity validity = {validity_.empty() ? nullptr : validity_.data()};
  if (field_.is_text()) return TextView{{text_, offsets_}, validity};
  ColumnView column =
      field_.format.type == ColumnType::floating ? ColumnView(doubles_) : ColumnView(integers_);
  column.validity = validity;
  return column;
}

void UserField::add_key(std::int64_t key) {
  if (field_.format.type == ColumnType::floating) {
    doubles_.push_back(double_of_key(key));
  } else {
    integers_.push_back(key);
  }
  end_row(true);
}

void UserField::add_text(std::string_view text) {
  text_.insert(text_.end(), text.begin(), text.end());
  offsets_.push_back(text_.size());
  end_row(true);
}

void UserField::add_missing() {
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
void UserField::end_row(bool is_present) {
  if (!is_present || !validity_.empty()) validity_.resize(num_rows_ / 8 + 1, 0xff);
  if (!is_present) validity_.back() &= static_cast<std::uint8_t>(~(1U << num_rows_ % 8));
  ++num_rows_;
}

// ---- UserRows

template <typename T>
UserRows<T>::UserRows(IndexMetadata columns, const std::shared_ptr<ArrayMemory>& memory)
    : like_(std::move(columns)),
      columns_(like_.attributes.size(), Array<T>(memory)),
      ids_(memory),
      labels_{Array<char>(memory), Array<std::uint64_t>(1, memory)} {
  for (const Field& field : like_.fields) fields_.emplace_back(field, memory);
}

template <typename T>
void UserRows<T>::reserve(std::size_t num_rows) {
  for (Array<T>& column : columns_) column.reserve(num_rows);
  ids_.reserve(num_rows);
}

template <typename T>
void UserRows<T>::add_label(std::string_view label) {
  labels_.append(label);
}

template <typename T>
void UserRows<T>::add_column(const T* values, std::span<const std::uint32_t> positions,
                             std::size_t attribute) {
  const Preference preference = like_.attributes[attribute].preference;
  for (const std::uint32_t r : positions)
    columns_[attribute].push_back(static_cast<T>(oriented(values[r], preference)));
}

template <typename T>
void UserRows<T>::add_rows(const Snapshot& s, std::uint32_t leaf, std::span<const std::uint32_t> positions) {
  const std::size_t first = ids_.size();
  const std::int64_t* leaf_ids = s.leaf_ids(leaf);
  for (const std::uint32_t r : positions) ids_.push_back(leaf_ids[r]);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    add_column(s.leaf_values<T>(leaf) + i * static_cast<std::size_t>(s.leaf_rows), positions, i);
  const LeafFields leaf_fields = s.leaf_fields(leaf);
  for (const AttributeGaps& gaps : leaf_fields.gaps())
    for (std::size_t n = 0; n < positions.size(); ++n)
      if (leaf_fields.misses_attribute(gaps.attribute, positions[n]))
        columns_[gaps.attribute][first + n] = std::numeric_limits<T>::quiet_NaN();
  if (s.has_labels)
    for (const std::uint32_t r : positions) add_label(s.arena->label(leaf, r));
  const LeafTexts texts = s.leaf_texts(leaf);
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    const Dictionary* dictionary = has_dictionary(s.fields[f]) ? s.dictionaries[f].get() : nullptr;
    for (const std::uint32_t r : positions) fields_[f].add(leaf_fields, texts, f, r, dictionary);
  }
}

template <typename T>
void UserRows<T>::add_rows(const Change& change) {
  ids_.insert(ids_.end(), change.ids.begin(), change.ids.end());
  for (std::size_t r = 0; r < change.num_rows(); ++r) {
    if (like_.has_labels) add_label(change.label(r));
    for (std::size_t f = 0; f < fields_.size(); ++f) fields_[f].add(change.fields[f], r);
  }
  for (std::size_t i = 0; i < columns_.size() && change.num_rows() > 0; ++i) {
    const T* values = reinterpret_cast<const T*>(change.value(0, i, sizeof(T)));
    const Preference preference = like_.attributes[i].preference;
    const auto first = columns_[i].insert(columns_[i].end(), values, values + change.num_rows());
    if (preference == Preference::low)
      std::transform(first, columns_[i].end(), first,
                     [&](T value) { return static_cast<T>(oriented(value, preference)); });
  }
}

template <typename T>
void UserRows<T>::add_rows(const UserRows& other, std::span<const std::uint32_t> rows) {
  reserve(num_rows() + rows.size());
  for (const std::uint32_t row : rows) {
    ids_.push_back(other.ids_[row]);
    if (like_.has_labels) add_label(other.labels_.view()[row]);
    for (std::size_t f = 0; f < fields_.size(); ++f) fields_[f].add(other.fields_[f], row);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i)
    for (const std::uint32_t row : rows) columns_[i].push_back(other.columns_[i][row]);
}

template <typename T>
TableView UserRows<T>::view() const {
  TableView table{ids_.size(), like_.attributes, {}, ids_, like_.has_labels ? labels_.view() : LabelsView{}};
  for (const Array<T>& column : columns_) table.columns.emplace_back(column);
  table.fields = like_.fields;
  for (const UserField& field : fields_) table.field_views.push_back(field.view());
  table.id_name = like_.id_name;
  table.label_name = like_.label_name;
  table.id_type = like_.id_type;
  return table;
}

template <typename T>
void add_all_but(std::span<const std::int64_t> ids, const Snapshot& tree, UserRows<T>& rows) {
  ReadSession session(tree);
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t leaf : tree.order().leaves) {
    kept.clear();
    for (std::uint32_t r = 0; r < tree.leaf(leaf).num_rows; ++r)
      if (!std::binary_search(ids.begin(), ids.end(), tree.leaf_ids(leaf)[r])) kept.push_back(r);
    rows.add_rows(tree, leaf, kept);
    session.rest();
  }
}

template class UserRows<float>;
template class UserRows<double>;
template void add_all_but(std::span<const std::int64_t>, const Snapshot&, UserRows<float>&);
template void add_all_but(std::span<const std::int64_t>, const Snapshot&, UserRows<double>&);

BuildOptions build_options_of(const IndexMetadata& s) {
  BuildOptions options;
  options.partitioning = s.partitioner->kind();
  options.row_order = s.partitioner->row_order();
  if (lacks_shells(*s.partitioner)) options.shells = Shells::none;
  options.cluster = s.cluster_name();
  options.leaf_rows = s.leaf_rows;
  options.value_type = s.value_type;
  for (std::size_t i = 0; i < s.stand_ins.size(); ++i)
    options.stand_ins.push_back(oriented(s.stand_ins[i], s.attributes[i].preference));
  if (s.quantiles != nullptr) options.quantiles = *s.quantiles;
  return options;
}

}  // namespace culmen
