// The cost of changes: durable inserts and deletes per second, single inserts against a bare append and fdatasync,
// searches concurrent with a writer, and opening a directory with a log to replay. Prints a table.
//
//   --rows=N --dims=D          the index that is changed (16,000,000 x 8, independent)
//   --batch=B --batches=N      rows of a batch (1,000), batches of a section (200)
//   --threads=T                for changes (default: all cores)
//   --rate=R                   inserts per second during the searches (50,000)
//   --directory=PATH           of the index, on the disk to be measured; it is removed afterwards
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/changes.h"
#include "bench/flags.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings : ChangeSettings {
  Settings() : ChangeSettings{.rows = 16'000'000} {}

  std::uint64_t rate = 50'000;
  std::string directory = "culmen-maintenance";
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_change_flag(argument, settings) && !take_flag(argument, "--rate=", settings.rate) &&
        !take_flag(argument, "--directory=", settings.directory)) {
      std::cerr << "unknown flag " << argument << '\n';
      std::exit(2);
    }
  }
  return settings;
}

void print(const char* what, const std::vector<double>& times_us, double rows_each) {
  const double total = std::accumulate(times_us.begin(), times_us.end(), 0.0);
  std::printf("%-34s median %9.1f us  p95 %9.1f us", what, median(times_us), quantile(times_us, 0.95));
  if (rows_each > 0)
    std::printf("  %10.0f rows/s", rows_each * static_cast<double>(times_us.size()) / total * 1e6);
  std::printf("\n");
  std::fflush(stdout);
}

void measure_batches(const Settings& settings, Index& index) {
  RandomRows rows(settings.dims, 1);
  const auto size = static_cast<double>(settings.batch);
  std::vector<double> inserts, deletes;
  std::mt19937_64 random(2);
  std::vector<std::int64_t> ids(settings.batch);
  for (int b = 0; b < settings.batches; ++b) {
    const TableView table = rows.next(settings.batch);
    const double start = now_us();
    index.insert(table);
    inserts.push_back(now_us() - start);
  }
  print("insert, batches", inserts, size);
  for (int b = 0; b < settings.batches; ++b) {
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % settings.rows);
    const double start = now_us();
    index.erase(ids);
    deletes.push_back(now_us() - start);
  }
  print("delete, batches", deletes, size);
}

// Alternately, so that both see the same disk.
void measure_single(const Settings& settings, Index& index) {
  RandomRows rows(settings.dims, 3);
  const std::string path = settings.directory + "-bare";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::vector<char> record(512);  // as much as the log writes for one row
  std::vector<double> bare, durable;
  for (int i = 0; i < 10 * settings.batches; ++i) {
    const TableView table = rows.next(1);
    double start = now_us();
    if (::write(file, record.data(), record.size()) < 0 || ::fdatasync(file) != 0) std::exit(1);
    bare.push_back(now_us() - start);
    start = now_us();
    index.insert(table);
    durable.push_back(now_us() - start);
  }
  ::close(file);
  std::filesystem::remove(path);
  print("bare append and fdatasync", bare, 0);
  print("insert, one row", durable, 1);
  std::printf("%-34s %.2f of the bare median\n", "", median(durable) / median(bare));
}

std::vector<double> search_times(const Settings& settings, const Index& index, std::size_t k, int count) {
  std::mt19937_64 random(4);
  std::vector<double> times;
  for (int q = 0; q < count; ++q) {
    const Query query{.weights = random_weights(random, settings.dims), .k = k};
    const double start = now_us();
    static_cast<void>(index.search(query));
    times.push_back(now_us() - start);
  }
  return times;
}

// One batch at a time, at a fixed rate.
void write_steadily(const Settings& settings, Index index, const std::atomic<bool>& is_over) {
  RandomRows rows(settings.dims, 5);
  const double gap_us = 1e6 * static_cast<double>(settings.batch) / static_cast<double>(settings.rate);
  const double start = now_us();
  double done = 0;
  for (; !is_over; ++done) {
    index.insert(rows.next(settings.batch));
    const double rest = start + (done + 1) * gap_us - now_us();
    if (rest > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(rest));
  }
  std::printf("%-34s %.0f rows/s were inserted meanwhile\n", "",
              done * static_cast<double>(settings.batch) / (now_us() - start) * 1e6);
}

void measure_searches(const Settings& settings, const Index& index) {
  constexpr int kSearches = 20'000;
  for (const std::size_t k : {16, 128}) {
    const std::string name = "search, k = " + std::to_string(k);
    const std::vector<double> idle = search_times(settings, index, k, kSearches);
    std::atomic<bool> is_over = false;
    std::thread writer([&] { write_steadily(settings, index, is_over); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const std::vector<double> beside = search_times(settings, index, k, kSearches);
    is_over = true;
    writer.join();
    print((name + ", alone").c_str(), idle, 0);
    print((name + ", beside inserts").c_str(), beside, 0);
    std::printf("%-34s %.2f of the median alone\n", "", median(beside) / median(idle));
  }
}

void measure_open(const Settings& settings, Index& index) {
  index.checkpoint();
  index.close();
  const auto open = [&](const char* what) {
    const double start = now_us();
    const Index opened = Index::open(settings.directory, {.writable = true, .num_threads = settings.threads});
    const double opened_at = now_us();
    std::printf("%-34s %.2f s, %llu batches of the log\n", what, (opened_at - start) / 1e6,
                static_cast<unsigned long long>(opened.recovery().num_batches));
  };
  open("open, nothing in the log");
  {
    Index again = Index::open(settings.directory, {.writable = true, .durability = Durability::os});
    RandomRows rows(settings.dims, 6);
    for (int b = 0; b < settings.batches; ++b) again.insert(rows.next(settings.batch));
  }
  open("open, and replay");
}

int run(const Settings& settings) {
  const Table table = generate_table(
      {.kind = TableKind::independent, .num_rows = settings.rows, .num_attributes = settings.dims});
  Index::build(table.view()).save(settings.directory, {.overwrite = true});
  {
    Index index = Index::open(settings.directory, {.writable = true, .num_threads = settings.threads});
    measure_single(settings, index);
    measure_batches(settings, index);
    measure_searches(settings, index);
    measure_open(settings, index);
  }
  std::filesystem::remove_all(settings.directory);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run(culmen::bench::settings_of(argc, argv));
}
