// What a window over a stream costs: batches that insert rows and erase as many, the oldest.
//
//   window [--rows=N] [--dims=D] [--batch=B] [--batches=C] [--threads=T]
//
// An index in memory of N random rows (1,000,000 x 8) with their seconds as a filter column, B of each second (1,000). Each of
// C batches (200) inserts the rows of the next second and erases those of the oldest: by their ids; by a filter, in the
// same batch; and by a filter in a call of its own after the insert. Once with partitions as usual, and once clustered by the
// second. A line for each: microseconds of a batch, and of Index::check, which finds the rows of the batch and changes nothing.
// The mean counts reloads: with as many batches as there are seconds, all rows are replaced.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "bench/changes.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

class Stream {
 public:
  explicit Stream(const ChangeSettings& settings) : settings_(settings), rows_(settings.dims, 1) {}

  std::uint64_t num_seconds() const { return settings_.rows / settings_.batch; }

  TableView next_seconds(std::uint64_t count) {
    TableView table = rows_.next(count * settings_.batch);
    seconds_.resize(table.num_rows);
    for (std::uint64_t row = 0; row < table.num_rows; ++row)
      seconds_[row] = static_cast<std::int64_t>(now_ + row / settings_.batch);
    now_ += count;
    table.fields = {{"second", FieldRole::filter, {ColumnType::integer}}};
    table.field_views = {ColumnView(seconds_)};
    return table;
  }

 private:
  const ChangeSettings& settings_;
  RandomRows rows_;
  std::vector<std::int64_t> seconds_;
  std::uint64_t now_ = 0;
};

enum class Way { ids, filter, two_calls };
constexpr const char* kWays[] = {"by ids", "by a filter", "by a filter, in two calls"};

void write(Index& index, Way way, const WriteBatch& batch, const TableView& rows, const Filter& is_old) {
  if (way != Way::two_calls) {
    index.write(batch);
    return;
  }
  index.insert(rows);
  index.erase_where(is_old);
}

// Alternately, each way to an index of its own, so that all see the same machine.
void measure(const ChangeSettings& settings, const std::string& cluster) {
  constexpr std::size_t kNumWays = std::size(kWays);
  Stream stream(settings);
  const TableView first = stream.next_seconds(stream.num_seconds());
  std::vector<Index> indexes;
  for (std::size_t w = 0; w < kNumWays; ++w)
    indexes.push_back(Index::build(first, {.cluster = cluster, .num_threads = settings.threads}));
  std::vector<std::vector<double>> writing(kNumWays), checking(kNumWays);
  std::vector<std::int64_t> oldest(settings.batch);
  for (int b = 0; b < settings.batches; ++b) {
    const TableView rows = stream.next_seconds(1);
    const Filter is_old = col("second") <= std::int64_t{b};
    std::iota(oldest.begin(), oldest.end(), static_cast<std::int64_t>(settings.batch) * b);
    for (std::size_t w = 0; w < kNumWays; ++w) {
      const Way way = static_cast<Way>(w);
      WriteBatch batch;
      batch.insert(rows);
      if (way == Way::ids) batch.erase(oldest);
      if (way == Way::filter) batch.erase_where(is_old);
      const double start = now_us();
      indexes[w].check(batch);
      const double checked = now_us();
      write(indexes[w], way, batch, rows, is_old);
      checking[w].push_back(checked - start);
      writing[w].push_back(now_us() - checked);
      if (indexes[w].info().num_rows != settings.rows) throw Error("other rows were the oldest");
    }
  }
  for (std::size_t w = 0; w < kNumWays; ++w) {
    const double mean = std::accumulate(writing[w].begin(), writing[w].end(), 0.0) / settings.batches;
    std::printf("%-16s %-26s median %8.0f us  mean %8.0f us  worst %8.0f us  of which checking %6.0f us\n",
                cluster.empty() ? "" : ("cluster " + cluster).c_str(), kWays[w], median(writing[w]), mean,
                quantile(writing[w], 1), median(checking[w]));
  }
}

ChangeSettings settings_of(int argc, char** argv) {
  ChangeSettings settings = {.rows = 1'000'000};
  for (int i = 1; i < argc; ++i) {
    if (take_change_flag(argv[i], settings)) continue;
    std::cerr << "unknown flag " << argv[i] << "; see the top of bench/window.cc\n";
    std::exit(2);
  }
  return settings;
}

int run(const ChangeSettings& settings) {
  for (const char* cluster : {"", "second"}) measure(settings, cluster);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::settings_of(argc, argv)); });
}
