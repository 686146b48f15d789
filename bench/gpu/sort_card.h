// SortCard: one of the devices that sort together as RMG sort does (Ilić 2022): a partition of its items by the leading
// byte of their keys, one exchange, and a sort of each bucket by the other bits, all by CUB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/cuda/buffer.h"

namespace culmen::bench {

// Where the buckets of the leading byte begin, and the last one ends.
using BucketStarts = std::vector<std::uint32_t>;  // [kNumBuckets + 1]
inline constexpr std::size_t kNumBuckets = 256;

// Keys alone, or keys and 32-bit values that move with them. The device is current in all calls.
template <typename Key, bool kHasValues>
class SortCard {
 public:
  // For up to `most` items; one of num_cards. Throws OutOfDeviceMemory or CudaError.
  SortCard(int device, std::uint32_t most, std::size_t num_cards);

  int device() const { return device_; }
  std::uint32_t size() const { return size_; }

  // Items [first, first + count) of the input: a hash of the number, and the number as a value. Waits, as all calls do.
  void fill(std::uint32_t first, std::uint32_t count);
  // Returns the buckets of its items.
  BucketStarts partition();
  // Copies some neighbouring items to a place of the other's receiving buffer. Does not wait.
  void send(std::uint32_t first, std::uint32_t count, const SortCard& to, std::uint32_t place);
  // All items of this card for group `group` of card `to` have been sent.
  void end_group(std::size_t to, std::size_t group) { sent_[to * kGroups + group].record(stream_.get()); }
  void wait() const { stream_.synchronize(); }
  // Enqueues the sort of the buckets of a group when it has arrived from all cards; `me` is the number of this one.
  void sort_group(std::size_t group, std::span<const std::uint32_t> starts,
                  std::span<const std::unique_ptr<SortCard>> cards, std::size_t me);
  // Waits for the sorts of all groups, of `count` items.
  void end_sort(std::uint32_t count);
  // The group of a bucket, of so many.
  static std::size_t group_of(std::size_t bucket, std::size_t num_buckets) {
    return bucket * kGroups / num_buckets;
  }
  static constexpr std::size_t kGroups = 16;
  // One device's sort.
  void sort();

  struct Check {
    std::uint64_t num_wrong = 0;  // items below the one before, or whose value is not of their key
    std::uint64_t sum = 0;        // of the keys
    Key first = 0, last = 0;
  };
  Check check() const;

  static constexpr std::size_t item_bytes() { return sizeof(Key) + (kHasValues ? sizeof(std::uint32_t) : 0); }

 private:
  struct Items {
    cuda::Buffer<Key> keys;
    cuda::Buffer<std::uint32_t> values;
  };
  // Neighbouring buckets are sorted at the same time: one does not fill the device.
  struct Lane {
    cuda::Stream stream;
    cuda::Buffer<std::byte> scratch;
  };
  static constexpr std::size_t kLanes = 4;
  void sort_range(std::uint32_t first, std::uint32_t count, int first_bit, int end_bit, const Items& from,
                  Items& to, Lane& lane);

  int device_;
  std::uint32_t size_ = 0;
  cuda::Stream stream_;
  // What is received is sorted to a third buffer, while items are still sent from the first.
  Items items_, other_, sorted_;
  Lane lanes_[kLanes];
  cuda::Buffer<std::uint32_t> starts_;
  std::unique_ptr<cuda::Event[]> sent_;  // [num_cards][kGroups]
};

}  // namespace culmen::bench
