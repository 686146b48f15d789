// Changes to an index that was read from hostile files: whatever its rows and bounds are, a change succeeds or fails
// with an error.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "index/storage/hash.h"
#include "index/write/change_fold.h"
#include "index/write/tree_writer.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {

// The next number of a row of them that begins with what `state` was.
inline std::uint64_t next_random(std::uint64_t& state) {
  return state = storage::checksum_of(std::as_bytes(std::span(&state, 1)));
}

// The fields of some rows: few different values, and missing ones.
inline std::vector<FieldChange> some_fields(const std::vector<Field>& fields, std::size_t num_rows,
                                            std::uint64_t& random) {
  constexpr std::array<std::string_view, 5> kTexts = {"", "text 7", "text 1", "a new text", "\xff"};
  std::vector<FieldChange> changes;
  for (const Field& field : fields) {
    FieldChangeBuilder rows(field);
    for (std::size_t r = 0; r < num_rows; ++r) {
      const std::uint64_t draw = next_random(random);
      if (draw % 8 == 0) {
        rows.add_missing();
      } else if (field.is_text()) {
        rows.add_text(kTexts[draw / 8 % kTexts.size()]);
      } else {
        rows.add_key(field.format.type == ColumnType::boolean ? 1
                                                              : static_cast<std::int64_t>(draw / 8 % 4096));
      }
    }
    changes.push_back(rows.take());
  }
  return changes;
}

class SomeChange {
 public:
  SomeChange(const Snapshot& s, std::uint64_t& random) : s_(s), random_(random) {}

  // Erases, changes and inserts some rows. Values are those of existing rows, and sometimes the largest or smallest.
  Change make(const TreeWriter& tree) {
    const std::uint64_t num_steps = 1 + next_random(random_) % 24;
    const std::uint64_t kind = next_random(random_) % 4;  // mostly one kind: leaves that grow or get empty
    for (std::uint64_t step = 0; step < num_steps; ++step) {
      const std::uint64_t draw = next_random(random_);
      const std::int64_t known = s_.num_leaves > 0 ? id_of_some_row(draw) : 0;
      const auto unknown = static_cast<std::int64_t>(draw % 4096);
      const bool is_new = draw % 8 == 0 ? kind % 2 == 0 : kind != 0;
      const std::int64_t id = is_new ? unknown : known;
      if (!ids_.insert(id).second) continue;
      const bool is_there = tree.contains(id);
      if (is_there) change_.removed.push_back(id);
      if (!is_there || draw % 3 == 0) change_.ids.push_back(id);
    }
    add_values();
    if (!change_.ids.empty()) change_.fields = some_fields(s_.fields, change_.ids.size(), random_);
    change_.next_id = s_.next_id;
    for (const std::int64_t id : change_.ids)
      if (id >= change_.next_id && id < std::numeric_limits<std::int64_t>::max()) change_.next_id = id + 1;
    return change_;
  }

 private:
  std::uint64_t some_row(std::uint64_t draw) const {
    const auto number = static_cast<std::uint32_t>(draw / 64 % s_.num_leaves);
    const std::uint32_t leaf =  // the order reads all
        s_.filed_tree == nullptr ? s_.order().leaves[number] : number;
    return leaf * static_cast<std::uint64_t>(s_.leaf_rows) + draw / 4096 % s_.leaf(leaf).num_rows;
  }
  std::int64_t id_of_some_row(std::uint64_t draw) const { return s_.id(some_row(draw)); }

  void add_values() {
    std::vector<std::uint64_t> like;  // the row whose values each one copies
    for (std::size_t r = 0; r < change_.ids.size(); ++r) like.push_back(next_random(random_));
    for (int i = 0; i < s_.num_attributes(); ++i)
      for (const std::uint64_t draw : like) {
        double value = s_.num_leaves > 0 ? s_.value(some_row(draw), i) : static_cast<double>(draw % 100);
        if (draw % 16 == 0) value = draw % 32 == 0 ? 1e30 : -1e30;
        if (draw % 16 == 1) value = 0;
        if (draw % 16 == 2 && may_miss(i)) value = std::numeric_limits<double>::quiet_NaN();
        add_value(value);
      }
    if (!s_.has_labels) return;
    for (const std::uint64_t draw : like) {
      change_.label_text.insert(change_.label_text.end(), draw % 7, 'x');
      change_.label_ends.push_back(change_.label_text.size());
    }
  }
  bool may_miss(int attribute) const {
    return s_.attributes[static_cast<std::size_t>(attribute)].stand_in != StandIn::refuse;
  }

  void add_value(double value) {
    const auto narrow = static_cast<float>(value);
    const auto bytes = s_.value_type == ValueType::float32 ? std::as_bytes(std::span(&narrow, 1))
                                                           : std::as_bytes(std::span(&value, 1));
    change_.values.insert(change_.values.end(), bytes.begin(), bytes.end());
  }

  const Snapshot& s_;
  std::uint64_t& random_;
  Change change_;
  std::set<std::int64_t> ids_;
};

// A few batches. Returns the last version.
inline std::shared_ptr<const Snapshot> write_some(std::shared_ptr<const Snapshot> snapshot,
                                                  std::uint64_t random) {
  TreeWriter tree(snapshot);
  for (std::uint64_t left = 1 + random % 2; left > 0; --left) {
    ChangeFold fold(
        snapshot->leaf_shape(), snapshot->next_id, [&tree](std::int64_t id) { return tree.contains(id); },
        snapshot->fields);
    Change change = SomeChange(*snapshot, random).make(tree);
    if (change.removed.empty() && change.ids.empty()) continue;
    const std::uint64_t num_rows = snapshot->num_rows + change.ids.size() - change.removed.size();
    fold.add(std::move(change));
    tree.apply(fold.fold());
    snapshot = tree.finish_version(snapshot->version + 1);
    require(snapshot->num_rows == num_rows, "the number of rows");
  }
  return snapshot;
}

}  // namespace culmen::fuzz
