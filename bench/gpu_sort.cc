// Sorting alone, on several GPUs as on one: random keys in device memory, equal numbers on each device before and about
// equal numbers after.
//
//   gpu_sort [--keys=2000000000] [--pairs=1000000000] [--devices=0] [--repeats=5]
//
// Sorts 32-bit keys, as the RMG sort paper does (Ilić 2022), and pairs of a 64-bit key and a 32-bit row, as a bulk load does.
// For both: one device's cub::DeviceRadixSort, then all together by the paper's phases: partition by the leading byte,
// exchange, sort of the buckets, one after the other, and with buckets sorted while others are on their way. Fastest of
// the repeats, in milliseconds and 10^9 keys a second; the result is checked.
// devices: how many; 0: all GPUs. A machine with fewer names them more than once.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/worker.h"
#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/sort_card.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/peers.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint32_t keys = 2'000'000'000;
  std::uint32_t pairs = 1'000'000'000;
  int devices = 0;
  int repeats = 5;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_flag(argument, "--keys=", settings.keys) || take_flag(argument, "--pairs=", settings.pairs) ||
        take_flag(argument, "--devices=", settings.devices) ||
        take_flag(argument, "--repeats=", settings.repeats))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) + "; see the top of bench/gpu_sort.cc");
  }
  return settings;
}

struct Phases {
  double partition = 0, exchange = 0, sort = 0;  // us
  double total() const { return partition + exchange + sort; }
};

template <typename Key, bool kHasValues>
class Sorters {
 public:
  using Card = SortCard<Key, kHasValues>;

  Sorters(std::size_t count, std::uint32_t num_items)
      : num_items_(num_items), cards_(count), workers_(count) {
    const std::uint32_t share = num_items / static_cast<std::uint32_t>(count);
    const std::uint32_t most = count == 1 ? num_items : share + share / 32 + 1024;
    for (std::size_t i = 0; i < count; ++i) {
      const int device = static_cast<int>(i) % num_devices();
      const cuda::DeviceScope scope(device);
      for (int other = 0; other < num_devices(); ++other) cuda::open_path(device, other);
      cards_[i] = std::make_unique<Card>(device, most, count);
    }
  }

  void fill() {
    on_each([this](Card& card, std::size_t i) { card.fill(start_of(i), start_of(i + 1) - start_of(i)); });
  }

  double sort_alone() {
    const double start = now_us();
    on_each([](Card& card, std::size_t) { card.sort(); });
    return now_us() - start;
  }

  // overlaps: buckets are sorted while others are on their way. Otherwise each phase ends before the next begins.
  Phases sort_together(bool overlaps) {
    Phases phases;
    std::vector<BucketStarts> starts(cards_.size());
    double start = now_us();
    const auto lap = [&start] {
      const double before = std::exchange(start, now_us());
      return start - before;
    };
    on_each([&](Card& card, std::size_t i) { starts[i] = card.partition(); });
    phases.partition = lap();
    const std::vector<std::size_t> first_bucket = divide(starts);
    std::vector<BucketStarts> received(cards_.size());
    for (std::size_t to = 0; to < cards_.size(); ++to)
      received[to] = places(starts, first_bucket[to], first_bucket[to + 1]);
    if (overlaps) {
      std::atomic<std::size_t> num_sent[Card::kGroups] = {};
      on_each([&](Card& card, std::size_t i) {
        for (std::size_t group = 0; group < Card::kGroups; ++group) {
          send_group(card, group, i, starts, first_bucket, received);
          ++num_sent[group];
          while (num_sent[group] < cards_.size()) {
          }
          card.sort_group(group, received[i], cards_, i);
        }
        card.end_sort(received[i].back());
      });
    } else {
      on_each([&](Card& card, std::size_t i) {
        for (std::size_t group = 0; group < Card::kGroups; ++group)
          send_group(card, group, i, starts, first_bucket, received);
        card.wait();
      });
      phases.exchange = lap();
      on_each([&](Card& card, std::size_t i) {
        for (std::size_t group = 0; group < Card::kGroups; ++group)
          card.sort_group(group, received[i], cards_, i);
        card.end_sort(received[i].back());
      });
    }
    phases.sort = lap();
    return phases;
  }

  // Returns the sum of all keys.
  std::uint64_t check() {
    std::vector<typename Card::Check> checks(cards_.size());
    on_each([&](Card& card, std::size_t i) { checks[i] = card.check(); });
    std::uint64_t sum = 0, size = 0;
    for (std::size_t i = 0; i < cards_.size(); ++i) {
      if (checks[i].num_wrong > 0 || (i > 0 && checks[i].first < checks[i - 1].last))
        throw Error("items are not in order");
      sum += checks[i].sum;
      size += cards_[i]->size();
    }
    if (size != num_items_) throw Error("items are missing");
    return sum;
  }

 private:
  std::uint32_t start_of(std::size_t i) const {
    return static_cast<std::uint32_t>(std::uint64_t{num_items_} * i / cards_.size());
  }

