// Groups of GPUs: 1, 2, ... of them, or as many logical devices on one. Prints a line for each group.
//
//   gpu_group [--rows=N] [--dims=D] [--kind=independent] [--devices=0,1] [--memory=device|managed|host]
//             [--layout=replicate|shard] [--queries=16384] [--ks=16,128] [--repeats=R] [--arrays=kept|pinned|new]
//
//   copy      making the group: s
//   batch     a batch of different random questions, from the host to the host: thousands of questions a second, and in
//             brackets how many times that of a DeviceIndex on the first GPU. Weights of one sign (+) and of both (+-).
//             The answers are written to arrays that are kept, that are kept in pinned memory, as the weights then
//             are, or that are new for each batch
//   single    one question of a batch after the other, both signs, the first k: the median, us
//   refresh   until all copies have 1,000 replaced rows, the median: ms. In brackets its parts, of the slowest copy:
//             finding what is new, gathering it, copying with the gathering; and the bytes for one copy
//
// Groups have the first 1, 2, ... of --devices, by default all GPUs; one that is named twice is two logical devices.
// All answers are compared with those of the DeviceIndex.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/tables.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"
#include "gpu/cuda/buffer.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::string kind = "independent";
  std::vector<int> devices;
  std::string memory = "auto", layout = "replicate";
  std::size_t queries = 16'384;
  std::vector<std::size_t> ks = {16, 128};
  int repeats = 9;
  std::string arrays = "kept";
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_flag(argument, "--rows=", settings.rows) || take_flag(argument, "--dims=", settings.dims) ||
        take_flag(argument, "--kind=", settings.kind) ||
        take_flag(argument, "--devices=", settings.devices) ||
        take_flag(argument, "--memory=", settings.memory) ||
        take_flag(argument, "--layout=", settings.layout) ||
        take_flag(argument, "--queries=", settings.queries) || take_flag(argument, "--ks=", settings.ks) ||
        take_flag(argument, "--repeats=", settings.repeats) ||
        take_flag(argument, "--arrays=", settings.arrays))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) +
                          "; see the top of bench/gpu_group.cc");
  }
  if (settings.devices.empty())
    for (int device = 0; device < num_devices(); ++device) settings.devices.push_back(device);
  return settings;
}

// A batch, and the answers and the time of one device.
struct Questions {
  std::string name;
  std::vector<double> weights;
  std::size_t k = 0;
  BatchAnswers expected;
  double one_device_us = 0;

  QueryBatch batch() const { return {.weights = weights, .k = k}; }
};

// The median after some that warm up, in which a group learns the speeds of its devices.
double batch_us(const auto& on_gpu, const Questions& questions, const Settings& settings) {
  constexpr int kWarmUps = 8;
  BatchAnswers answers = questions.expected;
  AnswerArrays arrays = {answers.ids, answers.scores, answers.counts};
  QueryBatch batch = questions.batch();
  cuda::Buffer<double> weights, scores;
  cuda::Buffer<std::int64_t> ids;
  if (settings.arrays == "pinned") {
    weights = cuda::Buffer<double>(batch.weights.size(), cuda::Memory::pinned);
    scores = cuda::Buffer<double>(arrays.scores.size(), cuda::Memory::pinned);
    ids = cuda::Buffer<std::int64_t>(arrays.ids.size(), cuda::Memory::pinned);
    std::ranges::copy(batch.weights, weights.data());
    batch.weights = {weights.data(), weights.size()};
    arrays.scores = {scores.data(), scores.size()};
    arrays.ids = {ids.data(), ids.size()};
  }
  const auto ask = [&] {
    if (settings.arrays == "new") {
      static_cast<void>(on_gpu.search_batch(batch));
    } else {
      on_gpu.search_batch(batch, arrays);
    }
  };
  times_us(kWarmUps, ask);
  return median(times_us(settings.repeats, ask));
}

std::vector<Questions> make_questions(const Settings& settings, const DeviceIndex& one_device) {
  std::vector<Questions> all;
  for (const bool both_signs : {false, true})
    for (const std::size_t k : settings.ks) {
      Questions questions;
      questions.name = std::string(both_signs ? "+-" : "+") + " k=" + std::to_string(k);
      questions.k = k;
      std::mt19937_64 random(11);
      std::uniform_real_distribution<double> weight(both_signs ? -1 : 0, 1);
      for (std::size_t i = 0; i < settings.queries * static_cast<std::size_t>(settings.dims); ++i)
        questions.weights.push_back(weight(random));
      questions.expected = one_device.search_batch(questions.batch());
      questions.one_device_us = batch_us(one_device, questions, settings);
      all.push_back(std::move(questions));
    }
  return all;
}

double single_us(const auto& on_gpu, const Questions& questions, std::size_t dims) {
  constexpr std::size_t kSingles = 500;
  std::vector<double> times;
  for (std::size_t q = 0; q < std::min(kSingles, questions.expected.num_queries); ++q) {
    const std::span<const double> weights = std::span(questions.weights).subspan(q * dims, dims);
    const Query query = {.weights = {weights.begin(), weights.end()}, .k = questions.k};
    const double start = now_us();
    static_cast<void>(on_gpu.search(query));
    times.push_back(now_us() - start);
  }
  return median(times);
}

