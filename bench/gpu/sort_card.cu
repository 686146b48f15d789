#include "bench/gpu/sort_card.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "gpu/cuda/launch.h"

namespace culmen::bench {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kBucketBits = 8;

template <typename Key>
constexpr int kKeyBits = 8 * static_cast<int>(sizeof(Key));

cuda::Shape a_thread_each(std::uint64_t count) {
  return {.num_blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads), .num_threads = kThreads};
}

// The leading bits of splitmix64.
template <typename Key>
__device__ Key key_of(std::uint64_t number) {
  std::uint64_t x = (number + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return static_cast<Key>((x ^ (x >> 31)) >> (64 - kKeyBits<Key>));
}

template <typename Key>
__global__ void __launch_bounds__(kThreads)
    fill_items(std::uint32_t first, std::uint32_t count, Key* keys, std::uint32_t* values) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  keys[i] = key_of<Key>(first + i);
  if (values != nullptr) values[i] = static_cast<std::uint32_t>(first + i);
}

// A thread for each bucket, and one for the end.
template <typename Key>
__global__ void find_buckets(const Key* keys, std::uint32_t count, std::uint32_t* starts) {
  const std::uint32_t bucket = threadIdx.x;
  std::uint32_t first = 0, end = count;
  while (first < end) {
    const std::uint32_t middle = first + (end - first) / 2;
    if (static_cast<std::uint32_t>(keys[middle] >> (kKeyBits<Key> - kBucketBits)) < bucket) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  starts[bucket] = first;
}

template <typename Key>
__global__ void __launch_bounds__(kThreads) check_items(const Key* keys, const std::uint32_t* values,
                                                        std::uint32_t count, unsigned long long* found) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  const bool is_wrong =
      (i > 0 && keys[i] < keys[i - 1]) || (values != nullptr && key_of<Key>(values[i]) != keys[i]);
  if (is_wrong) atomicAdd(found, 1ull);
  atomicAdd(found + 1, static_cast<unsigned long long>(keys[i]));
}

}  // namespace

template <typename Key, bool kHasValues>
SortCard<Key, kHasValues>::SortCard(int device, std::uint32_t most, std::size_t num_cards)
    : device_(device), starts_(kNumBuckets + 1), sent_(std::make_unique<cuda::Event[]>(num_cards * kGroups)) {
  const auto make = [most] {
    return Items{cuda::Buffer<Key>(most), cuda::Buffer<std::uint32_t>(kHasValues ? most : 0)};
  };
  items_ = make();
  other_ = make();
  if (num_cards > 1) sorted_ = make();
}

template <typename Key, bool kHasValues>
void SortCard<Key, kHasValues>::fill(std::uint32_t first, std::uint32_t count) {
  size_ = count;
  cuda::launch(fill_items<Key>, a_thread_each(count), stream_.get(), first, count, items_.keys.data(),
               items_.values.data());
  wait();
}

// To the same place.
template <typename Key, bool kHasValues>
void SortCard<Key, kHasValues>::sort_range(std::uint32_t first, std::uint32_t count, int first_bit,
                                           int end_bit, const Items& from, Items& to, Lane& lane) {
  const auto run = [&](void* scratch, std::size_t& bytes) {
    const Key* keys = from.keys.data() + first;
    if constexpr (kHasValues) {
      cuda::check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, to.keys.data() + first,
                                                  from.values.data() + first, to.values.data() + first, count,
                                                  first_bit, end_bit, lane.stream.get()));
    } else {
      cuda::check(cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, to.keys.data() + first, count,
                                                 first_bit, end_bit, lane.stream.get()));
    }
  };
  std::size_t bytes = 0;
  run(nullptr, bytes);
  cuda::grow(lane.scratch, bytes, cuda::Memory::device);
  bytes = lane.scratch.size();
  run(lane.scratch.data(), bytes);
}

template <typename Key, bool kHasValues>
BucketStarts SortCard<Key, kHasValues>::partition() {
  sort_range(0, size_, kKeyBits<Key> - kBucketBits, kKeyBits<Key>, items_, other_, lanes_[0]);
  lanes_[0].stream.synchronize();
  std::swap(items_, other_);
  cuda::launch(find_buckets<Key>, {.num_blocks = 1, .num_threads = kNumBuckets + 1}, stream_.get(),
               items_.keys.data(), size_, starts_.data());
  BucketStarts result(kNumBuckets + 1);
  cuda::check(cudaMemcpyAsync(result.data(), starts_.data(), starts_.size_bytes(), cudaMemcpyDeviceToHost,
                              stream_.get()));
  wait();
  return result;
}

