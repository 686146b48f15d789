// Durable batches by several threads at once: rows per second, processor time per row, and what searches of the changed
// index cost beside those of the index as it was built. Prints a table.
//
//   --rows=N --dims=D          the index that is changed (16,000,000 x 8, independent)
//   --batch=B --batches=N      rows of a batch (1,000), batches of a line (400)
//   --writers=T,...            threads that write (1,2,4,8), each its share of the batches
//   --threads=T                that apply a batch (default: all cores)
//   --directory=PATH           of the index, on the disk to be measured; it is removed afterwards
//
// Processor time is that of the whole process, a checkpoint beside it included.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
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
  std::string directory = "culmen-writers";
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_change_flag(argument, settings) && !take_flag(argument, "--writers=", settings.writers) &&
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

// write_batch(writer, batch) is called for all batches, by `writers` threads.
template <typename WriteBatchOf>
void measure(const Settings& settings, const char* what, int writers, const WriteBatchOf& write_batch) {
  std::vector<std::thread> threads;
  const double start = now_us(), processor_start = processor_us();
  for (int w = 0; w < writers; ++w)
    threads.emplace_back([&, w] {
      for (int b = w; b < settings.batches; b += writers) write_batch(w, b);
    });
  for (std::thread& thread : threads) thread.join();
  const double rows = static_cast<double>(settings.batches) * static_cast<double>(settings.batch);
  std::printf("%-8s %2d writers %10.0f rows/s %8.2f us of processor time per row\n", what, writers,
              rows / (now_us() - start) * 1e6, (processor_us() - processor_start) / rows);
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
  {
    const Table table = generate_table(
        {.kind = TableKind::independent, .num_rows = settings.rows, .num_attributes = settings.dims});
    Index::build(table.view()).save(settings.directory, {.overwrite = true});
  }
  {
    Index index = Index::open(settings.directory, {.writable = true, .num_threads = settings.threads});
    measure_searches(settings, index, "before");
    const auto batch_rows = static_cast<std::size_t>(settings.batch);
    std::uint64_t seed = 0;
    for (const int writers : settings.writers) {
      std::vector<RandomRows> rows;
      for (int w = 0; w < writers; ++w) rows.emplace_back(settings.dims, ++seed);
      measure(settings, "insert", writers,
              [&](int w, int) { index.insert(rows[static_cast<std::size_t>(w)].next(batch_rows)); });
    }
    measure_searches(settings, index, "after inserts");
    for (const int writers : settings.writers)
      measure(settings, "erase", writers, [&](int, int b) {
        std::mt19937_64 random(static_cast<std::uint64_t>(1000 * writers + b));
        std::vector<std::int64_t> ids(batch_rows);
        for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % settings.rows);
        index.erase(ids);
      });
    measure_searches(settings, index, "after erasures");
  }
  std::filesystem::remove_all(settings.directory);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::settings_of(argc, argv)); });
}
