// The delay until a change of the index is on the GPU, and the time of searches there meanwhile.
//
//   gpu_refresh [--rows=N] [--dims=D] [--kind=independent] [--memory=device|managed|host]
//               [--only=changes,searches] [--batch=1000] [--batches=100] [--pause_us=5000] [--seconds=5]
//
//   changes    batches of random inserts, of upserts of random rows, of erasures, and of a third of each, and
//              of one row: the time from when a version is published until the GPU has it, median, 95 % and
//              worst. `find`: what is new in the tree; `gather`: into pinned memory; `copy`: gather, and
//              until the device has it. Some answers are compared with the CPU's
//   searches   engine bounded, k = 16, random weights, one thread: alone; with a writer that refreshes the copy
//              after each batch; with one that leaves the refresh to the searches. One batch of inserts every
//              `pause_us`, which includes the time to make the next one
//
// The writer only changes the tree: no log, no disk.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/device_index.h"
#include "base/floating_point_scope.h"
#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/tables.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "cpu/bounded.h"
#include "culmen/culmen.h"
#include "index/build/bulk_load.h"
#include "index/write/tree_writer.h"
#include "query/resolve.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::string kind = "independent";
  std::string memory = "auto";
  std::vector<std::string> only = {"changes", "searches"};
  std::size_t batch = 1000;
  int batches = 100;
  int pause_us = 5000;
  int seconds = 5;

  bool wants(const std::string& section) const { return std::ranges::find(only, section) != only.end(); }
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_flag(argument, "--rows=", settings.rows) || take_flag(argument, "--dims=", settings.dims) ||
        take_flag(argument, "--kind=", settings.kind) || take_flag(argument, "--memory=", settings.memory) ||
        take_flag(argument, "--only=", settings.only) || take_flag(argument, "--batch=", settings.batch) ||
        take_flag(argument, "--batches=", settings.batches) ||
        take_flag(argument, "--pause_us=", settings.pause_us) ||
        take_flag(argument, "--seconds=", settings.seconds))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) +
                          "; see the top of bench/gpu_refresh.cc");
  }
  return settings;
}

// A tree of float32 rows with ids 0, 1, 2, ... and its changes.
class Writer {
 public:
  explicit Writer(const Settings& settings)
      : dims_(static_cast<std::size_t>(settings.dims)), num_ids_(static_cast<std::int64_t>(settings.rows)) {
    const Table table = make_table(settings.kind, settings.rows, settings.dims);
    const FloatingPointScope floating_point;
    const std::shared_ptr<const Snapshot> loaded =
        bulk_load(table.view(), {.value_type = ValueType::float32});
    writer_.emplace(loaded);
    published_ = std::make_shared<Published>(loaded);
  }

  const std::shared_ptr<Published>& published() const { return published_; }

  void insert(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) change_.ids.push_back(num_ids_++);
  }
  // Replaces random rows: erases them and inserts others with the same ids.
  void upsert(std::size_t count) {
    const std::size_t first = change_.removed.size();
    erase(count);
    change_.ids.insert(change_.ids.end(), change_.removed.begin() + static_cast<std::ptrdiff_t>(first),
                       change_.removed.end());
  }
  void erase(std::size_t count) {
    while (count > 0) {
      const auto id = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(num_ids_));
      if (!writer_->contains(id) || std::ranges::find(change_.removed, id) != change_.removed.end() ||
          std::ranges::find(change_.ids, id) != change_.ids.end())
        continue;
      change_.removed.push_back(id);
      --count;
    }
  }

  // The version with the steps so far; not yet published.
  std::shared_ptr<const Snapshot> make_version() {
    const FloatingPointScope floating_point;
    std::vector<float> values(dims_ * change_.ids.size());
    for (float& value : values) value = static_cast<float>(random_() >> 40) * 0x1p-24f;
    change_.values.resize(values.size() * sizeof(float));
    std::memcpy(change_.values.data(), values.data(), change_.values.size());
    change_.next_id = num_ids_;
    writer_->apply(change_);
    change_ = {};
    return writer_->finish_version(writer_->current().version);
  }

 private:
  std::size_t dims_;
  std::int64_t num_ids_;
  std::mt19937_64 random_{5};
  std::optional<TreeWriter> writer_;
  std::shared_ptr<Published> published_;
  Change change_;
};

std::vector<Hit> hits_of_cpu(const Snapshot& snapshot, const Query& query) {
  const FloatingPointScope floating_point;
  SearchStats stats;
  return cpu::search_bounded(snapshot, resolve(query, snapshot), stats);
}

struct Spread {
  std::vector<double> values;

  void print(const char* name, const char* unit, double scale) const {
    std::printf("  %s %.5g, %.5g, %.5g %s", name, median(values) * scale, quantile(values, 0.95) * scale,
                quantile(values, 1) * scale, unit);
  }
};