template <typename Key, bool kHasValues>
void SortCard<Key, kHasValues>::send(std::uint32_t first, std::uint32_t count, const SortCard& to,
                                     std::uint32_t place) {
  if (place + std::uint64_t{count} > to.other_.keys.size())
    throw CudaError("more items for GPU " + std::to_string(to.device_) + " than it has room for");
  const auto copy = [&](auto* target, const auto* source) {
    cuda::check(cudaMemcpyPeerAsync(target + place, to.device_, source + first, device_,
                                    count * sizeof *source, stream_.get()));
  };
  copy(to.other_.keys.data(), items_.keys.data());
  if constexpr (kHasValues) copy(to.other_.values.data(), items_.values.data());
}

template <typename Key, bool kHasValues>
void SortCard<Key, kHasValues>::sort_group(std::size_t group, std::span<const std::uint32_t> starts,
                                           std::span<const std::unique_ptr<SortCard>> cards, std::size_t me) {
  for (Lane& lane : lanes_)
    for (const std::unique_ptr<SortCard>& card : cards)
      cuda::check(cudaStreamWaitEvent(lane.stream.get(), card->sent_[me * kGroups + group].get()));
  const std::size_t num_buckets = starts.size() - 1;
  for (std::size_t b = 0; b < num_buckets; ++b)
    if (group_of(b, num_buckets) == group && starts[b + 1] > starts[b])
      sort_range(starts[b], starts[b + 1] - starts[b], 0, kKeyBits<Key> - kBucketBits, other_, sorted_,
                 lanes_[b % kLanes]);
}

template <typename Key, bool kHasValues>
void SortCard<Key, kHasValues>::end_sort(std::uint32_t count) {
  for (const Lane& lane : lanes_) lane.stream.synchronize();
  wait();
  std::swap(items_, sorted_);
  size_ = count;
}

template <typename Key, bool kHasValues>
void SortCard<Key, kHasValues>::sort() {
  cub::DoubleBuffer<Key> keys(items_.keys.data(), other_.keys.data());
  cub::DoubleBuffer<std::uint32_t> values(items_.values.data(), other_.values.data());
  const auto run = [&](void* scratch, std::size_t& bytes) {
    if constexpr (kHasValues) {
      cuda::check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, size_, 0, kKeyBits<Key>,
                                                  stream_.get()));
    } else {
      cuda::check(
          cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, size_, 0, kKeyBits<Key>, stream_.get()));
    }
  };
  std::size_t bytes = 0;
  run(nullptr, bytes);
  cuda::grow(lanes_[0].scratch, bytes, cuda::Memory::device);
  bytes = lanes_[0].scratch.size();
  run(lanes_[0].scratch.data(), bytes);
  if (keys.selector != 0) std::swap(items_, other_);
  wait();
}

template <typename Key, bool kHasValues>
typename SortCard<Key, kHasValues>::Check SortCard<Key, kHasValues>::check() const {
  Check check;
  if (size_ == 0) return check;
  const cuda::Buffer<unsigned long long> found(2);
  const cudaStream_t stream = stream_.get();
  cuda::check(cudaMemsetAsync(found.data(), 0, found.size_bytes(), stream));
  cuda::launch(check_items<Key>, a_thread_each(size_), stream, items_.keys.data(), items_.values.data(),
               size_, found.data());
  unsigned long long counts[2] = {};
  cuda::check(cudaMemcpyAsync(counts, found.data(), sizeof counts, cudaMemcpyDeviceToHost, stream));
  cuda::check(cudaMemcpyAsync(&check.first, items_.keys.data(), sizeof(Key), cudaMemcpyDeviceToHost, stream));
  cuda::check(cudaMemcpyAsync(&check.last, items_.keys.data() + size_ - 1, sizeof(Key),
                              cudaMemcpyDeviceToHost, stream));
  wait();
  check.num_wrong = counts[0];
  check.sum = counts[1];
  return check;
}

template class SortCard<std::uint32_t, false>;
template class SortCard<std::uint64_t, true>;

}  // namespace culmen::bench
