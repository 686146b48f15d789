// Durable batches by several threads at once: rows per second, processor time per row, and what searches of the changed
// index cost beside those of the index as it was built. Prints a table.
//
//   --rows=N --dims=D          the index that is changed (16,000,000 x 8, independent)
//   --batch=B --batches=N      rows of a batch (1,000), batches of a line (400)
//   --writers=T,...            threads that write (1,2,4,8), each its share of the batches
//   --changes=insert,erase     kinds of batches, each with all numbers of writers: random rows, random ids of the built index
//                              (upsert: rows that replace those)
//   --threads=T                that apply a batch (default: all cores)
//   --directory=PATH           of the index, on the disk to be measured; it is removed afterwards
//   --index=PATH               instead: an index that is there, of --rows rows, and stays
//   --max-memory=MIB           of the writer (default: none), which then makes one tree of the files and its changes now and then;
//                              a thread searches meanwhile
//
// Processor time is that of the whole process, a checkpoint beside it included.
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/changes.h"
#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings : ChangeSettings {
  Settings() : ChangeSettings{.rows = 16'000'000, .batches = 400} {}

  std::vector<int> writers = {1, 2, 4, 8};
  std::vector<std::string> changes = {"insert", "erase"};
  std::string directory = "culmen-writers";
  std::string index;
  std::uint64_t max_memory = 0;  // MiB
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_change_flag(argument, settings) && !take_flag(argument, "--writers=", settings.writers) &&
        !take_flag(argument, "--changes=", settings.changes) &&
        !take_flag(argument, "--index=", settings.index) &&
        !take_flag(argument, "--max-memory=", settings.max_memory) &&
        !take_flag(argument, "--directory=", settings.directory)) {
      std::cerr << "unknown flag " << argument << "; see the top of bench/writers.cc\n";
      std::exit(2);
    }
  }
  return settings;
}

double processor_us() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

// Each thread has its own random numbers.
class Writer {
 public:
  Writer(const Settings& settings, std::uint64_t seed)
      : rows_(settings.dims, seed), random_(seed), num_rows_(settings.rows), ids_(settings.batch) {}

  void write(Index& index, const std::string& change) {
    if (change == "insert") {
      index.insert(rows_.next(ids_.size()));
      return;
    }
    for (std::int64_t& id : ids_) id = static_cast<std::int64_t>(random_() % num_rows_);
    if (change == "erase") {
      index.erase(ids_);
      return;
    }
    TableView rows = rows_.next(ids_.size());
    rows.ids = ids_;
    index.upsert(rows);
  }

 private:
  RandomRows rows_;
  std::mt19937_64 random_;
  std::uint64_t num_rows_;
  std::vector<std::int64_t> ids_;  // of a batch
};

// Searches for the best 16 by random weights until it ends.
class SearchesBeside {
 public:
  SearchesBeside(const Settings& settings, const Index& index) {
    thread_ = std::thread([this, dims = settings.dims, index] {
      std::mt19937_64 random(5);
      while (!ends_) {
        const Query query{.weights = random_weights(random, dims), .k = 16};
        const double start = now_us();
        static_cast<void>(index.search(query, {.num_threads = 1}));
        times_.push_back((now_us() - start) / 1e3);
      }
    });
  }
  SearchesBeside(const SearchesBeside&) = delete;
  SearchesBeside& operator=(const SearchesBeside&) = delete;
  ~SearchesBeside() {
    ends_ = true;
    thread_.join();
    if (times_.empty()) return;
    std::printf("  %zu searches beside: median %.2f ms, 99 %% %.2f ms, worst %.2f ms\n", times_.size(),
                median(times_), quantile(times_, 0.99), quantile(times_, 1));
    std::fflush(stdout);
  }

 private:
  std::atomic<bool> ends_ = false;
  std::vector<double> times_;  // ms
  std::thread thread_;
};

void measure(const Settings& settings, Index& index, const std::string& change, int num_writers,
             std::uint64_t& seed) {
  std::optional<SearchesBeside> searches;
  if (settings.max_memory > 0) searches.emplace(settings, index);
  std::vector<Writer> writers;
  for (int w = 0; w < num_writers; ++w) writers.emplace_back(settings, ++seed);
  std::vector<double> times(static_cast<std::size_t>(settings.batches));  // ms
  std::vector<std::thread> threads;
  const double start = now_us(), processor_start = processor_us();
  for (int w = 0; w < num_writers; ++w)
    threads.emplace_back([&, w] {
      for (int b = w; b < settings.batches; b += num_writers) {
        const double begin = now_us();
        writers[static_cast<std::size_t>(w)].write(index, change);
        times[static_cast<std::size_t>(b)] = (now_us() - begin) / 1e3;
      }
    });
  for (std::thread& thread : threads) thread.join();
  const double rows = static_cast<double>(settings.batches) * static_cast<double>(settings.batch);
  std::printf(
      "%-8s %2d writers %10.0f rows/s %8.2f us of processor time per row; a batch: median %.1f ms, worst "
      "%.0f ms\n",
      change.c_str(), num_writers, rows / (now_us() - start) * 1e6, (processor_us() - processor_start) / rows,
      median(times), quantile(times, 1));
  std::fflush(stdout);
}

void measure_searches(const Settings& settings, const Index& index, const char* when) {
  constexpr int kSearches = 10'000;
  for (const std::size_t k : {16, 128}) {
    std::mt19937_64 random(4);
    std::vector<double> times;
    for (int q = 0; q < kSearches; ++q) {
      const Query query{.weights = random_weights(random, settings.dims), .k = k};
      const double start = now_us();
      static_cast<void>(index.search(query, {.num_threads = 1}));
      times.push_back(now_us() - start);
    }
    std::printf("search %s, k = %zu: median %.1f us, p95 %.1f us\n", when, k, median(times),
                quantile(times, 0.95));
  }
  std::fflush(stdout);
}

int run(const Settings& settings) {
  if (settings.index.empty()) {
    const Table table = generate_table(
        {.kind = TableKind::independent, .num_rows = settings.rows, .num_attributes = settings.dims});
    Index::build(table.view()).save(settings.directory, {.overwrite = true});
  }
  {
    const bool is_limited = settings.max_memory > 0;
    Index index = Index::open(settings.index.empty() ? settings.directory : settings.index,
                              {.writable = true,
                               .num_threads = settings.threads,
                               .loading = is_limited ? Loading::on_touch : Loading::whole,
                               .max_memory = settings.max_memory << 20});
    if (!is_limited) measure_searches(settings, index, "before");
    std::uint64_t seed = 0;
    for (const std::string& change : settings.changes) {
      for (const int writers : settings.writers) measure(settings, index, change, writers, seed);
      if (!is_limited) measure_searches(settings, index, ("after " + change).c_str());
    }
  }
  if (settings.index.empty()) std::filesystem::remove_all(settings.directory);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::settings_of(argc, argv)); });
}
