// WarpBest: the k best rows that one warp has seen, in its shared memory.
//
// Rows that pass the k-th score bound are appended in no order. Once there are enough, a binary search over the range
// of keys, which only counts, finds the k-th key, and the rows below it are dropped. Rows are sorted once, at the
// end, and where many tie.
#pragma once

#include "gpu/search/heap.cuh"
#include "gpu/search/leaf_rows.cuh"
#include "gpu/search/score_keys.cuh"

namespace culmen::gpu {

class WarpBest {
 public:
  // Items of a list for k rows.
  CULMEN_HOST_DEVICE static constexpr std::uint32_t capacity(std::uint32_t k) {
    return heap_capacity(k, step(k) + kRowsAtOnce);  // a power of two, for sort()
  }
  CULMEN_HOST_DEVICE static constexpr std::size_t num_bytes(std::uint32_t k) {
    return capacity(k) * sizeof(Candidate) + num_keys(k) * sizeof(std::uint32_t);
  }

  // memory: num_bytes(k) in shared memory
  __device__ WarpBest(std::byte* memory, std::uint32_t k, const KeyScale& scale, KthBound kth_bound)
      : items_(reinterpret_cast<Candidate*>(memory)),
        keys_(reinterpret_cast<std::uint32_t*>(items_ + capacity(k))),
        k_(k),
        scale_(scale),
        kth_bound_(kth_bound) {}

  __device__ std::uint32_t k() const { return k_; }

  // Rows must pass this to be appended.
  __device__ KthBound kth_bound() const { return kth_bound_; }

  __device__ void append(const bool (&pass)[kRowsPerLane], const Candidate (&rows)[kRowsPerLane]) {
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      const unsigned passing = __ballot_sync(kFullWarp, pass[j]);
      if (pass[j]) put(size_ + static_cast<unsigned>(__popc(passing & ((1u << lane_) - 1))), rows[j]);
      size_ += static_cast<unsigned>(__popc(passing));
    }
    __syncwarp();
    if (size_ >= k_ + (is_full_ ? step(k_) : 0)) prune();
  }

  // Drops the rows, but not the k-th score bound that they give.
  __device__ void restart() {
    if (size_ >= k_) prune();
    size_ = 0;
    is_full_ = false;
  }

  // Sorts the rows, which may then be read. Returns how many there are, at most k.
  __device__ std::uint32_t finish() {
    if (size_ > k_) prune();
    sort();
    return min(size_, k_);
  }
  __device__ const Candidate& operator[](std::uint32_t i) const {
    return items_[i];
  }

 private:
  CULMEN_HOST_DEVICE static constexpr std::uint32_t num_keys(std::uint32_t k) {
    return (k + step(k) + kRowsAtOnce + 1) / 2 * 2;  // in pairs: what follows is aligned to 8
  }
  // Rows beyond k that are collected before the next prune().
  CULMEN_HOST_DEVICE static constexpr std::uint32_t step(std::uint32_t k) {
    return k < 64 ? 16 : k / 4;
  }

  __device__ void put(std::uint32_t position, const Candidate& row) {
    items_[position] = row;
    keys_[position] = scale_.key(row.score);
  }

  __device__ void prune() {
    is_full_ = true;
    const auto key_at = [this](std::uint32_t i) { return keys_[i]; };
    const std::uint32_t key = kth_key(k_, size_, key_at, lane_);
    const std::uint32_t kept = count_from(key, size_, key_at, lane_);
    if (kept > k_ + step(k_) / 2) {  // ties
      sort();
      size_ = k_;
      kth_bound_ = {items_[k_ - 1].score, items_[k_ - 1].id};
      return;
    }
    keep_from(key);
    kth_bound_ = higher({scale_.score_of(key), kNoId}, kth_bound_);
  }

  __device__ void keep_from(std::uint32_t key) {
    std::uint32_t kept = 0;
    for (std::uint32_t first = 0; first < size_; first += kWarpSize) {
      const std::uint32_t i = min(first + lane_, size_ - 1);
      const Candidate row = items_[i];
      const std::uint32_t mine = keys_[i];
      const unsigned staying = __ballot_sync(kFullWarp, first + lane_ < size_ && mine >= key);
      const std::uint32_t position = kept + static_cast<unsigned>(__popc(staying & ((1u << lane_) - 1)));
      __syncwarp();  // all lanes have read what is overwritten now
      if ((staying >> lane_ & 1) != 0) {
        items_[position] = row;
        keys_[position] = mine;
      }
      kept += static_cast<unsigned>(__popc(staying));
    }
    size_ = kept;
    __syncwarp();
  }

  __device__ void sort() {
    const std::uint32_t padded = next_power_of_two(size_);
    for (std::uint32_t i = size_ + lane_; i < padded; i += kWarpSize) items_[i] = no_candidate();
    sort_candidates(items_, padded, lane_, kWarpSize, [] { __syncwarp(); });
    for (std::uint32_t i = lane_; i < size_; i += kWarpSize) keys_[i] = scale_.key(items_[i].score);
    __syncwarp();
  }

  Candidate* items_;
  std::uint32_t* keys_;
  std::uint32_t k_;
  std::uint32_t size_ = 0;
  bool is_full_ = false;  // k rows have been seen
  const KeyScale& scale_;
  KthBound kth_bound_;
  std::uint32_t lane_ = threadIdx.x % kWarpSize;
};

}  // namespace culmen::gpu
