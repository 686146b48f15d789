// Latency and throughput on a GPU, a table of figures instead of Google Benchmark's: the questions are many
// and their worst case counts.
//
//   gpu_latency [--rows=N] [--dims=D] [--kinds=independent,...] [--repeats=R] [--memory=device|managed|host]
//
// For each kind of table, k in 1, 16, 128, 256 and family of weights (Q0..Q4, first and last m attributes, 50
// random, 20 skewed, mixed signs): the engine bounded, warm: each question R times, its median; then the
// median and the worst over the family's questions. Beside it in the same run: the time to read the used
// columns once (a copy's speed: bytes over the time of a device-to-device copy of half as many), scan, gta,
// and batches of 4,096 random weight vectors. Times are of the whole call on the host, from weights to hits.
// Every answer of bounded is compared with the CPU's, mixed signs excepted.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "culmen/culmen.h"
#include "query/cuda/buffer.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::string kinds = "independent,correlated,anticorrelated,ratings,zipf,clusters";
  int repeats = 11;
  std::string memory = "auto";
};

using Weights = std::vector<double>;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double quantile(std::vector<double> times, double p) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1, static_cast<std::size_t>(p * static_cast<double>(times.size())))];
}

template <typename F>
double median_us(int repeats, F&& f) {
  std::vector<double> times;
  f();
  for (int r = 0; r < repeats; ++r) {
    const double start = now_us();
    f();
    times.push_back(now_us() - start);
  }
  return quantile(times, 0.5);
}

Weights random_weights(std::mt19937_64& random, int dims) {
  std::uniform_real_distribution<double> uniform(0, 1);
  Weights weights(static_cast<std::size_t>(dims));
  for (double& w : weights) w = 1 - uniform(random);
  return weights;
}

std::map<std::string, std::vector<Weights>> make_families(int dims) {
  const auto d = static_cast<std::size_t>(dims);
  std::map<std::string, std::vector<Weights>> families;
  Weights rising(d), falling(d), hill(d), valley(d);
  for (std::size_t i = 0; i < d; ++i) {
    const auto middle = static_cast<double>(std::min(i, d - 1 - i));
    rising[i] = 0.1 * static_cast<double>(i + 1);
    falling[i] = 0.1 * static_cast<double>(d - i);
    hill[i] = 0.1 * (middle + 1);
    valley[i] = 0.1 * (static_cast<double>((d + 1) / 2) - middle);
  }
  families["Q0-Q4"] = {Weights(d, 1.0), rising, falling, hill, valley};
  for (std::size_t m = 2; m <= d; ++m) {
    Weights first(d), last(d);
    std::fill_n(first.begin(), m, 1.0);
    std::fill_n(last.rbegin(), m, 1.0);
    families["first/last m"].push_back(first);
    families["first/last m"].push_back(last);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 50; ++i) families["random"].push_back(random_weights(random, dims));
  for (int i = 0; i < 20; ++i) {
    Weights skewed(d);
    for (std::size_t j = 0; j < d; ++j) skewed[j] = std::ldexp(8.0, -static_cast<int>(j));
    std::shuffle(skewed.begin(), skewed.end(), random);
    families["skewed"].push_back(skewed);
    Weights mixed = random_weights(random, dims);
    for (double& w : mixed) w = random() % 2 == 0 ? w : -w;
    families["mixed signs"].push_back(mixed);
  }
  return families;
}

