// A pass over all rows on a GPU, of packed rows (DeviceMemory::compressed) and of rows as they are: every value is decoded, weighted
// and summed.
//
//   gpu_decode [--rows=N] [--only=NAME,...] [--repeats=R]
//
// A line for each of several tables of 8 attributes: bits a value, the bytes that the copy keeps on the card, and of both
// passes the time, the bytes of values that they read in a second, and these beside a plain copy's reading and writing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/decode_card.h"
#include "bench/gpu/reading.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"
#include "gpu/mirror/mirror.h"
#include "gpu/mirror/packed_leaf.h"
#include "index/build/bulk_load.h"

namespace culmen::bench {
namespace {

constexpr int kDims = 8;

struct Settings {
  std::uint64_t rows = 16'000'000;
  std::vector<std::string> only;
  int repeats = 21;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--only=", settings.only) &&
        !take_flag(argument, "--repeats=", settings.repeats))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/gpu_decode.cc");
  }
  return settings;
}

using Random = std::mt19937_64;

double uniform(Random& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

struct Kind {
  std::string name;
  ValueType type;
  std::function<double(Random&)> value;
};

std::vector<Kind> kinds() {
  const auto rounded = [](double value, double power) { return std::round(value * power) / power; };
  return {
      {"ratings", ValueType::float32, [=](Random& r) { return rounded(1 + 9 * uniform(r), 10); }},
      {"counts", ValueType::float64, [](Random& r) { return std::floor(-300 * std::log(1 - uniform(r))); }},
      {"prices", ValueType::float64, [=](Random& r) { return rounded(1000 * uniform(r), 100); }},
      {"coordinates", ValueType::float64, [=](Random& r) { return rounded(360 * uniform(r) - 180, 10'000); }},
      {"random float32", ValueType::float32,
       [](Random& r) { return static_cast<double>(static_cast<float>(uniform(r))); }},
      {"random float64", ValueType::float64, [](Random& r) { return uniform(r); }},
  };
}

std::shared_ptr<Snapshot> make_index(const Kind& kind, std::uint64_t rows) {
  std::vector<std::vector<double>> columns(kDims);
  TableView table;
  table.num_rows = rows;
  Random random(1);
  for (int i = 0; i < kDims; ++i) {
    std::vector<double>& column = columns[static_cast<std::size_t>(i)];
    column.resize(rows);
    std::ranges::generate(column, [&] { return kind.value(random); });
    table.attributes.push_back({"a" + std::to_string(i)});
    table.columns.emplace_back(column);
  }
  return bulk_load(table, {.value_type = kind.type});
}

// Of the values that a pass reads: packed numbers, exceptions and heads.
double packed_value_bytes(const Snapshot& s) {
  std::vector<std::byte> bytes;
  double sum = 0;
  for (const std::uint32_t leaf : s.order().leaves) {
    bytes.clear();
    gpu::pack_leaf(s, leaf, bytes);
    const gpu::PackedLeaf packed = {bytes.data()};
    const std::size_t first = packed.head(gpu::kFirstAttribute).first_word * sizeof(std::uint64_t);
    sum += static_cast<double>(bytes.size() - first + s.attributes.size() * sizeof(gpu::ColumnHead));
  }
  return sum;
}

int measure(const Kind& kind, const Settings& settings) {
  const auto published = std::make_shared<Published>(make_index(kind, settings.rows));
  const Snapshot& s = *published->get();
  const std::vector<double> weights = {0.31, -0.72, 0.55, 0.18, -0.4, 0.93, -0.06, 0.77};
  const double least = 0;
  const double speed = measure_reading(DeviceMemory::device, settings.rows, kDims).bytes_per_us;
  const double packed_bytes = packed_value_bytes(s);
  const double values = static_cast<double>(settings.rows) * kDims;
  std::vector<std::uint64_t> found;
  std::printf("%-15s %5.1f bits", kind.name.c_str(), 8 * packed_bytes / values);
  for (const DeviceMemory memory : {DeviceMemory::compressed, DeviceMemory::device}) {
    gpu::Mirror mirror(published, {.memory = memory});
    const DecodePass pass = pass_over_rows(mirror.latest(), weights, least, settings.repeats);
    const bool is_packed = memory == DeviceMemory::compressed;
    const double bytes = is_packed ? packed_bytes : values * (kind.type == ValueType::float32 ? 4 : 8);
    const double us = median(pass.times_us);
    std::printf(" | %s %.2f GB, %.0f us, %.0f GB/s, %.2f", is_packed ? "packed" : "plain",
                static_cast<double>(mirror.device_bytes()) * 1e-9, us, bytes / us * 1e-3, bytes / us / speed);
    found.push_back(pass.num_rows);
  }
  std::printf(" %s\n", found[0] == found[1] ? "(same rows)" : "WRONG");
  return found[0] == found[1] ? 0 : 1;
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  print_card();
  int wrong = 0;
  for (const Kind& kind : kinds())
    if (settings.only.empty() || std::ranges::find(settings.only, kind.name) != settings.only.end())
      wrong += measure(kind, settings);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
