// Sorting networks: a network that sorts all inputs of zeros and ones sorts everything (Knuth, The Art of
// Computer Programming 3, 5.3.4); one that keeps the largest of zeros and ones keeps the largest of
// everything.
#include "bench/select/networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "tests/generators.h"

namespace culmen::select {
namespace {

constexpr int kItems = 16;

// Calls use(items) for all arrays of zeros and ones.
template <int kCount, typename Use>
void for_all_zeros_and_ones(Use&& use) {
  for (unsigned bits = 0; bits < 1u << kCount; ++bits) {
    int items[kCount];
    for (int i = 0; i < kCount; ++i) items[i] = static_cast<int>(bits >> i & 1);
    use(items, std::popcount(bits));
  }
}

template <int kCount>
void check_odd_even() {
  for_all_zeros_and_ones<kCount>([](auto& items, int) {
    sort_odd_even<0, kCount>(items);
    EXPECT_TRUE(std::is_sorted(std::begin(items), std::end(items)));
  });
}

TEST(Networks, OddEvenSorts) {
  check_odd_even<1>();
  check_odd_even<2>();
  check_odd_even<4>();
  check_odd_even<8>();
  check_odd_even<16>();
}

template <int kRun>
void check_best_run() {
  for_all_zeros_and_ones<kItems>([](auto& items, int num_ones) {
    sort_runs<0, kItems, kRun>(items);
    for (int run = 0; run < kItems; run += kRun) EXPECT_TRUE(std::is_sorted(items + run, items + run + kRun));
    keep_best_run<kRun, kItems>(items);
    EXPECT_TRUE(std::is_sorted(items, items + kRun));
    EXPECT_EQ(std::count(items, items + kRun, 1), std::min(num_ones, kRun));
  });
}

TEST(Networks, KeepTheBestRun) {
  check_best_run<1>();
  check_best_run<2>();
  check_best_run<4>();
  check_best_run<8>();
  check_best_run<16>();
}

// All threads of a block, a step at a time.
struct SimulatedThreads {
  std::vector<std::array<int, kItems>> items;

  template <Direction kDirection, Pairing kPairing>
  void exchange(unsigned mask) {
    const auto before = items;
    for (unsigned thread = 0; thread < items.size(); ++thread)
      for (int i = 0; i < kItems; ++i) {
        const int other = before[thread ^ mask][kPairing == Pairing::mirrored ? kItems - 1 - i : i];
        int& mine = items[thread][i];
        mine = keeps_larger(kDirection, thread, mask) ? std::max(mine, other) : std::min(mine, other);
      }
  }
  template <Direction kDirection>
  void sort_bitonic() {
    for (auto& of_thread : items) {
      int own[kItems];
      std::copy(of_thread.begin(), of_thread.end(), own);
      select::sort_bitonic<kItems, kItems>(own, kDirection);
      std::copy(std::begin(own), std::end(own), of_thread.begin());
    }
  }
  // Those of the threads first, first + 1, .. one after the other.
  std::vector<int> run(unsigned first, unsigned num_threads) const {
    std::vector<int> all;
    for (unsigned thread = first; thread < first + num_threads; ++thread)
      all.insert(all.end(), items[thread].begin(), items[thread].end());
    return all;
  }
};

SimulatedThreads make_threads(unsigned num_threads, std::uint64_t seed) {
  test::Random random(seed);
  SimulatedThreads threads{std::vector<std::array<int, kItems>>(num_threads)};
  for (auto& of_thread : threads.items) {
    for (int& item : of_thread) item = static_cast<int>(random.below(5000));
    std::sort(of_thread.begin(), of_thread.end());
  }
  return threads;
}

TEST(Networks, SortAcrossThreads) {
  constexpr unsigned kNumThreads = 64;
  for (unsigned num_threads = 1; num_threads <= kNumThreads; num_threads *= 2)
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SimulatedThreads threads = make_threads(kNumThreads, seed);
      const SimulatedThreads before = threads;
      sort_across<Direction::smaller_first>(threads, num_threads);
      for (unsigned first = 0; first < kNumThreads; first += num_threads) {
        std::vector<int> wanted = before.run(first, num_threads);
        std::sort(wanted.begin(), wanted.end());
        EXPECT_EQ(threads.run(first, num_threads), wanted) << num_threads << " threads, seed " << seed;
      }
    }
}

TEST(Networks, SortBitonicRunsAcrossThreads) {
  for (unsigned num_threads = 1; num_threads <= 32; num_threads *= 2)
    for (int peak = 0; peak < static_cast<int>(num_threads) * kItems; peak += 7) {
      SimulatedThreads threads{std::vector<std::array<int, kItems>>(num_threads)};
      int place = 0;
      for (auto& of_thread : threads.items)
        for (int& item : of_thread) item = -std::abs(place++ - peak);
      std::vector<int> wanted = threads.run(0, num_threads);
      std::sort(wanted.rbegin(), wanted.rend());
      sort_bitonic_across<Direction::larger_first>(threads, num_threads);
      EXPECT_EQ(threads.run(0, num_threads), wanted) << num_threads << " threads, peak " << peak;
    }
}

}  // namespace
}  // namespace culmen::select
