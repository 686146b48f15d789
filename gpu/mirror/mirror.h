// Mirror: an index's copy for one device, which follows the index from version to version.
//
// Versions share slots, each of which is copied once, when it is new. The rest of a version (mirror_version.h) starts
// as a copy, on the device, of the version before. Searches of older versions continue: a refresh writes to nothing
// that they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "culmen/device.h"
#include "gpu/mirror/bounds_slots.h"
#include "gpu/mirror/loaded_tree.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/mirror/shard_map.h"
#include "gpu/mirror/uploader.h"
#include "index/published.h"

namespace culmen::gpu {

// Thread-safe; the device is current.
class Mirror {
 public:
  // Copies the published version to the current device, except what a bulk load has left there. Throws
  // OutOfDeviceMemory or CudaError; then nothing stays allocated.
  // part: all of the index, or the part of a device of a sharded group, for which nothing was loaded.
  Mirror(std::shared_ptr<const Published> index, const DeviceOptions& options,
         const LoadedTree* loaded = nullptr, const ShardPart& part = {});

  // The version published now. Copies what is new in it, unless another call has. Throws as the constructor: then the
  // mirror is unchanged, and the next call tries again.
  MirrorView latest();
  RefreshStats refresh();
  // That version, if the mirror has it.
  std::optional<MirrorView> view_of(const std::shared_ptr<const Snapshot>& snapshot) const;
  // That version, which must not be older than the mirror's. As latest(). Null: the version published once no other
  // call copies. `found`: the changes of that version, shared with mirrors that follow at the same time.
  MirrorView follow(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats,
                    ChangesOfVersion& found);

  DeviceMemory memory() const;
  std::size_t device_bytes() const;

 private:
  // What is on the device. It does not hold the snapshot; searches do. If none does, the index may reuse its slots.
  struct State {
    std::shared_ptr<SlotArrays> arrays;            // null: no rows
    std::shared_ptr<FieldSlots> fields;            // null: not needed
    std::shared_ptr<ShardMap> map;                 // null: the whole index
    std::shared_ptr<const MirrorVersion> version;  // null: nothing, after an error
    std::weak_ptr<const Snapshot> snapshot;
    std::weak_ptr<const SlotArena> arena;
    std::uint64_t number = 0;    // of the version
    bool lacks_derived = false;  // a bulk load has left the arrays
    BoundsSlots bounds_slots;
    // Cached, because a concurrent refresh may be resizing the arrays.
    std::size_t device_bytes = 0;
  };

  MirrorView copy_what_is_new(std::shared_ptr<const Snapshot> snapshot, RefreshStats& stats,
                              ChangesOfVersion& found);
  State make_state(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats,
                   ChangesOfVersion& found);
  TreeChanges changes_of_part(const Snapshot& snapshot, bool has_slots, State& next,
                              ChangesOfVersion& found) const;
  void send(const Snapshot& snapshot, const TreeChanges& changes, const State& next, RefreshStats& stats);
  void write_derived(const Snapshot& snapshot, const SlotArrays& arrays);
  std::shared_ptr<SlotArrays> make_arrays(const Snapshot& snapshot, const SlotCounts& slots);
  std::shared_ptr<FieldSlots> send_fields(const Snapshot& snapshot, const TreeChanges& changes,
                                          bool has_slots, const State& next, RefreshStats& stats);
  void write_version(const Snapshot& snapshot, const std::vector<BoundsSlot>& changes,
                     const MirrorVersion& version);
  void set_state(State state);

  const std::shared_ptr<const Published> index_;
  const DeviceMemory wanted_;
  const ShardPart part_;
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();

  std::mutex refresh_mutex_;  // held during a refresh
  Uploader uploader_;
  PooledBuffer slot_changes_, derived_slots_;

  mutable std::mutex state_mutex_;  // held briefly; state_ changes under both
  State state_;
};

}  // namespace culmen::gpu
