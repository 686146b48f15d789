// Latency and throughput on a GPU. Prints its own tables instead of Google Benchmark's, because it has to show the
// worst of many queries.
//
//   gpu_latency [--rows=N] [--dims=D] [--kinds=independent,ascending,...] [--memory=device|managed|host|compressed]
//               [--only=warm,cold,resident,scan,gta,count,batch,rivals] [--ks=1,16,...] [--repeats=R] [--splits=S]
//
// Measures, for each kind of table, and compares with the time to read the columns in use once:
//
//   rivals   no index: scores all rows, then CUB's sort or DeviceTopK (gpu/rivals.h)
//   warm     bounded over families of weights (gpu/questions.h): the median of R runs of each question, and the
//            median and the worst of these medians in each family. `all`: all families but mixed signs
//   cold     the same for two families, with the L2 cache overwritten before each search; k = 16, 128
//   resident one random question after the other: launched, and by a kernel that stays (DeviceOptions::resident)
//   scan     one random question: time, bytes, and the speed of reading them relative to a plain read
//   gta      the same; k = 16, 256
//   count    one random question: how many rows score more, from 0.001 % to 99 % of them
//   batch    4,096 random questions in one call; k = 16, 128
//
// --splits makes angle partitions in the GTA paper's grid instead of culmen's own partitions. Times are those of whole
// calls on the host, from weights to hits, except for a second line per batch, from device to device. Answers are
// compared with the CPU's: all but those on mixed signs and most of a batch, the rivals' up to the rounding of float32.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/questions.h"
#include "bench/gpu/reading.h"
#include "bench/gpu/sections.h"
#include "bench/gpu/tables.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::vector<std::string> kinds = {"independent", "correlated", "anticorrelated",
                                    "ratings",     "zipf",       "clusters"};
  std::string memory = "auto";
  std::vector<std::string> only = {"rivals", "warm", "cold", "resident", "scan", "gta", "count", "batch"};
  Ks ks = {1, 16, 128, 256};
  int repeats = 11;
  int splits = 0;

  bool wants(const std::string& section) const { return std::ranges::find(only, section) != only.end(); }
};

Settings parse(int argc, char** argv) {
  Settings settings;
  const std::vector<std::string> sections = settings.only;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_flag(argument, "--rows=", settings.rows) || take_flag(argument, "--dims=", settings.dims) ||
        take_flag(argument, "--kinds=", settings.kinds) ||
        take_flag(argument, "--memory=", settings.memory) || take_flag(argument, "--only=", settings.only) ||
        take_flag(argument, "--ks=", settings.ks) || take_flag(argument, "--repeats=", settings.repeats) ||
        take_flag(argument, "--splits=", settings.splits))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) +
                          "; see the top of bench/gpu_latency.cc");
  }
  for (const std::string& section : settings.only)
    if (std::ranges::find(sections, section) == sections.end())
      throw InvalidArgument("unknown section " + section);
  if (settings.dims < 2 || settings.repeats < 1) throw InvalidArgument("--dims is at least 2, --repeats 1");
  return settings;
}

// Measures the rivals, which need only the table. Call it before the index is copied to the card: then either has the
// card to itself.
int measure_without_index(const Table& table, const Index& index, const Weights& weights,
                          const Settings& settings) {
  if (parse_device_memory(settings.memory) == DeviceMemory::host) {
    std::printf("rivals skipped: the rows are in host memory\n");
    return 0;
  }
  const Reading reading = measure_reading(DeviceMemory::device, settings.rows, settings.dims);
  return measure_rivals(table.view(), index, weights, reading, settings.ks);
}

int measure_index(const Subject& subject, const Weights& weights, const Settings& settings) {
  int wrong = 0;
  if (settings.wants("warm")) wrong += measure_warm(subject, settings.ks);
  if (settings.wants("cold")) wrong += measure_cold(subject, {16, 128});
  if (settings.wants("resident"))
    wrong += measure_resident(
        subject, subject.index.to_device({.memory = subject.on_gpu.memory(), .resident = true}), settings.ks);
  if (settings.wants("scan")) wrong += measure_long(subject, Engine::scan, weights, settings.ks);
  if (settings.wants("gta")) wrong += measure_long(subject, Engine::gta, weights, {16, 256});
  if (settings.wants("count")) wrong += measure_count(subject, weights);
  if (settings.wants("batch")) wrong += measure_batch(subject, {16, 128});
  return wrong;
}

int measure_table(const std::string& kind, const Settings& settings) {
  const std::vector<Family> families = make_families(settings.dims);
  const Weights& weights = find_family(families, "random").questions.front();
  const double start = now_us();
  std::optional<Table> table = make_table(kind, settings.rows, settings.dims);
  const double generated = now_us();
  const Index index = Index::build(table->view(), {.num_splits = settings.splits});
  std::printf("== %s: %llu x %d; generated %.1f s, built %.1f s\n", kind.c_str(),
              static_cast<unsigned long long>(settings.rows), settings.dims, (generated - start) * 1e-6,
              (now_us() - generated) * 1e-6);
  int wrong = settings.wants("rivals") ? measure_without_index(*table, index, weights, settings) : 0;
  table.reset();  // the index holds the values, and its mirror may need the space for pinned memory
  const double copying = now_us();
  const DeviceIndex on_gpu = index.to_device({.memory = parse_device_memory(settings.memory)});
  const double copied = now_us();
  const Reading reading = measure_reading(on_gpu.memory(), settings.rows, settings.dims);
  std::printf(
      "copied %.1f s; rows in %s memory, %.2f GB on the card; reading all columns once: %.0f us, %.0f GB/s\n",
      (copied - copying) * 1e-6, std::string(device_memory_name(on_gpu.memory())).c_str(),
      static_cast<double>(on_gpu.device_bytes()) * 1e-9, reading.us(weights), reading.bytes_per_us * 1e-3);
  return wrong + measure_index({index, on_gpu, families, reading, settings.repeats}, weights, settings);
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // by line, so that an interrupted run has printed its results
  print_card();
  int wrong = 0;
  for (const std::string& kind : settings.kinds) wrong += measure_table(kind, settings);
  std::printf("%d wrong answers\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