// Microseconds to read `num_bytes` of device memory: a copy of half as many reads as much as it writes.
double read_us(std::size_t num_bytes) {
  const std::size_t half = std::min<std::size_t>(num_bytes / 2, std::size_t{1} << 30);
  const cuda::Buffer<std::byte> from(half), to(half);
  const double us = median_us(5, [&] {
    cuda::check(cudaMemcpy(to.data(), from.data(), half, cudaMemcpyDeviceToDevice));
    cuda::check(cudaDeviceSynchronize());
  });
  return us * static_cast<double>(num_bytes) / static_cast<double>(2 * half);
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings), families_(make_families(settings.dims)) {}

  void run(const std::string& kind) {
    const double start = now_us();
    const Table table = generate_table(
        {.kind = parse_table_kind(kind), .num_rows = settings_.rows, .num_attributes = settings_.dims});
    const double generated = now_us();
    const Index index = Index::build(table.view());
    const double built = now_us();
    const DeviceIndex on_gpu = index.to_device({.memory = parse_device_memory(settings_.memory)});
    std::printf(
        "== %s: %llu x %d, memory %s, %.2f GB on the device; generated %.1f s, built %.1f s, copied %.1f s\n",
        kind.c_str(), static_cast<unsigned long long>(settings_.rows), settings_.dims,
        std::string(device_memory_name(on_gpu.memory())).c_str(),
        static_cast<double>(on_gpu.device_bytes()) * 1e-9, (generated - start) * 1e-6,
        (built - generated) * 1e-6, (now_us() - built) * 1e-6);
    const double read = read_us(settings_.rows * static_cast<std::uint64_t>(settings_.dims) * sizeof(float));
    std::printf("reading all columns once: %.0f us\n", read);
    for (const std::size_t k : {1, 16, 128, 256}) singles(index, on_gpu, k, read);
    others(on_gpu, read);
    for (const std::size_t k : {16, 128}) batch(on_gpu, k);
    std::fflush(stdout);
  }

  int wrong() const { return wrong_; }

 private:
  void singles(const Index& index, const DeviceIndex& on_gpu, std::size_t k, double read) {
    for (const auto& [family, questions] : families_) {
      std::vector<double> medians, blocks;
      for (const Weights& weights : questions) {
        const Query query = {.weights = weights, .k = k};
        SearchResult result;
        medians.push_back(
            median_us(settings_.repeats, [&] { result = on_gpu.search(query, Engine::bounded); }));
        blocks.push_back(static_cast<double>(result.stats.blocks_visited));
        if (family != "mixed signs" && result.hits != index.search(query).hits) ++wrong_;
      }
      const double median = quantile(medians, 0.5), worst = quantile(medians, 1);
      std::printf(
          "bounded k=%-4zu %-13s median %7.1f us, worst %8.1f us (%.0fx, %.0fx), blocks median %.0f max "
          "%.0f\n",
          k, family.c_str(), median, worst, read / median, read / worst, quantile(blocks, 0.5),
          quantile(blocks, 1));
    }
  }

  void others(const DeviceIndex& on_gpu, double read) {
    const Weights& weights = families_["random"][0];
    for (const std::size_t k : {16, 256})
      for (const Engine engine : {Engine::scan, Engine::gta}) {
        SearchResult result;
        const Query query = {.weights = weights, .k = k};
        const double us = median_us(5, [&] { result = on_gpu.search(query, engine); });
        std::printf(
            "%-7s k=%-4zu %8.0f us = %.2f x reading, %.2f %% of the rows scored\n",
            std::string(engine_name(engine)).c_str(), k, us, us / read,
            100 * static_cast<double>(result.stats.tuples_scored) / static_cast<double>(settings_.rows));
      }
  }

  void batch(const DeviceIndex& on_gpu, std::size_t k) {
    std::mt19937_64 random(9);
    std::vector<Query> queries(4096);
    for (Query& query : queries) query = {.weights = random_weights(random, settings_.dims), .k = k};
    std::vector<SearchResult> results;
    const double us = median_us(5, [&] { results = on_gpu.search(queries); });
    double blocks = 0;
    for (const SearchResult& result : results) blocks += static_cast<double>(result.stats.blocks_visited);
    for (std::size_t q = 0; q < queries.size(); q += 64)
      if (results[q].hits != on_gpu.search(queries[q]).hits) ++wrong_;
    std::printf("batch   k=%-4zu 4096 queries in %.0f us = %.0f queries/s, %.0f blocks a query\n", k, us,
                4096e6 / us, blocks / 4096);
  }

  Settings settings_;
  std::map<std::string, std::vector<Weights>> families_;
  int wrong_ = 0;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "--rows")
      settings.rows = std::stoull(value);
    else if (name == "--dims")
      settings.dims = std::stoi(value);
    else if (name == "--kinds")
      settings.kinds = value;
    else if (name == "--repeats")
      settings.repeats = std::stoi(value);
    else if (name == "--memory")
      settings.memory = value;
    else {
      std::fprintf(stderr, "unknown argument %s; see the top of bench/gpu_latency.cc\n", argument.c_str());
      std::exit(2);
    }
  }
  return settings;
}

int run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  if (num_devices() == 0) {
    std::fprintf(stderr, "no GPU\n");
    return 1;
  }
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, 0));
  int driver = 0;
  cuda::check(cudaDriverGetVersion(&driver));
  std::printf("%s, %d multiprocessors, CUDA driver %d, compiler %s\n", properties.name,
              properties.multiProcessorCount, driver, __VERSION__);
  Bench bench(settings);
  std::istringstream kinds(settings.kinds);
  for (std::string kind; std::getline(kinds, kind, ',');) bench.run(kind);
  std::printf("%d wrong answers\n", bench.wrong());
  return bench.wrong() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run(argc, argv);
}
