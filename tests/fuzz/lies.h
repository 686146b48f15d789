// Lies: inconsistent changes of a whole row, leaf or node that pass the checks that a changed byte would fail. Rows out
// of order, duplicate ids, false bounds and smallest ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "index/storage/manifest.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::fuzz {

enum class Lie : std::uint8_t {
  swapped_rows,
  swapped_leaves,
  repeated_id,
  repeated_row,
  reversed_leaf,
  bounds,
  smallest_ids,
  next_id,
  units,
  count
};

class Liar {
 public:
  // Changes the manifest and the nodes where they are; the leaves are to be written again.
  Liar(storage::Manifest& manifest, std::vector<storage::LeafRows> leaves, storage::Bytes& nodes)
      : manifest_(manifest), leaves_(std::move(leaves)), nodes_(nodes) {}

  const std::vector<storage::LeafRows>& leaves() const { return leaves_; }

  void tell(Lie lie, std::uint64_t a, std::uint64_t b) {
    if (manifest_.num_leaves == 0) return;
    const std::uint64_t leaf = a % manifest_.num_leaves, other = b % manifest_.num_leaves;
    const std::uint64_t row = a / 8 % rows_of(leaf), other_row = b / 8 % rows_of(other);
    switch (lie) {
      case Lie::swapped_rows:
        for_parts([&](std::size_t part) { swap(part, leaf, row, leaf, other_row % rows_of(leaf)); });
        break;
      case Lie::swapped_leaves:
        for (std::uint64_t r = 0; r < std::min(rows_of(leaf), rows_of(other)); ++r)
          for_parts([&](std::size_t part) { swap(part, leaf, r, other, r); });
        break;
      case Lie::repeated_id:
        std::memcpy(at(kId, other, other_row), at(kId, leaf, row), sizeof(std::int64_t));
        break;
      case Lie::repeated_row:
        for_parts([&](std::size_t part) {
          if (part != kId) std::memcpy(at(part, other, other_row), at(part, leaf, row), bytes_of(part));
        });
        break;
      case Lie::reversed_leaf:
        for (std::uint64_t r = 0; r < rows_of(leaf) / 2; ++r)
          for_parts([&](std::size_t part) { swap(part, leaf, r, leaf, rows_of(leaf) - 1 - r); });
        break;
      case Lie::bounds:
        lie_about_bounds(a, b);
        break;
      case Lie::smallest_ids:
        lie_about_ids(a, b);
        break;
      case Lie::next_id:
        manifest_.next_id = b % 2 == 0 ? std::numeric_limits<std::int64_t>::max() : static_cast<int>(b % 512);
        break;
      default:
        manifest_.units[a % manifest_.units.size()].exponent = static_cast<int>(b % 2000) - 1000;
    }
  }

  // Recomputes what follows from the rows, the smallest ids: only their order or a duplicate id stays wrong.
  void cover_up() {
    const std::uint64_t num_on_first = manifest_.level_nodes.front();
    for (std::uint64_t n = 0; n < manifest_.num_nodes(); ++n) {
      const NodeAccess<std::byte> parent = node(n);
      parent.header().min_id = kNoId;
      for (std::uint32_t c = 0; c < parent.header().num_children; ++c) {
        const std::uint32_t child = parent.children()[c];
        parent.min_ids()[c] = n < num_on_first ? smallest_id(child) : node(child).header().min_id;
        parent.header().min_id = std::min(parent.header().min_id, parent.min_ids()[c]);
      }
    }
  }

 private:
  // Parts of a row: its values, then its id.
  static constexpr std::size_t kId = ~std::size_t{0};

  std::uint64_t rows_of(std::uint64_t leaf) { return leaves_[leaf].record.num_rows; }
  std::size_t bytes_of(std::size_t part) const {
    return part == kId ? sizeof(std::int64_t) : manifest_.value_bytes();
  }
  std::byte* at(std::size_t part, std::uint64_t leaf, std::uint64_t row) {
    if (part == kId) return reinterpret_cast<std::byte*>(&leaves_[leaf].ids[row]);
    return leaves_[leaf].values.data() + (part * manifest_.leaf_shape().leaf_rows + row) * bytes_of(part);
  }
  template <typename F>
  void for_parts(F&& f) {
    for (std::size_t i = 0; i < manifest_.attributes.size(); ++i) f(i);
    f(kId);
  }
  void swap(std::size_t part, std::uint64_t leaf, std::uint64_t row, std::uint64_t other,
            std::uint64_t other_row) {
    std::swap_ranges(at(part, leaf, row), at(part, leaf, row) + bytes_of(part), at(part, other, other_row));
  }
  std::int64_t smallest_id(std::uint64_t leaf) {
    const std::vector<std::int64_t>& ids = leaves_[leaf].ids;
    return *std::min_element(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(rows_of(leaf)));
  }

  std::uint64_t node_bytes() const {
    return storage::NodeSections(manifest_.leaf_shape(), manifest_.layout).payload_bytes();
  }
  NodeAccess<std::byte> node(std::uint64_t number) {
    return {nodes_.data() + storage::fixed_extent(number, node_bytes(), 0).offset +
            sizeof(storage::FrameHeader)};
  }

  void lie_about_bounds(std::uint64_t a, std::uint64_t b) {
    constexpr float kBases[] = {0, -1, 1, -0x1p101f, 0x1p101f, -HUGE_VALF, HUGE_VALF, 0x1p-149f};
    constexpr float kSignedLeast[] = {0, 0x1p-149f, 0x1p-20f, -0x1p-20f, 1, -1, 0x1p99f, -0x1p99f};
    const NodeAccess<std::byte> changed = node(a % manifest_.num_nodes());
    const auto num_rows =
        static_cast<std::size_t>(BoundLayout(static_cast<int>(manifest_.attributes.size())).num_rows());
    for (std::size_t row = b % 3 == 0 ? 0 : b / 512 % num_rows; row < num_rows;
         row += b % 3 == 0 ? 1 : num_rows) {
      BoundRow& bounds = changed.bounds()[row];
      if (b % 5 < 2) bounds.base = kBases[b / 8 % 8];
      if (b % 5 % 2 == 0)
        bounds.scale = std::bit_cast<std::uint32_t>(kSignedLeast[b / 64 % 8]) |
                       (b / 16 & BoundRow::kGapBits) | (b / 16 & BoundRow::kLinear);
      if (b % 5 != 1) bounds.codes[b / 64 % kFanOut] = static_cast<std::uint8_t>(b / 4096);
    }
  }

  void lie_about_ids(std::uint64_t a, std::uint64_t b) {
    const NodeAccess<std::byte> changed = node(a % manifest_.num_nodes());
    std::int64_t& id = changed.min_ids()[b / 64 % changed.header().num_children];
    id = b % 3 == 0 ? kNoId : static_cast<std::int64_t>(static_cast<std::uint64_t>(id) - b % 64);
  }

  storage::Manifest& manifest_;
  std::vector<storage::LeafRows> leaves_;
  storage::Bytes& nodes_;
};

}  // namespace culmen::fuzz
