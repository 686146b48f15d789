// FreshPages: memory that has never been written to becomes pages, which takes as long as filling it does, by
// idle threads while a device works on what will stand there.
#pragma once

#include <tbb/task_group.h>

#include <cstddef>
#include <span>

namespace culmen::gpu {

class FreshPages {
 public:
  FreshPages() = default;
  ~FreshPages() { group_.wait(); }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;

  // The memory holds zeros, and nobody else writes to it until wait().
  void start(std::span<std::byte> memory);
  void wait() { group_.wait(); }

 private:
  tbb::task_group group_;
};

}  // namespace culmen::gpu
