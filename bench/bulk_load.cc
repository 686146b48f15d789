// Rows per second from a table in memory to an index in memory, and from CSV text to a table.
//
//   build/KIND       Index::build, --threads threads
//   parse_csv        CSV text in memory to a Table on one thread; MB/s of text
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "bench/defaults.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

Table make_table(const Settings& settings, const std::string& kind, std::uint64_t rows) {
  return generate_table({.kind = parse_table_kind(kind), .num_rows = rows, .num_attributes = settings.dims});
}

void run_build(benchmark::State& state, const Settings& settings, const std::string& kind) {
  const Table table = make_table(settings, kind, settings.rows);
  for (auto _ : state)
    benchmark::DoNotOptimize(Index::build(table.view(), {.num_threads = settings.threads}));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * settings.rows));
}

std::string csv_text(const Settings& settings) {
  const Table table = make_table(settings, "independent", std::min<std::uint64_t>(settings.rows, 1'000'000));
  std::string text;
  for (const Attribute& attribute : table.attributes) text += (text.empty() ? "" : ",") + attribute.name;
  char number[32];
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const ColumnView& column = table.columns[i];
      const auto value = *reinterpret_cast<const float*>(column.data + static_cast<std::ptrdiff_t>(row) *
                                                                           column.stride_bytes);
      const auto end = std::to_chars(number, number + sizeof number, value).ptr;
      text += i == 0 ? '\n' : ',';
      text.append(number, end);
    }
  }
  return text += '\n';
}

void run_parse(benchmark::State& state, const Settings& settings) {
  const std::string text = csv_text(settings);
  for (auto _ : state) benchmark::DoNotOptimize(parse_csv(text, "bench.csv", {.num_threads = 1}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  const culmen::bench::Settings settings = culmen::bench::initialize(argc, argv);
  for (const char* kind : {"independent", "correlated", "anticorrelated"})
    benchmark::RegisterBenchmark(
        (std::string("build/") + kind).c_str(),
        [&settings, kind](benchmark::State& state) { culmen::bench::run_build(state, settings, kind); })
        ->Iterations(3)
        ->UseRealTime();
  benchmark::RegisterBenchmark("parse_csv", [&settings](benchmark::State& state) {
    culmen::bench::run_parse(state, settings);
  })->UseRealTime();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
