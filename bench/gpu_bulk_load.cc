// The time from a table to an index that a GPU can answer from.
//
//   gpu_bulk_load [--rows=256000000] [--dims=8] [--kind=independent] [--partition=auto|kd|angle|random]
//                 [--memory=pinned|pageable] [--repeats=3] [--cpu_rows=16000000] [--devices=1]
//
// The table's float32 columns lie in pinned or pageable host memory. Built on the GPU: seconds in all, from the table
// to the first answer, and of each phase, as on_progress reports them; `mirror` is to_device, which adopts the arrays
// of the build if one device built. devices: how many build, one number after the other; several do so together, and a machine with
// fewer GPUs names them more than once. Before that the same for a table of `cpu_rows`, and the loader on the CPU; the answers of
// both indexes are compared.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/tables.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "culmen/culmen.h"
#include "gpu/cuda/error.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 256'000'000;
  std::uint64_t cpu_rows = 16'000'000;
  int dims = 8;
  std::string kind = "independent";
  std::string partition = "auto";
  std::string memory = "pinned";
  int repeats = 3;
  std::vector<int> devices = {1};
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_flag(argument, "--rows=", settings.rows) ||
        take_flag(argument, "--cpu_rows=", settings.cpu_rows) ||
        take_flag(argument, "--dims=", settings.dims) || take_flag(argument, "--kind=", settings.kind) ||
        take_flag(argument, "--partition=", settings.partition) ||
        take_flag(argument, "--memory=", settings.memory) ||
        take_flag(argument, "--repeats=", settings.repeats) ||
        take_flag(argument, "--devices=", settings.devices))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) +
                          "; see the top of bench/gpu_bulk_load.cc");
  }
  return settings;
}

// Pins the columns of a table for its own lifetime.
class PinnedColumns {
 public:
  PinnedColumns(const TableView& table, bool wanted) {
    for (std::size_t i = 0; wanted && i < table.columns.size(); ++i) {
      // The register call takes a pointer to writable memory.
      auto* column = const_cast<float*>(float_column(table, i));
      cuda::check(cudaHostRegister(column, table.num_rows * sizeof(float), cudaHostRegisterDefault));
      columns_.push_back(column);
    }
  }
  ~PinnedColumns() {
    for (float* column : columns_) cudaHostUnregister(column);
  }
  PinnedColumns(const PinnedColumns&) = delete;
  PinnedColumns& operator=(const PinnedColumns&) = delete;

 private:
  std::vector<float*> columns_;
};

// Seconds of each phase of a build, in the order in which they begin.
class Phases {
 public:
  std::function<void(std::string_view, double)> listener() {
    return [this](std::string_view phase, double) { next(phase); };
  }
  void next(std::string_view phase) {
    const double now = now_us();
    if (!names_.empty()) seconds_[current_] += (now - since_) * 1e-6;
    current_ = phase;
    since_ = now;
    if (std::ranges::find(names_, current_) == names_.end()) names_.push_back(current_);
  }
  void print() const {
    for (const std::string& name : names_)
      if (seconds_.contains(name)) std::printf("  %s %.3f", name.c_str(), seconds_.at(name));
    std::printf("\n");
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, double> seconds_;
  std::string current_;
  double since_ = 0;
};

BuildOptions options_of(const Settings& settings, Phases& phases) {
  const Partitioning partitioning = settings.partition == "random"  ? Partitioning::random
                                    : settings.partition == "angle" ? Partitioning::angle
                                    : settings.partition == "kd"    ? Partitioning::kd
                                                                    : Partitioning::automatic;
  return {.partitioning = partitioning, .value_type = ValueType::float32, .on_progress = phases.listener()};
}

Index build_on_cpu(const TableView& table, const Settings& settings) {
  Phases phases;
  const double start = now_us();
  Index index = Index::build(table, options_of(settings, phases));
  phases.next("end");
  std::printf("CPU, %zu rows: %.3f s ", table.num_rows, (now_us() - start) * 1e-6);
  phases.print();
  return index;
}

std::vector<Hit> first_answer(const DeviceIndex& index, int dims) {
  return index.search({.weights = std::vector<double>(static_cast<std::size_t>(dims), 1.0), .k = 16}).hits;
}

struct Built {
  Index index;
  DeviceIndex on_gpu;
};

Built build_on_gpu(const TableView& table, const Settings& settings, int count) {
  Phases phases;
  BuildOptions options = options_of(settings, phases);
  for (int i = 0; i < count; ++i) options.devices.push_back(i % num_devices());
  options.stays_on_device = true;
  const double start = now_us();
  Index index = Index::build(table, options);
  phases.next("mirror");
  DeviceIndex on_gpu = index.to_device();
  phases.next("answer");
  first_answer(on_gpu, settings.dims);
  phases.next("end");
  std::printf("%d GPU%s, %zu rows: %.3f s ", count, count == 1 ? "" : "s", table.num_rows,
              (now_us() - start) * 1e-6);
  phases.print();
  return {std::move(index), std::move(on_gpu)};
}

int count_differences(const Index& expected, const DeviceIndex& found, int dims) {
  std::mt19937_64 random(3);
  int wrong = 0;
  for (int q = 0; q < 20; ++q) {
    const Query query = {.weights = random_weights(random, dims), .k = 100};
    if (found.search(query).hits != expected.search(query).hits) ++wrong;
  }
  return wrong;
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  print_card();
  const bool is_pinned = settings.memory == "pinned";
  int wrong = 0;
  {
    const Table table = make_table(settings.kind, settings.cpu_rows, settings.dims);
    const TableView view = table.view();
    const PinnedColumns pinned(view, is_pinned);
    const Index on_cpu = build_on_cpu(view, settings);
    for (const int count : settings.devices)
      for (int i = 0; i < settings.repeats; ++i)
        wrong += count_differences(on_cpu, build_on_gpu(view, settings, count).on_gpu, settings.dims);
  }
  const Table table = make_table(settings.kind, settings.rows, settings.dims);
  const TableView view = table.view();
  const PinnedColumns pinned(view, is_pinned);
  for (const int count : settings.devices)
    for (int i = 0; i < settings.repeats; ++i) {
      const Built built = build_on_gpu(view, settings, count);
      wrong += count_differences(built.index, built.on_gpu, settings.dims);
    }
  std::printf("%d wrong answers\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
