// A sharded index in one process beside one index of all rows, with the same threads.
//
//   sharded [--rows=N] [--dims=D] [--shards=S] [--threads=T] [--questions=Q] [--repeats=R] [--kind=independent]
//           [--folder=DIR]
//
// Prints medians: of a question (k = 10, positive weights), alone on T threads and in a batch of Q; and of the builds:
// of all shards from the table, directories written, against the sum of the builds of the same shards alone. Answers are
// compared; the program fails if any differs. The directory is made in DIR, and removed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 4'000'000;
  int dims = 8;
  std::uint32_t shards = 4;
  int threads = 2;
  std::size_t questions = 1000;
  int repeats = 5;
  std::string kind = "independent";
  std::string folder = std::filesystem::temp_directory_path().string();
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--shards=", settings.shards) &&
        !take_flag(argument, "--threads=", settings.threads) &&
        !take_flag(argument, "--questions=", settings.questions) &&
        !take_flag(argument, "--repeats=", settings.repeats) &&
        !take_flag(argument, "--kind=", settings.kind) && !take_flag(argument, "--folder=", settings.folder))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/sharded.cc");
  }
  return settings;
}

bool is_same(const SearchResult& a, const SearchResult& b) {
  return std::ranges::equal(a.hits, b.hits,
                            [](const Hit& x, const Hit& y) { return x.id == y.id && x.score == y.score; });
}

void print_pair(const char* what, double one_us, double sharded_us) {
  std::printf("%-28s one index %11.1f us   shards %11.1f us   ratio %.2f\n", what, one_us, sharded_us,
              sharded_us / one_us);
}

// Rows of one shard, as a table of float32.
Table rows_of_shard(const Table& table, std::uint32_t shard, std::uint32_t num_shards) {
  Table part;
  part.attributes = table.attributes;
  part.storage.resize(table.columns.size());
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.num_rows; ++row)
    if (shard_of(static_cast<std::int64_t>(row), num_shards) == shard) rows.push_back(row);
  part.num_rows = rows.size();
  for (const std::size_t row : rows) part.ids.push_back(static_cast<std::int64_t>(row));
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnView& column = table.columns[i];
    auto& values = part.storage[i].emplace<Array<float>>();
    for (const std::size_t row : rows)
      values.push_back(*reinterpret_cast<const float*>(column.data + static_cast<std::ptrdiff_t>(row) *
                                                                         column.stride_bytes));
    part.columns.emplace_back(values);
  }
  return part;
}

int compare(const Settings& settings) {
  const Table table = generate_table(
      {.kind = parse_table_kind(settings.kind), .num_rows = settings.rows, .num_attributes = settings.dims});
  const std::filesystem::path folder = std::filesystem::path(settings.folder) / "culmen-sharded-bench";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const BuildOptions build{.num_threads = settings.threads};

  double parts_us = 0;
  for (std::uint32_t s = 0; s < settings.shards; ++s) {
    const Table part = rows_of_shard(table, s, settings.shards);
    const double start = now_us();
    Index::build(part.view(), build).save(folder / ("part-" + std::to_string(s)));
    parts_us += now_us() - start;
  }
  double start = now_us();
  ShardedIndex::build(table.view(), folder / "shards", {.num_shards = settings.shards, .build = build});
  const double shards_us = now_us() - start;
  std::printf("builds: sum of the shards alone %.2f s, sharded %.2f s: %.2f times as fast\n", parts_us / 1e6,
              shards_us / 1e6, parts_us / shards_us);

  start = now_us();
  const Index one = Index::build(table.view(), build);
  std::printf("one index of all rows in memory %.2f s\n", (now_us() - start) / 1e6);
  const ShardedIndex sharded = ShardedIndex::open(folder / "shards", {.num_threads = settings.threads});

  std::mt19937_64 random(1);
  std::vector<Query> queries;
  for (std::size_t q = 0; q < settings.questions; ++q)
    queries.push_back({.weights = random_weights(random, settings.dims), .k = 10});
  for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan}) {
    const SearchOptions options{.engine = engine, .num_threads = settings.threads};
    const std::size_t num_single = engine == Engine::scan ? std::min<std::size_t>(5, queries.size())
                                                          : std::min<std::size_t>(200, queries.size());
    std::vector<double> one_us, sharded_us;
    for (std::size_t q = 0; q < num_single; ++q) {
      SearchResult a, b;
      one_us.push_back(median(times_us(settings.repeats, [&] { a = one.search(queries[q], options); })));
      sharded_us.push_back(
          median(times_us(settings.repeats, [&] { b = sharded.search(queries[q], options); })));
      if (!is_same(a, b)) throw Error("answers differ");
    }
    print_pair(("single, " + std::string(engine_name(engine))).c_str(), median(one_us), median(sharded_us));
  }
  std::vector<SearchResult> a, b;
  const SearchOptions options{.num_threads = settings.threads};
  const double one_us = median(times_us(settings.repeats, [&] { a = one.search(queries, options); }));
  const double batch_us = median(times_us(settings.repeats, [&] { b = sharded.search(queries, options); }));
  if (!std::ranges::equal(a, b, is_same)) throw Error("answers differ");
  print_pair("batch", one_us, batch_us);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::compare(culmen::bench::parse(argc, argv)); });
}
