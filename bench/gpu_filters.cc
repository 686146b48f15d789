// Batches on a GPU with a filter for each query, on an integer and a text column.
//
//   gpu_filters [--rows=N] [--dims=D] [--kind=independent] [--queries=4096] [--repeats=R]
//
// A line for each kind of filter: the share of the rows that pass, the median time of a batch from host to host with
// k = 16 and random positive weights, queries per second, and leaves that a query visits. Before them, the same without
// filters; after the first, one filter for all queries, from device to device; at the end a set of ids for each query,
// whose rows it leaves out. Some answers are compared with the CPU's.
#include <cuda_runtime_api.h>

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
#include "bench/weights.h"
#include "culmen/culmen.h"
#include "gpu/cuda/buffer.h"

namespace culmen::bench {
namespace {

constexpr std::size_t kBest = 16;
constexpr std::size_t kChecked = 64;  // answers of a batch
constexpr std::int64_t kNumbers = 1'000'000;
constexpr std::int64_t kTowns = 100;    // with equal shares
constexpr std::size_t kLeftOut = 1000;  // ids of a set

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::string kind = "independent";
  std::uint64_t queries = 4096;
  int repeats = 11;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--kind=", settings.kind) &&
        !take_flag(argument, "--queries=", settings.queries) &&
        !take_flag(argument, "--repeats=", settings.repeats))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/gpu_filters.cc");
  }
  return settings;
}

std::string town_name(std::int64_t town) {
  return std::string("t").append(std::to_string(town));
}

Index build(const Settings& settings, std::mt19937_64& random) {
  const Table table = make_table(settings.kind, settings.rows, settings.dims);
  std::vector<std::int32_t> numbers;
  Labels towns;
  towns.offsets.push_back(0);
  for (std::uint64_t row = 0; row < settings.rows; ++row) {
    numbers.push_back(static_cast<std::int32_t>(random() % kNumbers));
    const std::string town = town_name(static_cast<std::int64_t>(random() % kTowns));
    towns.bytes.insert(towns.bytes.end(), town.begin(), town.end());
    towns.offsets.push_back(towns.bytes.size());
  }
  TableView view = table.view();
  view.fields = {{"number", FieldRole::filter, {ColumnType::integer}},
                 {"town", FieldRole::filter, {ColumnType::text}}};
  view.field_views = {ColumnView(numbers), TextView{towns.view(), {}}};
  return Index::build(view);
}

// Random filters that pass about the same share of the rows.
struct FilterKind {
  const char* name;
  double number_share, town_share;  // of the rows that pass each part; 0: without the part
  bool joins_by_or = false;

  double share() const {
    if (number_share == 0 || town_share == 0) return number_share + town_share;
    return joins_by_or ? number_share + town_share - number_share * town_share : number_share * town_share;
  }
  Filter draw(std::mt19937_64& random) const {
    const Filter by_number = number_filter(random), by_town = town_filter(random);
    if (town_share == 0) return by_number;
    if (number_share == 0) return by_town;
    return joins_by_or ? by_number || by_town : by_number && by_town;
  }

 private:
  Filter number_filter(std::mt19937_64& random) const {
    const auto width = static_cast<std::int64_t>(number_share * static_cast<double>(kNumbers));
    const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kNumbers - width + 1));
    return col("number") >= first && col("number") < first + width;
  }
  Filter town_filter(std::mt19937_64& random) const {
    const auto count = static_cast<std::int64_t>(town_share * static_cast<double>(kTowns) + 0.5);
    const auto first = static_cast<std::int64_t>(random() % kTowns);
    std::vector<Literal> towns;
    for (std::int64_t i = 0; i < count; ++i) towns.emplace_back(town_name((first + 7 * i) % kTowns));
    return col("town").in(towns);
  }
};

Filter leave_out_ids(std::mt19937_64& random, std::uint64_t num_rows) {
  std::vector<std::int64_t> ids(kLeftOut);
  for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % num_rows);
  return !Filter::ids_in(IdSet(ids));
}

void print_times(const char* name, double share, double us, std::uint64_t count) {
  std::printf("%-36s %7.2f %% %9.0f us %10.0f queries/s", name, 100 * share, us,
              static_cast<double>(count) * 1e6 / us);
}

