// A tree under test and a std::map with the rows that it should hold.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "index/build/bulk_load.h"
#include "index/verify.h"
#include "index/write/tree_writer.h"
#include "tests/generators.h"

namespace culmen::test {

using ModelRow = std::vector<double>;

struct TreeShape {
  int num_attributes = 3;
  int leaf_rows = 16;
  Partitioning partitioning = Partitioning::angle;
  int num_partitions = 0;
  bool labels = false;
};

// Folds the steps of a batch into one change.
class ChangeMaker {
 public:
  explicit ChangeMaker(const std::map<std::int64_t, ModelRow>& rows) : rows_(rows) {}

  void erase(std::int64_t id) {
    if (added_.erase(id) > 0) return;
    if (rows_.count(id) > 0) removed_[id] = true;
  }
  void upsert(std::int64_t id, ModelRow row) {
    if (rows_.count(id) > 0) removed_[id] = true;
    added_[id] = std::move(row);
  }

  Change make(int num_attributes, bool labels) const {
    Change change;
    change.next_id = kNextId;
    for (const auto& [id, unused] : removed_) change.removed.push_back(id);
    std::vector<float> values(added_.size() * static_cast<std::size_t>(num_attributes));
    std::size_t row = 0;
    for (const auto& [id, values_of_row] : added_) {
      change.ids.push_back(id);
      change.next_id = std::max(change.next_id, id_after(id));
      for (std::size_t i = 0; i < values_of_row.size(); ++i)
        values[i * added_.size() + row] = static_cast<float>(values_of_row[i]);
      if (labels) {
        const std::string label = label_of(id);
        change.label_text.insert(change.label_text.end(), label.begin(), label.end());
        change.label_ends.push_back(change.label_text.size());
      }
      ++row;
    }
    const auto bytes = std::as_bytes(std::span(values));
    change.values.assign(bytes.begin(), bytes.end());
    return change;
  }

  void apply_to(std::map<std::int64_t, ModelRow>& rows) const {
    for (const auto& [id, unused] : removed_) rows.erase(id);
    for (const auto& [id, row] : added_) rows[id] = row;
  }

  static constexpr std::int64_t kNextId = std::int64_t{1} << 40;  // above all ids of the tests
  static std::string label_of(std::int64_t id) { return "row " + std::to_string(id); }

 private:
  const std::map<std::int64_t, ModelRow>& rows_;
  std::map<std::int64_t, bool> removed_;
  std::map<std::int64_t, ModelRow> added_;
};

inline std::shared_ptr<const Snapshot> load_tree(const std::map<std::int64_t, ModelRow>& rows,
                                                 const TreeShape& shape) {
  std::vector<std::vector<float>> columns(static_cast<std::size_t>(shape.num_attributes));
  std::vector<std::int64_t> ids;
  Labels labels;
  labels.offsets.push_back(0);
  for (const auto& [id, row] : rows) {
    ids.push_back(id);
    for (std::size_t i = 0; i < row.size(); ++i) columns[i].push_back(static_cast<float>(row[i]));
    const std::string label = ChangeMaker::label_of(id);
    labels.bytes.insert(labels.bytes.end(), label.begin(), label.end());
    labels.offsets.push_back(labels.bytes.size());
  }
  TableView table{rows.size(), {}, {}, ids, shape.labels ? labels.view() : LabelsView{}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    table.attributes.push_back({std::string("a").append(std::to_string(i)), Preference::high});
    table.columns.emplace_back(columns[i]);
  }
  return bulk_load(table, {.partitioning = shape.partitioning,
                           .num_partitions = shape.num_partitions,
                           .leaf_rows = shape.leaf_rows,
                           .value_type = ValueType::float32});
}

// Empty if the snapshot holds exactly these rows, verify finds no fault, and the smallest ids of nodes are exact.
// Searches would accept smaller ones.
inline std::string fault_in(const Snapshot& s, const std::map<std::int64_t, ModelRow>& rows) {
  const std::vector<std::string> faults = verify_snapshot(s, true);
  if (!faults.empty()) return faults.front();
  for (const std::uint32_t slot : s.order().nodes) {
    const NodeRef node = s.node(slot);
    if (*std::min_element(node.min_ids(), node.min_ids() + node.header().num_children) !=
        node.header().min_id)
      return "the smallest id of a node";
  }
  if (s.num_rows != rows.size()) return "the number of rows";
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      const std::int64_t id = s.leaf_ids(leaf)[r];
      const auto row = rows.find(id);
      if (row == rows.end()) return "id " + std::to_string(id) + " should not be there";
      const std::uint64_t position = leaf * static_cast<std::uint64_t>(s.leaf_rows) + r;
      for (int i = 0; i < s.num_attributes(); ++i)
        if (s.value(position, i) != row->second[static_cast<std::size_t>(i)])
          return "a value of id " + std::to_string(id);
      if (s.has_labels && s.label(position) != ChangeMaker::label_of(id))
        return "the label of id " + std::to_string(id);
    }
  return "";
}

}  // namespace culmen::test
