// A growing index against a fresh build of the same rows, by the order in which rows are inserted.
//
//   growth [--rows=N] [--dims=1,2,3,8] [--orders=random,rising,falling,clustered,ids] [--batch=B] [--grow=PERCENT]
//          [--repeats=R] [--threads=T]
//
// An index of N random rows in memory (1,000,000) grows by PERCENT (10) in batches of B (1,000). Orders: random, as the
// first rows; rising or falling: the first attribute always rises or falls from the end of the first rows' range, as a
// time or a serial number does, the others are random; clustered: each batch is around another point; ids: random
// rows with descending ids. A line for each: microseconds of a batch (median, 95 % quantile, worst), leaves, resident
// memory and the microseconds of `bounded` (one thread, k = 16, mixed signs, median and 95 %) and of `scan` over those
// of the fresh build.
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 1'000'000;
  std::vector<int> dims = {1, 2, 3, 8};
  std::vector<std::string> orders = {"random", "rising", "falling", "clustered", "ids"};
  std::uint64_t batch = 1000;
  std::uint64_t grow = 10;
  int repeats = 200;
  int threads = 0;
};

// All rows so far, attribute-major.
class Rows {
 public:
  Rows(int dims, std::string order, std::uint64_t first_rows)
      : order_(std::move(order)), first_rows_(first_rows), columns_(static_cast<std::size_t>(dims)) {
    for (int i = 0; i < dims; ++i) attributes_.push_back({std::string("a").append(std::to_string(i + 1))});
    add(first_rows, "random");
  }

  TableView next(std::uint64_t count) {
    const std::size_t first = ids_.size();
    add(count, order_);
    return view(first);
  }
  TableView view(std::size_t first = 0) const {
    TableView table{ids_.size() - first, attributes_, {}, std::span(ids_).subspan(first), {}};
    for (const std::vector<float>& column : columns_)
      table.columns.emplace_back(std::span(column).subspan(first));
    return table;
  }

 private:
  void add(std::uint64_t count, const std::string& order) {
    std::vector<float> centre;
    for (std::size_t i = 0; i < columns_.size(); ++i) centre.push_back(uniform_(random_));
    for (std::uint64_t r = 0; r < count; ++r) {
      const auto come = static_cast<double>(ids_.size()) - static_cast<double>(first_rows_);
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        float value = uniform_(random_);
        if (order == "clustered") value = centre[i] + 0.01f * value;
        if (i == 0 && order == "rising") value = static_cast<float>(1 + come * 0x1p-22);
        if (i == 0 && order == "falling") value = static_cast<float>(-come * 0x1p-22);
        columns_[i].push_back(value);
      }
      const auto number = static_cast<std::int64_t>(ids_.size());
      ids_.push_back(order_ == "ids" ? (std::int64_t{1} << 40) - number : number);
    }
  }

  std::string order_;
  std::uint64_t first_rows_;
  std::vector<std::vector<float>> columns_;
  std::vector<std::int64_t> ids_;
  std::vector<Attribute> attributes_;
  std::mt19937_64 random_{1};
  std::uniform_real_distribution<float> uniform_{0, 1};
};

double resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

struct Searches {
  std::vector<double> bounded, scan;
};

Searches search(const Settings& settings, const Index& index) {
  Searches times;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const std::size_t dims = index.info().attributes.size();
  for (int q = 0; q < 2 * settings.repeats; ++q) {
    Query query{.weights = std::vector<double>(dims), .k = 16};
    for (double& weight : query.weights) weight = uniform(random);
    const bool is_scan = q % 20 == 0;
    const double start = now_us();
    static_cast<void>(index.search(query, {.engine = is_scan ? Engine::scan : Engine::bounded}));
    (is_scan ? times.scan : times.bounded).push_back(now_us() - start);
  }
  return times;
}

void measure(const Settings& settings, int dims, const std::string& order) {
  Rows rows(dims, order, settings.rows);
  double before = resident_bytes();
  std::vector<double> batches;
  const std::uint64_t grown = settings.rows * settings.grow / 100;
  IndexInfo info;
  Searches searches;
  double bytes = 0;
  {
    BuildOptions options{.value_type = ValueType::float32, .num_threads = settings.threads};
    Index index = Index::build(rows.view(), options);
    double rows_bytes = 0;  // of the table itself, which grows too
    for (std::uint64_t done = 0; done < grown; done += settings.batch) {
      const TableView batch = rows.next(settings.batch);
      const double start = now_us();
      index.insert(batch);
      batches.push_back(now_us() - start);
    }
    rows_bytes = static_cast<double>(grown) * (4.0 * dims + 8);
    bytes = resident_bytes() - before - rows_bytes;
    info = index.info();
    searches = search(settings, index);
  }
  before = resident_bytes();
  const Index fresh =
      Index::build(rows.view(), {.value_type = ValueType::float32, .num_threads = settings.threads});
  const double fresh_bytes = resident_bytes() - before;
  const Searches fresh_searches = search(settings, fresh);
  std::printf("%-10s %2d %10.0f %9.0f %9.0f %8.2f %8.2f %9.2f %6.2f %6.2f\n", order.c_str(), dims,
              median(batches), quantile(batches, 0.95), quantile(batches, 1),
              static_cast<double>(info.num_leaves) / static_cast<double>(fresh.info().num_leaves),
              bytes / fresh_bytes, median(searches.bounded) / median(fresh_searches.bounded),
              quantile(searches.bounded, 0.95) / quantile(fresh_searches.bounded, 0.95),
              median(searches.scan) / median(fresh_searches.scan));
  std::fflush(stdout);
}

int run(const Settings& settings) {
  std::printf("%-10s %2s %10s %9s %9s %8s %8s %9s %6s %6s\n", "order", "d", "batch, us", "95 %", "worst",
              "leaves", "memory", "bounded", "95 %", "scan");
  for (const int dims : settings.dims)
    for (const std::string& order : settings.orders) measure(settings, dims, order);
  return 0;
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--orders=", settings.orders) &&
        !take_flag(argument, "--batch=", settings.batch) && !take_flag(argument, "--grow=", settings.grow) &&
        !take_flag(argument, "--repeats=", settings.repeats) &&
        !take_flag(argument, "--threads=", settings.threads)) {
      std::cerr << "unknown flag " << argument << "; see the top of bench/growth.cc\n";
      std::exit(2);
    }
  }
  return settings;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::settings_of(argc, argv)); });
}
