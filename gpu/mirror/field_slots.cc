#include "gpu/mirror/field_slots.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "gpu/mirror/filter_bytes.h"
#include "index/read_session.h"
#include "index/snapshot_fields.h"

namespace culmen::gpu {
namespace {

// The LeafFields of some leaves one after the other.
class Gathered {
 public:
  Gathered(const Snapshot& snapshot, std::span<const std::uint32_t> leaves)
      : snapshot_(snapshot), leaves_(leaves) {
    starts_.reserve(leaves.size() + 1);
    starts_.push_back(0);
    ReadSession session(snapshot);
    for (const std::uint32_t slot : leaves) {
      session.rest();
      starts_.push_back(starts_.back() + filter_bytes(snapshot.leaf_fields(slot)));
    }
  }

  std::size_t num_bytes() const { return starts_.back(); }
  std::size_t start(std::size_t i) const { return starts_[i]; }
  std::uint32_t bytes_of(std::size_t i) const {
    return static_cast<std::uint32_t>(starts_[i + 1] - starts_[i]);
  }

  // Copies the bytes from `first` on.
  void copy(std::size_t first, std::span<std::byte> to) const {
    constexpr std::size_t kGrain = 16;
    const std::size_t end = first + to.size();
    const auto leaf_at = [this](std::size_t byte) {
      return static_cast<std::size_t>(std::ranges::upper_bound(starts_, byte) - starts_.begin()) - 1;
    };
    const tbb::blocked_range<std::size_t> leaves(leaf_at(first),
                                                 std::min(leaf_at(end - 1) + 1, leaves_.size()), kGrain);
    tbb::parallel_for(leaves, [&](const tbb::blocked_range<std::size_t>& range) {
      ReadSession session(snapshot_);
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        session.rest();
        const std::span<const std::byte> bytes = snapshot_.leaf_fields(leaves_[i]).bytes();
        const std::size_t begin = std::max(first, starts_[i]);
        const std::size_t after = std::min({end, starts_[i + 1], starts_[i] + bytes.size()});
        if (begin < after)
          std::memcpy(to.data() + (begin - first), bytes.data() + (begin - starts_[i]), after - begin);
      }
    });
  }

 private:
  const Snapshot& snapshot_;
  std::span<const std::uint32_t> leaves_;
  std::vector<std::size_t> starts_;
};

}  // namespace

bool FieldSlots::are_needed(const Snapshot& snapshot) {
  const auto is_filter = [](const Field& field) { return field.role == FieldRole::filter; };
  return snapshot.height > 0 &&
         (!attributes_with_gaps(snapshot).empty() || std::ranges::any_of(snapshot.fields, is_filter));
}

FieldBytes FieldSlots::bytes_of(const Snapshot& snapshot, const SlotCounts& slots) {
  if (!are_needed(snapshot)) return {};
  FieldBytes bytes;
  ReadSession session(snapshot);
  for (const std::uint32_t slot : snapshot.order().leaves) {
    session.rest();
    bytes.leaves += filter_bytes(snapshot.leaf_fields(slot));
  }
  if (slots.leaves < snapshot.leaf_slots)  // a part, about
    bytes.leaves = bytes.leaves / snapshot.leaf_slots * slots.leaves;
  bytes.leaves += slots.leaves * sizeof(const std::byte*);
  bytes.nodes = slots.nodes * snapshot.arena->child_zones_layout().node_bytes();
  return bytes;
}

FieldSlots::FieldSlots(const Snapshot& snapshot, const SlotCounts& slots, bool leaves_on_host)
    : node_bytes_(snapshot.arena->child_zones_layout().node_bytes()),
      addresses_(slots.leaves * sizeof(const std::byte*),
                 snapshot.arena->leaf_capacity() * sizeof(const std::byte*), cuda::Memory::device),
      child_zones_(slots.nodes * node_bytes_, snapshot.arena->node_capacity() * node_bytes_,
                   cuda::Memory::device),
      chunks_(leaves_on_host ? cuda::Memory::pinned : cuda::Memory::device) {}

bool FieldSlots::grow(const SlotCounts& slots) {
  return addresses_.grow(slots.leaves * sizeof(const std::byte*)) &&
         child_zones_.grow(slots.nodes * node_bytes_);
}

std::size_t FieldSlots::write(const Snapshot& snapshot, std::span<const std::uint32_t> leaves,
                              std::span<const std::uint32_t> nodes, const ShardMap* map, Uploader& uploader) {
  const Gathered gathered(snapshot, leaves);
  std::byte* memory = gathered.num_bytes() == 0 ? nullptr : chunks_.take(gathered.num_bytes());
  if (memory != nullptr && chunks_.are_on_host()) {
    gathered.copy(0, {memory, gathered.num_bytes()});
  } else if (memory != nullptr) {
    uploader.send(
        gathered.num_bytes(),
        [&](std::size_t first, std::span<std::byte> piece) { gathered.copy(first, piece); }, memory);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) chunks_.count(leaves[i], gathered.bytes_of(i));
  uploader.scatter(
      slots_on_device(leaves, map == nullptr ? nullptr : &map->leaves()), sizeof memory,
      [&](std::size_t i, std::byte* to) {
        const std::byte* address = gathered.bytes_of(i) == 0 ? nullptr : memory + gathered.start(i);
        std::memcpy(to, &address, sizeof address);
      },
      addresses_.data());
  uploader.scatter(
      slots_on_device(nodes, map == nullptr ? nullptr : &map->nodes()), node_bytes_,
      [&](std::size_t i, std::byte* to) {
        const ReadSession session(snapshot);
        if (map == nullptr) {
          std::memcpy(to, snapshot.arena->child_zones(nodes[i]).bytes(), node_bytes_);
        } else {
          map->write_child_zones(snapshot, nodes[i], to);
        }
      },
      child_zones_.data());
  return gathered.num_bytes() + leaves.size() * sizeof memory + nodes.size() * node_bytes_;
}

std::size_t FieldSlots::device_bytes() const {
  return addresses_.size() + child_zones_.size() + chunks_.device_bytes();
}

}  // namespace culmen::gpu
