#include "gpu/mirror/mirror.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/elapsed.h"
#include "base/lock_isolated.h"
#include "culmen/error.h"
#include "index/logged_rows.h"
#include "index/tree_height.h"

namespace culmen::gpu {
namespace {

using Clock = std::chrono::steady_clock;

// Memory that cannot grow in place gets this part on top when it moves.
constexpr std::size_t kPartOnTop = 4;

// Only a damaged directory has a taller tree; the engines' arrays end at kMaxLevels.
void require_possible_height(const Snapshot& snapshot) {
  if (snapshot.height > kMaxLevels)
    throw FormatError("the tree of this index has " + std::to_string(snapshot.height) + " levels over " +
                      std::to_string(snapshot.num_leaves) + " leaves, where " + std::to_string(kMaxLevels) +
                      " would do for any number: build the index again");
}

// Of a part of an index, without gaps; null: those of the host.
SlotCounts slots_of(const Snapshot& snapshot, const ShardMap* map) {
  if (map == nullptr) return {snapshot.leaf_slots, snapshot.node_slots};
  constexpr std::size_t kAtLeast = 1;  // no memory has no bytes
  return {std::max(kAtLeast, map->leaves().size()), std::max(kAtLeast, map->nodes().size())};
}

}  // namespace

Mirror::Mirror(std::shared_ptr<const Published> index, const DeviceOptions& options, const LoadedTree* loaded,
               const ShardPart& part)
    : index_(std::move(index)), wanted_(options.memory), part_(part) {
  if (loaded != nullptr) {
    state_.arrays = loaded->arrays;
    state_.arena = loaded->arena;
    state_.number = loaded->version;
    state_.lacks_derived = true;
  }
  latest();
}

std::optional<MirrorView> Mirror::view_of(const std::shared_ptr<const Snapshot>& snapshot) const {
  const std::lock_guard lock(state_mutex_);
  if (state_.version == nullptr || !is_same(state_.snapshot, snapshot)) return std::nullopt;
  return MirrorView{state_.version, snapshot};
}

MirrorView Mirror::latest() {
  const std::shared_ptr<const Snapshot> snapshot = index_->get();
  if (std::optional<MirrorView> view = view_of(snapshot)) return *std::move(view);
  RefreshStats stats;
  ChangesOfVersion found;
  return follow(nullptr, stats, found);
}

RefreshStats Mirror::refresh() {
  RefreshStats stats;
  ChangesOfVersion found;
  follow(nullptr, stats, found);
  return stats;
}

MirrorView Mirror::follow(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats,
                          ChangesOfVersion& found) {
  const Clock::time_point start = Clock::now();
  MirrorView view = copy_what_is_new(snapshot, stats, found);
  stats.version = view.snapshot->version;
  stats.elapsed_us = microseconds_since(start);
  return view;
}

// One thread copies. Others that call meanwhile wait for it, and have nothing left to do.
MirrorView Mirror::copy_what_is_new(std::shared_ptr<const Snapshot> snapshot, RefreshStats& stats,
                                    ChangesOfVersion& found) {
  return lock_isolated(refresh_mutex_, [&] {
    if (snapshot == nullptr) snapshot = index_->get();
    if (std::optional<MirrorView> view = view_of(snapshot)) return *std::move(view);
    if (snapshot->logged != nullptr) snapshot->logged->base->require_no_memory_limit();
    State state = make_state(snapshot, stats, found);
    MirrorView view = {state.version, std::move(snapshot)};
    set_state(std::move(state));
    return view;
  });
}

void Mirror::set_state(State state) {
  const std::lock_guard lock(state_mutex_);
  std::swap(state_, state);
}  // destroys the old state after the lock is released

Mirror::State Mirror::make_state(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats,
                                 ChangesOfVersion& found) {
  const Clock::time_point start = Clock::now();
  const Snapshot& s = *snapshot;
  require_possible_height(s);
  State next;
  next.snapshot = snapshot;
  next.arena = s.arena;
  next.number = s.version;
  const cuda::WaitAtEnd wait(uploader_.stream());
  bool has_slots =
      state_.arrays != nullptr && is_same(state_.arena, std::shared_ptr<const SlotArena>(s.arena));
  TreeChanges changes = changes_of_part(s, has_slots, next, found);
  if (has_slots && !state_.arrays->grow(slots_of(s, next.map.get()))) {
    has_slots = false;
    changes = changes_of_part(s, has_slots, next, found);
  }
  if (has_slots) {
    next.arrays = state_.arrays;
  } else if (s.height > 0) {
    next.arrays = make_arrays(s, slots_of(s, next.map.get()));
  }
  stats.find_us = microseconds_since(start);
  if (s.height > 0) send(s, changes, next, stats);
  if (has_slots && state_.lacks_derived) write_derived(s, *next.arrays);
  if (FieldSlots::are_needed(s) || (has_slots && state_.fields != nullptr && s.height > 0))
    next.fields = send_fields(s, changes, has_slots, next, stats);
  std::vector<BoundsSlot> slot_changes;
  if (!changes.level_1.empty()) {
    if (has_slots) next.bounds_slots = state_.bounds_slots;  // a copy: after an error it must be unchanged
    slot_changes = next.bounds_slots.update(changes.level_1);
  }
  const auto version =
      std::make_shared<MirrorVersion>(s, changes.level_1.empty() ? nullptr : next.arrays, next.fields,
                                      next.map, next.bounds_slots.size(), pool_);
  next.version = version;
  write_version(s, slot_changes, *version);
  if (version->has_rows() && version->ref().half.rows != nullptr)
    version->keep_order(s, uploader_.stream().get());
  uploader_.wait();
  next.device_bytes = next.version->has_rows() ? next.version->device_bytes() : 0;
  stats.is_whole = !has_slots;
  stats.copy_us = microseconds_since(start) - stats.find_us;
  return next;
}

// What is new to the device. Of a part, after its map has followed: in place if it has slots, else it is a new one.
TreeChanges Mirror::changes_of_part(const Snapshot& snapshot, bool has_slots, State& next,
                                    ChangesOfVersion& found) const {
  const TreeChanges& changes = found.since(snapshot, has_slots ? std::optional(state_.number) : std::nullopt);
  if (part_.num_shards == 1) return changes;
  if (has_slots) {
    next.map = state_.map;
  } else if (snapshot.height > 0) {
    next.map = std::make_shared<ShardMap>(part_, *snapshot.arena);
  }
  return next.map == nullptr ? changes : next.map->update(snapshot, changes);
}

void Mirror::send(const Snapshot& snapshot, const TreeChanges& changes, const State& next,
                  RefreshStats& stats) {
  const Clock::time_point start = Clock::now();
  if (PackedRows* packed = next.arrays->packed())
    stats.bytes += packed->write(snapshot, changes.leaves, next.map.get(), uploader_);
  uploader_.send(snapshot, changes, next.map.get(), *next.arrays);
  const SlotBytes sizes = next.arrays->sizes();
  stats.leaves = changes.leaves.size();
  stats.nodes = changes.nodes.size();
  stats.bytes += stats.leaves * sizes.leaf() + stats.nodes * sizes.node;
  stats.gather_us = microseconds_since(start);
}

// Of all leaves.
void Mirror::write_derived(const Snapshot& snapshot, const SlotArrays& arrays) {
  if (snapshot.height == 0 || !arrays.has_derived()) return;
  const std::span<const std::uint32_t> leaves = snapshot.order().leaves;
  derived_slots_ = PooledBuffer(pool_, leaves.size_bytes());
  uploader_.send(std::as_bytes(leaves), derived_slots_.data());
  arrays.write_derived(snapshot, reinterpret_cast<const std::uint32_t*>(derived_slots_.data()),
                       static_cast<std::uint32_t>(leaves.size()), uploader_.stream().get());
}

// The first time in the memory that was requested; later in memory of the same kind, if there is room for both.
std::shared_ptr<SlotArrays> Mirror::make_arrays(const Snapshot& snapshot, const SlotCounts& slots) {
  const FieldBytes fields = FieldSlots::bytes_of(snapshot, slots);
  if (state_.arrays == nullptr) return std::make_shared<SlotArrays>(snapshot, slots, fields, wanted_, 0);
  try {
    return std::make_shared<SlotArrays>(snapshot, slots, fields, state_.arrays->memory(), kPartOnTop);
  } catch (const OutOfDeviceMemory&) {
    set_state({});  // frees the old arrays, then tries again
  }
  return std::make_shared<SlotArrays>(snapshot, slots, fields, wanted_, 0);
}

// What is new is appended to the memory of the version before. All of it is copied if there is none that can grow, or
// if most of that is unused and there is room for both.
std::shared_ptr<FieldSlots> Mirror::send_fields(const Snapshot& snapshot, const TreeChanges& changes,
                                                bool has_slots, const State& next, RefreshStats& stats) {
  const ShardMap* map = next.map.get();
  const SlotCounts slots = slots_of(snapshot, map);
  const bool can_append = has_slots && state_.fields != nullptr && state_.fields->grow(slots);
  const auto copy_all = [&] {
    auto fields = std::make_shared<FieldSlots>(snapshot, slots, next.arrays->rows_on_host());
    const cuda::WaitAtEnd wait(uploader_.stream());  // before an error frees what copies are written to
    const TreeOrder& order = snapshot.order();
    stats.bytes += map == nullptr ? fields->write(snapshot, order.leaves, order.nodes, map, uploader_)
                                  : fields->write(snapshot, map->own_leaves(order.leaves),
                                                  map->own_nodes(order.nodes), map, uploader_);
    return fields;
  };
  if (!can_append || state_.fields->is_mostly_unused()) {
    try {
      return copy_all();
    } catch (const OutOfDeviceMemory&) {
      if (!can_append && has_slots) throw;
    }
  }
  if (can_append) {
    stats.bytes += state_.fields->write(snapshot, changes.leaves, changes.nodes, map, uploader_);
    return state_.fields;
  }
  set_state({});  // frees the old copy, then tries again
  return copy_all();
}

void Mirror::write_version(const Snapshot& snapshot, const std::vector<BoundsSlot>& changes,
                           const MirrorVersion& version) {
  const cudaStream_t stream = uploader_.stream().get();
  const std::span<std::byte> memory = version.memory();
  if (version.has_rows() && changes.size() < version.ref().num_slots) {
    cuda::check(cudaMemcpyAsync(memory.data(), state_.version->memory().data(), memory.size(),
                                cudaMemcpyDeviceToDevice, stream));
  } else {
    cuda::check(cudaMemsetAsync(memory.data(), 0, memory.size(), stream));  // copies include gaps
  }
  uploader_.send(MirrorVersion::constants(snapshot), memory.data());
  if (!version.has_rows()) return;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(changes));
  if (slot_changes_.size() < bytes.size()) slot_changes_ = PooledBuffer(pool_, bytes.size());
  uploader_.send(bytes, slot_changes_.data());
  launch_write_bounds_slots(reinterpret_cast<const BoundsSlot*>(slot_changes_.data()), changes.size(),
                            version.ref().nodes, version.ref().node_stride,
                            version.bounds_slots(snapshot.layout), stream);
}

DeviceMemory Mirror::memory() const {
  const std::lock_guard lock(state_mutex_);
  return state_.arrays == nullptr ? DeviceMemory::device : state_.arrays->memory();
}

std::size_t Mirror::device_bytes() const {
  const std::lock_guard lock(state_mutex_);
  return state_.device_bytes;
}

}  // namespace culmen::gpu
