// FreshPages: memory that has never been written to becomes pages, which takes longer than filling it does
// (a host may have to find them for a virtual machine, too), by idle threads while a device works on what
// will stand there.
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

  // All slots, or those that have come since the last call. They hold zeros, and nobody else writes to them
  // until wait().
  void start(const std::shared_ptr<SlotArena>& arena);
  void wait() { group_.wait(); }

 private:
  void start(std::span<std::byte> memory);

  std::shared_ptr<SlotArena> arena_;  // not to go before the threads are done
  std::size_t num_leaves_ = 0, num_nodes_ = 0;
  tbb::task_group group_;
};

}  // namespace culmen::gpu