int measure_batch(const Index& index, const DeviceIndex& on_gpu, const Settings& settings, const char* name,
                  double share, const std::vector<Query>& queries) {
  std::vector<SearchResult> results;
  print_times(name, share, median(times_us(settings.repeats, [&] { results = on_gpu.search(queries); })),
              queries.size());
  std::vector<double> leaves;
  for (const SearchResult& result : results)
    leaves.push_back(static_cast<double>(result.stats.leaves_visited));
  std::printf(", leaves median %.0f, most %.0f\n", median(leaves), quantile(leaves, 1));
  int wrong = 0;
  for (std::size_t q = 0; q < queries.size(); q += queries.size() / kChecked + 1)
    wrong += results[q].hits == index.search(queries[q]).hits ? 0 : 1;
  return wrong;
}

int measure_on_device(const DeviceIndex& on_gpu, const Settings& settings, const FilterKind& kind,
                      const std::vector<Query>& queries) {
  std::vector<double> weights;
  for (const Query& query : queries)
    weights.insert(weights.end(), query.weights.begin(), query.weights.end());
  const cuda::Buffer<double> device_weights(weights.size()), scores(queries.size() * kBest);
  const cuda::Buffer<std::int64_t> ids(queries.size() * kBest);
  const cuda::Buffer<std::uint32_t> counts(queries.size());
  cuda::check(
      cudaMemcpy(device_weights.data(), weights.data(), device_weights.size_bytes(), cudaMemcpyHostToDevice));
  DeviceContext context = on_gpu.make_context();
  const Filter where = queries[0].where;
  const DeviceBatch batch = {
      .weights = device_weights.data(), .num_queries = queries.size(), .k = kBest, .where = where};
  const auto ask = [&] {
    on_gpu.search_async(batch, {ids.data(), scores.data(), counts.data()}, context);
    context.synchronize();
  };
  print_times("one filter, device to device", kind.share(), median(times_us(settings.repeats, ask)),
              queries.size());
  std::printf("\n");
  std::vector<std::int64_t> found(ids.size());
  cuda::check(cudaMemcpy(found.data(), ids.data(), ids.size_bytes(), cudaMemcpyDeviceToHost));
  std::vector<Query> same = queries;
  for (Query& query : same) query.where = where;
  const std::vector<SearchResult> expected = on_gpu.search(same);
  int wrong = 0;
  for (std::size_t q = 0; q < same.size(); ++q)
    for (std::size_t i = 0; i < expected[q].hits.size(); ++i)
      wrong += found[q * kBest + i] == expected[q].hits[i].id ? 0 : 1;
  return wrong;
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  print_card();
  std::mt19937_64 random(11);
  const double start = now_us();
  const Index index = build(settings, random);
  const double built = now_us();
  const DeviceIndex on_gpu = index.to_device();
  std::printf("%s: %llu x %d; made in %.1f s, copied in %.3f s; %.2f GB on the card\n", settings.kind.c_str(),
              static_cast<unsigned long long>(settings.rows), settings.dims, (built - start) * 1e-6,
              (now_us() - built) * 1e-6, static_cast<double>(on_gpu.device_bytes()) * 1e-9);
  std::vector<Query> queries(settings.queries);
  for (Query& query : queries) query = {.weights = random_weights(random, settings.dims), .k = kBest};
  int wrong = measure_batch(index, on_gpu, settings, "no filter", 1, queries);
  const std::vector<FilterKind> kinds = {{"number, 10 %", 0.1, 0},
                                         {"town in 10, 10 %", 0, 0.1},
                                         {"number and town in 30, 10 %", 1.0 / 3, 0.3},
                                         {"number or town in 5, 10 %", 0.0526, 0.05, true},
                                         {"number, 1 %", 0.01, 0},
                                         {"number and town in 10, 1 %", 0.1, 0.1},
                                         {"number and town, 0.1 %", 0.1, 0.01}};
  for (const FilterKind& kind : kinds) {
    for (Query& query : queries) query.where = kind.draw(random);
    wrong += measure_batch(index, on_gpu, settings, kind.name, kind.share(), queries);
    if (&kind == &kinds.front()) wrong += measure_on_device(on_gpu, settings, kind, queries);
  }
  for (Query& query : queries) query.where = leave_out_ids(random, settings.rows);
  wrong += measure_batch(index, on_gpu, settings, "all but 1,000 ids",
                         1 - static_cast<double>(kLeftOut) / static_cast<double>(settings.rows), queries);
  std::printf("%d wrong answers\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