template <typename Steps>
int measure_change(const std::string& name, Writer& writer, const DeviceIndex& on_gpu,
                   const Settings& settings, Steps&& steps) {
  Spread writing, visible, finding, gathering, copying, leaves, nodes, bytes;
  std::mt19937_64 random(9);
  int wrong = 0, num_whole = 0;
  for (int b = 0; b < settings.batches; ++b) {
    steps();
    const double start = now_us();
    std::shared_ptr<const Snapshot> version = writer.make_version();
    writing.values.push_back(now_us() - start);
    const std::uint64_t number = version->version;
    const double publishing = now_us();
    writer.published()->set(std::move(version));
    const RefreshStats stats = on_gpu.refresh();
    visible.values.push_back(now_us() - publishing);
    finding.values.push_back(stats.find_us);
    gathering.values.push_back(stats.gather_us);
    copying.values.push_back(stats.copy_us);
    leaves.values.push_back(static_cast<double>(stats.leaves));
    nodes.values.push_back(static_cast<double>(stats.nodes));
    bytes.values.push_back(static_cast<double>(stats.bytes));
    num_whole += stats.is_whole ? 1 : 0;
    if (b % 10 != 0) continue;
    const Query query = {.weights = random_weights(random, settings.dims), .k = 100};
    const SearchResult result = on_gpu.search(query);
    if (result.version() != number || result.hits != hits_of_cpu(*result.snapshot, query)) ++wrong;
  }
  std::printf("%-18s", name.c_str());
  visible.print("visible", "us", 1);
  finding.print(" find", "us", 1);
  gathering.print(" gather", "us", 1);
  copying.print(" copy", "us", 1);
  leaves.print(" leaves", "", 1);
  nodes.print(" nodes", "", 1);
  bytes.print(" of", "MB", 1e-6);
  writing.print(" written in", "ms", 1e-3);
  std::printf("  %d whole, %d wrong\n", num_whole, wrong);
  return wrong;
}

int measure_changes(Writer& writer, const DeviceIndex& on_gpu, const Settings& settings) {
  std::printf("changes: batches of %zu, %d of each kind; median, 95 %%, worst\n", settings.batch,
              settings.batches);
  const std::size_t size = settings.batch, third = settings.batch / 3;
  const auto measure = [&](const char* name, auto&& steps) {
    return measure_change(name, writer, on_gpu, settings, steps);
  };
  int wrong = measure("inserts", [&] { writer.insert(size); });
  wrong += measure("upserts", [&] { writer.upsert(size); });
  wrong += measure("erasures", [&] { writer.erase(size); });
  wrong += measure("a third of each", [&] {
    writer.upsert(third);
    writer.erase(third);
    writer.insert(third);
  });
  wrong += measure("one row", [&] { writer.insert(1); });
  return wrong;
}

// Microseconds of each search until `stop`.
std::vector<double> search_until(const std::atomic<bool>& stop, const DeviceIndex& on_gpu, int dims) {
  std::mt19937_64 random(11);
  std::vector<double> times;
  while (!stop) {
    const Query query = {.weights = random_weights(random, dims), .k = 16};
    const double start = now_us();
    const SearchResult result = on_gpu.search(query);
    times.push_back(now_us() - start);
  }
  return times;
}

enum class Beside { nobody, writer_who_refreshes, writer_alone };

void measure_searches(const char* name, Beside beside, Writer& writer, const DeviceIndex& on_gpu,
                      const Settings& settings) {
  std::atomic<bool> stop = false;
  std::vector<double> times;
  std::jthread searching([&] { times = search_until(stop, on_gpu, settings.dims); });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(settings.seconds);
  int num_batches = 0;
  for (auto next = std::chrono::steady_clock::now(); next < end;) {
    next += std::chrono::microseconds(settings.pause_us);
    if (beside != Beside::nobody) {
      writer.insert(settings.batch);
      writer.published()->set(writer.make_version());
      if (beside == Beside::writer_who_refreshes) on_gpu.refresh();
      ++num_batches;
      next = std::max(next, std::chrono::steady_clock::now());
    }
    std::this_thread::sleep_until(next);
  }
  stop = true;
  searching.join();
  std::printf("%-24s %8zu searches, %4d batches: median %.1f, 95 %% %.1f, 99 %% %.1f, worst %.1f us\n", name,
              times.size(), num_batches, median(times), quantile(times, 0.95), quantile(times, 0.99),
              quantile(times, 1));
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  print_card();
  const double start = now_us();
  Writer writer(settings);
  const double built = now_us();
  const DeviceIndex on_gpu =
      make_device_index(writer.published(), {.memory = parse_device_memory(settings.memory)});
  std::printf("%s: %llu x %d; made in %.1f s, copied in %.3f s; rows in %s memory, %.2f GB on the card\n",
              settings.kind.c_str(), static_cast<unsigned long long>(settings.rows), settings.dims,
              (built - start) * 1e-6, (now_us() - built) * 1e-6,
              std::string(device_memory_name(on_gpu.memory())).c_str(),
              static_cast<double>(on_gpu.device_bytes()) * 1e-9);
  const int wrong = settings.wants("changes") ? measure_changes(writer, on_gpu, settings) : 0;
  if (settings.wants("searches")) {
    measure_searches("alone", Beside::nobody, writer, on_gpu, settings);
    measure_searches("writer refreshes", Beside::writer_who_refreshes, writer, on_gpu, settings);
    measure_searches("searches refresh", Beside::writer_alone, writer, on_gpu, settings);
  }
  std::printf("%d wrong answers\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
