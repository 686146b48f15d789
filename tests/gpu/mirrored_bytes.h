// What a mirror has of a snapshot for predicates and functions, in the host's memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "gpu/mirror/filter_bytes.h"
#include "gpu/mirror/leaf_columns.h"
#include "gpu/search/predicate.h"
#include "index/snapshot.h"
#include "index/snapshot_fields.h"

namespace culmen::test {

// Bytes at an address that is aligned to 8, in memory that ends with them.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::span<const std::byte> bytes) : words_(bytes.size() / sizeof(std::uint64_t)) {
    EXPECT_EQ(bytes.size() % sizeof(std::uint64_t), 0U);
    if (!bytes.empty()) std::memcpy(words_.data(), bytes.data(), bytes.size());
  }
  // Null: there are none.
  const std::byte* get() const {
    return words_.empty() ? nullptr : reinterpret_cast<const std::byte*>(words_.data());
  }

 private:
  std::vector<std::uint64_t> words_;
};

// What a mirror has of the leaves, by slot: of every second one packed rows.
class MirroredLeaves {
 public:
  explicit MirroredLeaves(const Snapshot& s)
      : snapshot_(s), fields_(s.arena->leaf_slots()), packed_(s.arena->leaf_slots()) {
    for (const std::uint32_t leaf : s.order().leaves) {
      const LeafFields fields = s.leaf_fields(leaf);
      if (!fields.empty()) fields_[leaf] = AlignedBytes({fields.data(), gpu::filter_bytes(fields)});
      std::vector<std::byte> bytes;
      gpu::pack_leaf(s, leaf, bytes);
      if (leaf % 2 == 0) packed_[leaf] = AlignedBytes(bytes);
    }
  }

  // Calls use with the gpu::TestedLeaf of a leaf of values of T.
  template <typename T, typename Use>
  decltype(auto) test(std::uint32_t leaf, gpu::AttributeBits ranked_gaps, const Use& use) const {
    if (const std::byte* packed = packed_[leaf].get())
      return use(gpu::TestedLeaf<gpu::Packed<T>>{{{packed}}, fields(leaf), ranked_gaps});
    const gpu::LeafColumns<T> rows = {snapshot_.leaf_values<T>(leaf), snapshot_.leaf_ids(leaf),
                                      static_cast<std::uint32_t>(snapshot_.leaf_rows)};
    return use(gpu::TestedLeaf<T>{rows, fields(leaf), ranked_gaps});
  }

 private:
  LeafFields fields(std::uint32_t leaf) const { return LeafFields(fields_[leaf].get()); }

  const Snapshot& snapshot_;
  std::vector<AlignedBytes> fields_, packed_;
};

inline gpu::TestedChild tested_child(const Snapshot& s, std::uint32_t slot, std::uint32_t child,
                                     gpu::AttributeBits ranked_gaps) {
  const std::byte* zones = s.arena->child_zones(slot).bytes();
  const ChildZonesLayout layout = s.arena->child_zones_layout();
  return {s.node(slot), reinterpret_cast<const ChildGaps*>(zones),
          reinterpret_cast<const ChildZones*>(zones + layout.zones_offset()), ranked_gaps,
          static_cast<int>(child)};
}

}  // namespace culmen::test
