// Mirror: an index's copy for one device, which follows the index from version to version.
//
// Slots are copied once, when they are new; versions share them. What each version has for itself
// (mirror_version.h) begins as a copy of the one before, on the device. Searches of older versions go on
// meanwhile: a refresh writes to nothing that they read.
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
#include "gpu/mirror/uploader.h"
#include "index/published.h"

namespace culmen::gpu {

// All calls may come from any thread; the device is current.
class Mirror {
 public:
  // Copies the published version to the current device, but for what a bulk load has left there. Throws
  // OutOfDeviceMemory or CudaError; nothing stays allocated then.
  Mirror(std::shared_ptr<const Published> index, const DeviceOptions& options,
         const LoadedTree* loaded = nullptr);

  // The version that is published now; copies what is new in it unless somebody has done so. Throws as the
  // constructor: then this shows what it showed before, and the next call tries again.
  MirrorView latest();
  RefreshStats refresh();

  DeviceMemory memory() const;
  std::size_t device_bytes() const;

 private:
  // What is on the device. The snapshot itself is not held: whoever searches does, and as long as nobody
  // does the index may use its slots again.
  struct State {
    std::shared_ptr<SlotArrays> arrays;            // null: no rows
    std::shared_ptr<const MirrorVersion> version;  // null: nothing, after an error
    std::weak_ptr<const Snapshot> snapshot;
    std::weak_ptr<const SlotArena> arena;
    std::uint64_t number = 0;  // of the version
    BoundsSlots bounds_slots;
    // Counted when the version is there: the next refresh makes the arrays grow, and who asks must not look.
    std::size_t device_bytes = 0;
  };

  std::optional<MirrorView> view_of(const std::shared_ptr<const Snapshot>& snapshot) const;
  MirrorView follow(RefreshStats& stats);
  State make_state(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats);
  void send(const Snapshot& snapshot, const TreeChanges& changes, const SlotArrays& arrays,
            RefreshStats& stats);
  std::shared_ptr<SlotArrays> make_arrays(const Snapshot& snapshot);
  void write_version(const Snapshot& snapshot, const std::vector<BoundsSlot>& changes,
                     const MirrorVersion& version);
  void set_state(State state);

  const std::shared_ptr<const Published> index_;
  const DeviceMemory wanted_;
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();

  std::mutex refresh_mutex_;  // held while the next version comes
  Uploader uploader_;
  PooledBuffer slot_changes_;

  mutable std::mutex state_mutex_;  // held for moments only; state_ changes under both
  State state_;
};

}  // namespace culmen::gpu
