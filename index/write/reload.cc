#include "index/write/reload.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "base/ids.h"
#include "index/build/bulk_load.h"

namespace culmen {
namespace {

// The rows as a user's table. Values are copied as stored, without a change of sign: an attribute of Preference::low is
// loaded as a high one, and gets its preference back in the end.
template <typename T>
struct Rows {
  std::vector<std::vector<T>> columns;
  std::vector<std::int64_t> ids;
  Labels labels;

  explicit Rows(std::size_t num_attributes) : columns(num_attributes) { labels.offsets.push_back(0); }

  void add_label(std::string_view label) {
    labels.bytes.insert(labels.bytes.end(), label.begin(), label.end());
    labels.offsets.push_back(labels.bytes.size());
  }

  void add_leaf(const Snapshot& s, std::uint32_t leaf, const IdSet& without) {
    const std::int64_t* leaf_ids = s.leaf_ids(leaf);
    const T* values = s.leaf_values<T>(leaf);
    const auto slots = static_cast<std::size_t>(s.leaf_rows);
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      if (!without.empty() && without.count(leaf_ids[r]) > 0) continue;
      ids.push_back(leaf_ids[r]);
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(values[i * slots + r]);
      if (s.has_labels) add_label(s.arena->label(leaf, r));
    }
  }

  void add_change(const Snapshot& s, const Change& change) {
    for (std::size_t r = 0; r < change.num_rows(); ++r) {
      ids.push_back(change.ids[r]);
      if (s.has_labels) add_label(change.label(r));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const T* values = reinterpret_cast<const T*>(change.value(0, i, sizeof(T)));
      columns[i].insert(columns[i].end(), values, values + change.num_rows());
    }
  }

  TableView view(const Snapshot& s) const {
    TableView table{ids.size(), s.attributes, {}, ids, s.has_labels ? labels.view() : LabelsView{}};
    for (Attribute& attribute : table.attributes) attribute.preference = Preference::high;
    for (const std::vector<T>& column : columns) table.columns.emplace_back(column);
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
  const IdSet removed(change.removed.begin(), change.removed.end());
  std::shared_ptr<Snapshot> loaded = visit_value_type(s, [&]<typename T>(T) {
    Rows<T> rows(s.attributes.size());
    for (const std::uint32_t leaf : leaves) rows.add_leaf(s, leaf, removed);
    rows.add_change(s, change);
    return bulk_load(rows.view(s), options_of(s));
  });
  IndexMetadata metadata = s.metadata();
  metadata.row_metadata() = loaded->row_metadata();
  metadata.rounded_values += change.rounded_values;
  metadata.next_id = std::max(metadata.next_id, change.next_id);
  loaded->metadata() = std::move(metadata);
  return loaded;
}

}  // namespace culmen
