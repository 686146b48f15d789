// BestRows: the k best rows that one thread block has seen, in its shared memory.
//
// The paper's private heap (GTA 2019, algorithm 2): rows that pass are appended, and a bitonic sort merges them into
// the k best, which are first and in order.
#pragma once

#include "gpu/search/sort.cuh"

namespace culmen::gpu {

// Items of a heap for k rows if up to `step` are appended between two merges; a power of two.
CULMEN_HOST_DEVICE constexpr std::uint32_t heap_capacity(std::uint32_t k, std::uint32_t step) {
  std::uint32_t capacity = 1;
  while (capacity < k + step) capacity *= 2;
  return capacity;
}

class BestRows {
 public:
  // items: [capacity] in shared memory; num_items: one counter beside it. Cleared here.
  __device__ BestRows(Candidate* items, std::uint32_t* num_items, std::uint32_t k, KthBound kth_bound)
      : items_(items), num_items_(num_items), k_(k), kth_bound_(kth_bound) {
    if (threadIdx.x == 0) *num_items_ = 0;
    __syncthreads();
  }

  // Rows must pass this to be appended.
  __device__ KthBound kth_bound() const { return kth_bound_; }

  // By any thread; at most capacity - k rows between two merges.
  __device__ void append(const Candidate& row) { items_[atomicAdd(num_items_, 1u)] = row; }

  // By all threads: merges the appended rows into the k best and raises the k-th score bound.
  __device__ void merge() {
    __syncthreads();
    const std::uint32_t count = *num_items_;
    if (count != num_merged_) {
      const std::uint32_t padded = next_power_of_two(count);
      for (std::uint32_t i = count + threadIdx.x; i < padded; i += blockDim.x) items_[i] = no_candidate();
      sort_candidates(items_, padded, threadIdx.x, blockDim.x, [] { __syncthreads(); });
      num_merged_ = min(count, k_);
      if (num_merged_ == k_) kth_bound_ = {items_[k_ - 1].score, items_[k_ - 1].id};
      __syncthreads();  // all have read the count
      if (threadIdx.x == 0) *num_items_ = num_merged_;
    }
    __syncthreads();
  }

  // After merge().
  __device__ std::uint32_t size() const { return num_merged_; }
  __device__ const Candidate& operator[](std::uint32_t i) const { return items_[i]; }

 private:
  Candidate* items_;
  std::uint32_t* num_items_;
  std::uint32_t k_;
  std::uint32_t num_merged_ = 0;
  KthBound kth_bound_;
};

}  // namespace culmen::gpu