  void on_each(const auto& f) {
    std::vector<std::future<void>> ends;
    for (std::size_t i = 0; i < cards_.size(); ++i)
      ends.push_back(workers_[i].run([this, &f, i] {
        const cuda::DeviceScope scope(cards_[i]->device());
        f(*cards_[i], i);
      }));
    for (std::future<void>& end : ends) end.wait();
    for (std::future<void>& end : ends) end.get();
  }

  // The first bucket of each card, and the end: about equal numbers of items.
  std::vector<std::size_t> divide(const std::vector<BucketStarts>& starts) const {
    std::vector<std::size_t> first = {0};
    for (std::size_t b = 0; b < kNumBuckets; ++b) {
      std::uint64_t before = 0;
      for (const BucketStarts& of_card : starts) before += of_card[b];
      if (first.size() < cards_.size() && before >= start_of(first.size())) first.push_back(b);
    }
    first.resize(cards_.size(), kNumBuckets);
    first.push_back(kNumBuckets);
    return first;
  }

  // Where the buckets [first, end) of all cards are put, one after the other.
  static BucketStarts places(const std::vector<BucketStarts>& starts, std::size_t first, std::size_t end) {
    BucketStarts result = {0};
    for (std::size_t b = first; b < end; ++b) {
      std::uint32_t next = result.back();
      for (const BucketStarts& of_card : starts) next += of_card[b + 1] - of_card[b];
      result.push_back(next);
    }
    return result;
  }

  // A group of each card's buckets. Each bucket begins with the items of the first card.
  void send_group(Card& card, std::size_t group, std::size_t from, const std::vector<BucketStarts>& starts,
                  const std::vector<std::size_t>& first_bucket, const std::vector<BucketStarts>& received) {
    for (std::size_t turn = 0; turn < cards_.size(); ++turn) {
      const std::size_t to = (from + turn) % cards_.size();
      const std::size_t num_buckets = first_bucket[to + 1] - first_bucket[to];
      for (std::size_t n = 0; n < num_buckets; ++n) {
        if (Card::group_of(n, num_buckets) != group) continue;
        const std::size_t b = first_bucket[to] + n;
        std::uint32_t place = received[to][n];
        for (std::size_t before = 0; before < from; ++before)
          place += starts[before][b + 1] - starts[before][b];
        const std::uint32_t count = starts[from][b + 1] - starts[from][b];
        if (count > 0) card.send(starts[from][b], count, *cards_[to], place);
      }
      card.end_group(to, group);
    }
  }

  std::uint32_t num_items_;
  std::vector<std::unique_ptr<Card>> cards_;
  std::vector<Worker> workers_;
};

double giga_per_second(std::uint32_t count, double us) {
  return count / us * 1e-3;
}

template <typename Key, bool kHasValues>
void measure(const char* name, std::uint32_t count, std::size_t num_cards, int repeats) {
  std::printf("%s, %.0f M\n", name, count * 1e-6);
  double alone = 0;
  std::uint64_t sum = 0;
  {
    Sorters<Key, kHasValues> one(1, count);
    for (int run = 0; run <= repeats; ++run) {
      one.fill();
      const double us = one.sort_alone();
      if (run == 1 || (run > 1 && us < alone)) alone = us;
    }
    sum = one.check();
  }
  std::printf("  1 device, CUB: %.1f ms, %.1f\n", alone * 1e-3, giga_per_second(count, alone));
  Sorters<Key, kHasValues> all(num_cards, count);
  for (const bool overlaps : {false, true}) {
    Phases best;
    for (int run = 0; run <= repeats; ++run) {
      all.fill();
      const Phases phases = all.sort_together(overlaps);
      if (run == 1 || (run > 1 && phases.total() < best.total())) best = phases;
    }
    if (all.check() != sum) throw Error("keys are not those of the input");
    std::printf("  %zu devices, %s: partition %.1f, exchange %.1f, sort %.1f: %.1f ms, %.1f, %.2f x\n",
                num_cards, overlaps ? "exchange beside the sort" : "one phase after the other",
                best.partition * 1e-3, best.exchange * 1e-3, best.sort * 1e-3, best.total() * 1e-3,
                giga_per_second(count, best.total()), alone / best.total());
  }
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  print_card();
  const auto count = static_cast<std::size_t>(settings.devices > 0 ? settings.devices : num_devices());
  measure<std::uint32_t, false>("32-bit keys", settings.keys, count, settings.repeats);
  std::printf(
      "  the paper's, of 2,000 M with transfers from and to the host: two A100 (NVLink 3) partition 14.4, "
      "exchange 14 to 17,\n"
      "  1.9 x one; two V100 (NVLink 2) 22.8, 35.8, 217 ms in all, 1.6 x\n");
  measure<std::uint64_t, true>("64-bit keys with 32-bit rows", settings.pairs, count, settings.repeats);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
