// The groups of rows that share a value of a column (Query::per).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace culmen {

struct Snapshot;

// The value of a row in the column: its bits. Rows without one are a group, too.
struct GroupKey {
  std::int64_t value = 0;
  bool is_missing = false;

  friend bool operator==(const GroupKey&, const GroupKey&) = default;
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct GroupKeyHash {
  std::size_t operator()(const GroupKey& key) const {
    return std::hash<std::int64_t>{}(key.value) + (key.is_missing ? 1 : 0);
  }
};

using GroupCounts = std::unordered_map<GroupKey, std::size_t, GroupKeyHash>;  // of rows

// A column whose values divide rows into groups.
struct ResolvedGroups {
  bool is_attribute = false;
  std::int32_t column = 0;          // among the attributes or the fields
  std::size_t most = 1;             // rows of each group
  std::vector<GroupKey> full = {};  // ascending; whose rows are left out

  GroupKey of(const Snapshot& snapshot, std::uint64_t row) const;
};

}  // namespace culmen