// Replaces rows by their own values, so that answers stay as they are.
struct RefreshTimes {
  double all_ms, find_ms, gather_ms, copy_ms, megabytes;
};

RefreshTimes refresh_times(Index& index, const DeviceGroup& group, int repeats) {
  constexpr std::size_t kRows = 1000;
  std::mt19937_64 random(12);
  std::vector<double> times, find, gather, copy, bytes;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<std::int64_t> ids;
    while (ids.size() < kRows) {
      const auto id = static_cast<std::int64_t>(random() % index.info().num_rows);
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    }
    std::vector<std::vector<double>> columns(index.info().attributes.size());
    for (const std::optional<Row>& row : index.get(ids))
      for (std::size_t i = 0; i < columns.size(); ++i) columns[i].push_back(row->values[i]);
    TableView rows;
    rows.num_rows = kRows;
    rows.attributes = index.schema().attributes;
    rows.ids = ids;
    for (const std::vector<double>& column : columns) rows.columns.emplace_back(column);
    index.upsert(rows);
    const double start = now_us();
    const std::vector<RefreshStats> stats = group.refresh();
    times.push_back((now_us() - start) * 1e-3);
    const auto slowest = [&](double RefreshStats::*part) {
      double most = 0;
      for (const RefreshStats& member : stats) most = std::max(most, member.*part);
      return most * 1e-3;
    };
    find.push_back(slowest(&RefreshStats::find_us));
    gather.push_back(slowest(&RefreshStats::gather_us));
    copy.push_back(slowest(&RefreshStats::copy_us));
    bytes.push_back(static_cast<double>(stats.front().bytes) * 1e-6);
  }
  return {median(times), median(find), median(gather), median(copy), median(bytes)};
}

bool is_same(const BatchAnswers& a, const BatchAnswers& b) {
  return a.ids == b.ids && a.scores == b.scores && a.counts == b.counts;
}

int measure_group(Index& index, const std::vector<int>& devices, const std::vector<Questions>& all,
                  const Settings& settings) {
  const double start = now_us();
  const DeviceGroup group = index.to_devices(devices, {.memory = parse_device_memory(settings.memory),
                                                       .layout = parse_device_layout(settings.layout)});
  std::printf("%zu devices: copy %.2f s", devices.size(), (now_us() - start) * 1e-6);
  int wrong = 0;
  for (const Questions& questions : all) {
    wrong += is_same(group.search_batch(questions.batch()), questions.expected) ? 0 : 1;
    const double us = batch_us(group, questions, settings);
    std::printf("; %s %.0f (%.2f)", questions.name.c_str(), static_cast<double>(settings.queries) / us * 1e3,
                questions.one_device_us / us);
  }
  const RefreshTimes refresh = refresh_times(index, group, settings.repeats);
  std::printf("; single %.1f; refresh %.2f (find %.2f, gather %.2f, copy %.2f, %.1f MB); shares",
              single_us(group, all[settings.ks.size()], static_cast<std::size_t>(settings.dims)),
              refresh.all_ms, refresh.find_ms, refresh.gather_ms, refresh.copy_ms, refresh.megabytes);
  for (const DeviceMember& member : group.members()) std::printf(" %.2f", member.share);
  wrong += is_same(group.search_batch(all[0].batch()), all[0].expected) ? 0 : 1;
  std::printf("\n");
  return wrong;
}

// Each device builds once, even if it is to be several logical ones.
Index build_on(std::vector<int> devices, const Table& table) {
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  BuildOptions options;
  options.devices = std::move(devices);
  return Index::build(table.view(), options);
}

int run(const Settings& settings) {
  if (settings.devices.empty()) throw CudaError("no GPU");
  if (settings.arrays != "kept" && settings.arrays != "pinned" && settings.arrays != "new")
    throw InvalidArgument("unknown arrays '" + settings.arrays + "'; use kept, pinned or new");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // by line, so that an interrupted run has printed its results
  print_card();
  Index index = build_on(settings.devices, make_table(settings.kind, settings.rows, settings.dims));
  std::printf("== %s: %llu x %d, %s, batches of %zu; batch rates in thousands a second\n",
              settings.kind.c_str(), static_cast<unsigned long long>(settings.rows), settings.dims,
              settings.layout.c_str(), settings.queries);
  std::vector<Questions> all;
  {
    const DeviceIndex one_device =
        index.to_device({.device = settings.devices.front(), .memory = parse_device_memory(settings.memory)});
    all = make_questions(settings, one_device);
    std::printf("DeviceIndex");
    for (const Questions& questions : all)
      std::printf("; %s %.0f", questions.name.c_str(),
                  static_cast<double>(settings.queries) / questions.one_device_us * 1e3);
    std::printf("; single %.1f\n",
                single_us(one_device, all[settings.ks.size()], static_cast<std::size_t>(settings.dims)));
  }
  int wrong = 0;
  for (std::size_t count = 1; count <= settings.devices.size(); ++count)
    wrong += measure_group(
        index, {settings.devices.begin(), settings.devices.begin() + static_cast<std::ptrdiff_t>(count)}, all,
        settings);
  std::printf("%d wrong answers\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
