// Sorting networks (Batcher 1968), in two sizes:
//
// - over the array of one thread, with every index known at compile time, so that a GPU keeps the array in registers;
// - over threads with one such array each. `Threads` executes the steps: the threads of a GPU, or a simulation in tests.
//
// They are not stable.
#pragma once

#include "base/host_device.h"
#include "select/rank.h"

// Host compilers do not know the pragma.
#ifdef __CUDA_ARCH__
#define CULMEN_UNROLL _Pragma("unroll")
#else
#define CULMEN_UNROLL
#endif

namespace culmen::select {

enum class Direction { smaller_first, larger_first };

template <typename T>
CULMEN_HOST_DEVICE bool is_less(const T& a, const T& b) {
  return a < b;
}
#ifdef __CUDA_ARCH__
// If nvcc sees that both results of an exchange depend on `a < b`, it compiles them to a minimum and a maximum, each with
// a comparison of its own: 8 instructions. The asm hides that, which leaves 6.
__device__ inline bool is_less(const Rank64& a, const Rank64& b) {
  int less = 0;
  asm("{ .reg .pred p; setp.lt.u64 p, %1, %2; selp.s32 %0, 1, 0, p; }" : "=r"(less) : "l"(a), "l"(b));
  return less != 0;
}
#endif

template <typename T>
CULMEN_HOST_DEVICE void put_in_order(T& first, T& second, Direction direction) {
  const bool swap = is_less(first, second) == (direction == Direction::larger_first);
  const T other = swap ? first : second;
  first = swap ? second : first;
  second = other;
}

// Merges the two sorted halves of items[kFirst], items[kFirst + kStep], ..., which span kCount items.
template <int kFirst, int kCount, int kStep, typename T, int kItems>
CULMEN_HOST_DEVICE void merge_odd_even(T (&items)[kItems]) {
  if constexpr (2 * kStep < kCount) {
    merge_odd_even<kFirst, kCount, 2 * kStep>(items);
    merge_odd_even<kFirst + kStep, kCount, 2 * kStep>(items);
    CULMEN_UNROLL
    for (int i = kFirst + kStep; i + kStep < kFirst + kCount; i += 2 * kStep)
      put_in_order(items[i], items[i + kStep], Direction::smaller_first);
  } else {
    put_in_order(items[kFirst], items[kFirst + kStep], Direction::smaller_first);
  }
}

// Sorts kCount items, a power of two, smaller first. 16 items take 63 compare-exchanges; a bitonic sort takes 80.
template <int kFirst, int kCount, typename T, int kItems>
CULMEN_HOST_DEVICE void sort_odd_even(T (&items)[kItems]) {
  if constexpr (kCount > 1) {
    sort_odd_even<kFirst, kCount / 2>(items);
    sort_odd_even<kFirst + kCount / 2, kCount / 2>(items);
    merge_odd_even<kFirst, kCount, 1>(items);
  }
}

// Sorts bitonic pieces of kLength among the first kCount items.
template <int kLength, int kCount, typename T, int kItems>
CULMEN_HOST_DEVICE void sort_bitonic(T (&items)[kItems], Direction direction) {
  if constexpr (kLength > 1) {
    CULMEN_UNROLL
    for (int i = 0; i < kCount / 2; ++i) {
      constexpr int kStride = kLength / 2;
      const int first = 2 * i - (i & (kStride - 1));
      put_in_order(items[first], items[first + kStride], direction);
    }
    sort_bitonic<kLength / 2, kCount>(items, direction);
  }
}

template <int kFirst, int kCount, int kRun, typename T, int kItems>
CULMEN_HOST_DEVICE void sort_runs(T (&items)[kItems]) {
  sort_odd_even<kFirst, kRun>(items);
  if constexpr (kFirst + kRun < kCount) sort_runs<kFirst + kRun, kCount, kRun>(items);
}

// Moves the kRun largest of kCount items to the first run. The items are sorted runs of kRun, smaller first. With one of
// two runs reversed, the larger items of all pairs are the larger half of both runs, and form a bitonic sequence.
template <int kRun, int kCount, typename T, int kItems>
CULMEN_HOST_DEVICE void keep_best_run(T (&items)[kItems]) {
  if constexpr (kCount > kRun) {
    CULMEN_UNROLL
    for (int i = 0; i < kCount / 2; ++i) {
      const int run = i / kRun, offset = i % kRun;
      const T a = items[2 * run * kRun + offset], b = items[2 * (run + 1) * kRun - 1 - offset];
      items[i] = a < b ? b : a;
    }
    sort_bitonic<kRun, kCount / 2>(items, Direction::smaller_first);
    keep_best_run<kRun, kCount / 2>(items);
  }
}

// The two functions below call threads.exchange<kDirection, Pairing>(mask), in which each thread compares each of its
// items with one of the thread whose number differs by `mask`, and keeps the larger or the smaller (see keeps_larger);
// and threads.sort_bitonic<kDirection>(), in which each thread sorts its own items, a bitonic sequence. A run consists
// of all items of one thread, then all items of the next.
enum class Pairing { same_index, mirrored };  // item i with the other thread's item i, or with its i-th last

// The highest bit of `mask` is the distance of the two threads.
CULMEN_HOST_DEVICE inline bool keeps_larger(Direction direction, unsigned thread, unsigned mask) {
  const bool is_second = (thread ^ mask) < thread;
  return is_second == (direction == Direction::smaller_first);
}

// Sorts bitonic runs of num_threads threads each.
template <Direction kDirection, typename Threads>
CULMEN_HOST_DEVICE void sort_bitonic_across(Threads& threads, unsigned num_threads) {
  for (unsigned distance = num_threads / 2; distance > 0; distance /= 2)
    threads.template exchange<kDirection, Pairing::same_index>(distance);
  threads.template sort_bitonic<kDirection>();
}

// Sorts runs of num_threads threads each, all in the same order. Each thread has sorted its own items. Two runs in the
// same order form a bitonic sequence if the second is reversed.
template <Direction kDirection, typename Threads>
CULMEN_HOST_DEVICE void sort_across(Threads& threads, unsigned num_threads) {
  for (unsigned sorted = 2; sorted <= num_threads; sorted *= 2) {
    threads.template exchange<kDirection, Pairing::mirrored>(sorted - 1);
    sort_bitonic_across<kDirection>(threads, sorted / 2);
  }
}

}  // namespace culmen::select
