// Networks of compare-exchanges (Batcher 1968), in two sizes:
//
// - over an array of one thread, every index known when it is compiled, so that a GPU keeps it in registers;
// - over threads, of which each has such an array, as steps that someone else takes: threads of a GPU on the
//   card, a simulation of them in tests.
//
// Items of equal rank may change places.
#pragma once

#include "base/host_device.h"
#include "select/rank.h"

// A host's compiler does not know the pragma, and has no need of it.
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
// Where the compiler sees that both ends of an exchange hang on `a < b`, it makes a minimum and a maximum of
// them, and 8 instructions of those: each compares for itself. This comes to 6.
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

// Merges two sorted halves of items[kFirst], items[kFirst + kStep], .. that span kCount.
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

// Sorts kCount items, a power of two, smaller first: 16 by 63 compare-exchanges, where a bitonic sort
// needs 80.
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

// Keeps the kRun largest of kCount items, which stand in sorted runs of kRun, smaller first, as the first
// run. Where one of two runs is read backwards, the larger item of each pair of places makes the larger half
// of both, and that is bitonic.
template <int kRun, int kCount, typename T, int kItems>
CULMEN_HOST_DEVICE void keep_best_run(T (&items)[kItems]) {
  if constexpr (kCount > kRun) {
    CULMEN_UNROLL
    for (int i = 0; i < kCount / 2; ++i) {
      const int run = i / kRun, place = i % kRun;
      const T a = items[2 * run * kRun + place], b = items[2 * (run + 1) * kRun - 1 - place];
      items[i] = a < b ? b : a;
    }
    sort_bitonic<kRun, kCount / 2>(items, Direction::smaller_first);
    keep_best_run<kRun, kCount / 2>(items);
  }
}

// The two below need threads.exchange<kDirection, Pairing>(mask): each thread compares each item with one of
// the thread `mask` away and keeps the one that is due to it (see keeps_larger); and
// threads.sort_bitonic<kDirection>(): each thread sorts its own, which are bitonic. A run goes from thread to
// thread: first all items of one.
enum class Pairing { same_place, mirrored };  // item i with the other's item i, or with its i-th last

// `mask` has the distance of the two as its highest bit.
CULMEN_HOST_DEVICE inline bool keeps_larger(Direction direction, unsigned thread, unsigned mask) {
  const bool is_second = (thread ^ mask) < thread;
  return is_second == (direction == Direction::smaller_first);
}

// Sorts bitonic runs of num_threads threads each.
template <Direction kDirection, typename Threads>
CULMEN_HOST_DEVICE void sort_bitonic_across(Threads& threads, unsigned num_threads) {
  for (unsigned distance = num_threads / 2; distance > 0; distance /= 2)
    threads.template exchange<kDirection, Pairing::same_place>(distance);
  threads.template sort_bitonic<kDirection>();
}

// Sorts runs of num_threads threads each, of which each has sorted its own items, all in the same order: two
// runs in the same order are a bitonic one if the second is read backwards.
template <Direction kDirection, typename Threads>
CULMEN_HOST_DEVICE void sort_across(Threads& threads, unsigned num_threads) {
  for (unsigned sorted = 2; sorted <= num_threads; sorted *= 2) {
    threads.template exchange<kDirection, Pairing::mirrored>(sorted - 1);
    sort_bitonic_across<kDirection>(threads, sorted / 2);
  }
}

}  // namespace culmen::select
