// FreshPages: idle threads fault in memory that has never been written, while a device computes what will be stored
// there. Page faults take longer than the writes themselves, even more so in a virtual machine.
#pragma once

#include <tbb/task_group.h>

#include <cstddef>
#include <memory>
#include <span>

#include "index/slot_arena.h"

namespace culmen::gpu {

class FreshPages {
 public:
  FreshPages() = default;
  ~FreshPages() {
    group_.cancel();
    group_.wait();
  }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  // Touches all slots, or those added since the last call. They hold zeros, and nothing else writes to them until
  // wait().
  void start(const std::shared_ptr<SlotArena>& arena);
  void wait() { group_.wait(); }

 private:
  void start(std::span<std::byte> memory);

  std::shared_ptr<SlotArena> arena_;  // must outlive the threads' work
  std::size_t num_leaves_ = 0, num_nodes_ = 0;
  tbb::task_group group_;
};

}  // namespace culmen::gpu
