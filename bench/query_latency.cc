// Latency of one query at a time, per engine, distribution and k, and the time to read the table once.
//
//   read/KIND            sum of all attribute values, all threads: the memory's own speed
//   scan/KIND/k          engine scan, all threads; share_of_read: read time / scan time
//   gta/KIND/k           the paper's rule, all threads; scored: share of rows it scored
//   bounded/KIND/k       engine bounded, one thread, over all random weight vectors; read_over_median: how
//                        many times faster than reading the table once with all threads
//
// Every answer is compared with scan's before the clock starts (some of the weight vectors). Times are warm
// and include everything from the weights to the sorted hits. Counters: median_us, p95_us, max_us, scored,
// leaves.
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/defaults.h"
#include "bench/read_memory.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

constexpr const char* kKinds[] = {"independent", "correlated", "anticorrelated"};
constexpr std::size_t kChecked = 8;      // weight vectors compared with scan
constexpr std::size_t kSlowQueries = 5;  // weight vectors for the engines that read much

// One distribution at a time: its index, and an array of the size of its attributes for the plain read.
class Workload {
 public:
  explicit Workload(const Settings& settings) : settings_(settings), weights_(random_weights(settings)) {}

  const Index& index(const std::string& kind) {
    if (kind != kind_) {
      index_.reset();
      const Table table = generate_table({.kind = parse_table_kind(kind),
                                          .num_rows = settings_.rows,
                                          .num_attributes = settings_.dims,
                                          .num_threads = settings_.threads});
      index_ = Index::build(table.view(), {.num_threads = settings_.threads});
      kind_ = kind;
    }
    return *index_;
  }

  // Microseconds to read as many float32 values as the table has, with all threads; best of a few.
  double read_us() {
    if (read_us_ > 0) return read_us_;
    tbb::task_arena arena(settings_.threads == 0 ? tbb::task_arena::automatic : settings_.threads);
    read_us_ = arena.execute(
        [&] { return read_memory_us(settings_.rows * static_cast<std::size_t>(settings_.dims)); });
    return read_us_;
  }

  const Settings& settings() const { return settings_; }
  const std::vector<std::vector<double>>& weights() const { return weights_; }

 private:
  Settings settings_;
  std::vector<std::vector<double>> weights_;
  std::string kind_;
  std::optional<Index> index_;
  double read_us_ = 0;
};

bool agrees_with_scan(Workload& load, const std::string& kind, std::size_t k, Engine engine) {
  const Index& index = load.index(kind);
  for (std::size_t q = 0; q < std::min(kChecked, load.weights().size()); ++q) {
    const Query query{.weights = load.weights()[q], .k = k};
    if (index.search(query, {.engine = engine}).hits != index.search(query, {.engine = Engine::scan}).hits)
      return false;
  }
  return true;
}

void run_queries(benchmark::State& state, Workload& load, const std::string& kind, std::size_t k,
                 Engine engine) {
  const Index& index = load.index(kind);
  if (engine != Engine::scan && !agrees_with_scan(load, kind, k, engine))
    return state.SkipWithError("the answer differs from scan's");
  const std::size_t count =
      engine == Engine::bounded ? load.weights().size() : std::min(kSlowQueries, load.weights().size());
  const SearchOptions options{.engine = engine,
                              .num_threads = engine == Engine::bounded ? 1 : load.settings().threads};
  std::vector<double> times;
  double scored = 0, leaves = 0;
  for (auto _ : state) {
    for (std::size_t q = 0; q < count; ++q) {
      const Query query{.weights = load.weights()[q], .k = k};
      const double start = now_us();
      const SearchResult result = index.search(query, options);
      times.push_back(now_us() - start);
      scored += static_cast<double>(result.stats.rows_scored);
      leaves += static_cast<double>(result.stats.leaves_visited);
    }
  }
  const auto searches = static_cast<double>(times.size());
  state.SetItemsProcessed(static_cast<std::int64_t>(times.size()));
  state.counters["median_us"] = quantile(times, 0.5);
  state.counters["p95_us"] = quantile(times, 0.95);
  state.counters["max_us"] = quantile(times, 1);
  state.counters["leaves"] = leaves / searches;
  state.counters["scored"] = scored / searches / static_cast<double>(load.settings().rows);
  const double ratio = load.read_us() / quantile(times, 0.5);
  state.counters[engine == Engine::scan ? "share_of_read" : "read_over_median"] = ratio;
}

void run_read(benchmark::State& state, Workload& load) {
  for (auto _ : state) benchmark::DoNotOptimize(load.read_us());
  const double bytes = static_cast<double>(load.settings().rows) * load.settings().dims * sizeof(float);
  state.counters["read_us"] = load.read_us();
  state.counters["GB/s"] = bytes / load.read_us() / 1e3;
}

void register_all(Workload& load) {
  benchmark::RegisterBenchmark("read", [&load](benchmark::State& state) {
    run_read(state, load);
  })->Iterations(1);
  const auto add = [&load](const std::string& kind, std::size_t k, Engine engine, int iterations) {
    const std::string name = std::string(engine_name(engine)) + "/" + kind + "/" + std::to_string(k);
    benchmark::RegisterBenchmark(name.c_str(), [&load, kind, k, engine](benchmark::State& state) {
      run_queries(state, load, kind, k, engine);
    })->Iterations(iterations);
  };
  for (const char* kind : kKinds) {
    for (std::size_t k : {16, 256}) add(kind, k, Engine::scan, 3);
    for (std::size_t k : {16, 128}) add(kind, k, Engine::gta, 1);
    for (std::size_t k : {1, 16, 128, 256}) add(kind, k, Engine::bounded, 5);
  }
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  culmen::bench::Workload load(culmen::bench::initialize(argc, argv));
  culmen::bench::register_all(load);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
