// Cases of ordinary tables and queries that were once slow, and a clean one for comparison.
//
//   cliffs [--rows=N] [--repeats=R] [--only=NAME,...]
//
// A line each: median microseconds of `bounded` on one thread, of `scan` and of `auto` on all, k = 10 unless said.
// Large k and monotone functions are compared with a plain loop over columns and std::nth_element. The program fails if
// an answer differs from that of `scan`.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 8'000'000;
  int repeats = 7;
  std::vector<std::string> only;

  bool wants(const std::string& name) const {
    return only.empty() || std::ranges::find(only, name) != only.end();
  }
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) &&
        !take_flag(argument, "--repeats=", settings.repeats) &&
        !take_flag(argument, "--only=", settings.only))
      throw InvalidArgument("unknown argument " + std::string(argument) + "; see the top of bench/cliffs.cc");
  }
  return settings;
}

// Of attributes without negative values.
struct SumOfProducts {
  double operator()(std::span<const double> a) const { return a[0] * a[1] + a[2] * a[3]; }
  Direction direction(int attribute) const { return attribute < 4 ? Direction::rising : Direction::unused; }
  double relative_error() const { return 0; }
};

class Cliffs {
 public:
  explicit Cliffs(const Settings& settings) : settings_(settings) {}

  int run() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("%-44s %10s %10s %10s %10s\n", "us", "bounded", "scan", "auto", "plain loop");
    ask_uniform();
    ask_moved();
    ask_large_k();
    ask_monotone();
    std::printf("%d wrong answers\n", num_wrong_);
    return num_wrong_ == 0 ? 0 : 1;
  }

 private:
  Table make(const std::string& kind, std::uint64_t rows, int dims = 8) const {
    return generate_table({.kind = parse_table_kind(kind), .num_rows = rows, .num_attributes = dims});
  }
  static Array<float>& column(Table& table, std::size_t i) {
    return std::get<Array<float>>(table.storage[i]);
  }
  double time(const std::function<void()>& call) const { return median(times_us(settings_.repeats, call)); }

  // plain: of the loop, 0: there is none.
  void print(const std::string& name, double bounded, double scan, double automatic, double plain = 0) {
    std::printf("%-44s %10.1f %10.1f %10.1f", name.c_str(), bounded, scan, automatic);
    plain > 0 ? std::printf(" %10.1f\n", plain) : std::printf("\n");
  }

  double time_engine(const Index& index, const Query& query, Engine engine, int threads) {
    std::vector<Hit> hits;
    const double us =
        time([&] { hits = index.search(query, {.engine = engine, .num_threads = threads}).hits; });
    if (hits != index.search(query, {.engine = Engine::scan}).hits) ++num_wrong_;
    return us;
  }

  void ask(const std::string& name, const Index& index, const Query& query, double plain = 0) {
    print(name, time_engine(index, query, Engine::bounded, 1),
          time_engine(index, query, Engine::scan, kAllCores),
          time_engine(index, query, Engine::automatic, kAllCores), plain);
  }

  void ask_uniform() {
    if (!settings_.wants("uniform")) return;
    const Index index = Index::build(make("independent", settings_.rows).view());
    const std::vector<double> four = {1, 2, 1, 1, 0, 0, 0, 0};
    const auto where = [&](const char* text) { return index.filter(text); };
    ask("clean: four attributes", index, {.weights = four, .k = 10});
    ask("one attribute", index, {.weights = {1, 0, 0, 0, 0, 0, 0, 0}, .k = 10});
    ask("one attribute, the other sign", index, {.weights = {-1, 0, 0, 0, 0, 0, 0, 0}, .k = 10});
    ask("a filter that passes 70 %", index, {.weights = four, .k = 10, .where = where("a0>=0.3")});
    ask("a filter that cuts off the good end", index, {.weights = four, .k = 10, .where = where("a0<=0.7")});
    ask("a filter on another attribute, 1 % pass", index,
        {.weights = four, .k = 10, .where = where("a5<=0.01")});
    ask("a filter on two others, 0.01 % pass", index,
        {.weights = four, .k = 10, .where = where("a5<=0.01 and a6<=0.01")});
    ask("denormal weights", index, {.weights = {1e-310, 2e-310, 1e-310, 1e-310, 0, 0, 0, 0}, .k = 10});
  }

  // One table, then a few of its values moved.
  void ask_moved() {
    if (!settings_.wants("moved")) return;
    const Query query = {.weights = {1, 2, 1, 1, 0, 0, 0, 0}, .k = 10};
    const auto ask_with = [&](const std::string& name, std::size_t every, float value) {
      Table table = make("independent", settings_.rows);
      for (std::size_t row = every / 2; row < table.num_rows; row += every) column(table, 0)[row] = value;
      ask(name, Index::build(table.view()), query);
    };
    ask_with("one value of -999999", settings_.rows, -999999);
    ask_with("one value of 1e9", settings_.rows, 1e9F);
    ask_with("1 % of -999", 100, -999);
    Table tied = make("independent", settings_.rows);
    for (std::size_t i = 0; i < tied.storage.size(); ++i) std::ranges::fill(column(tied, i), 0.5F);
    Query thousand = query;
    thousand.k = 1000;
    ask("all rows tied, k = 1,000", Index::build(tied.view()), thousand);
    Table prices = make("heavytailed", settings_.rows);
    for (float& price : column(prices, 0)) price = std::abs(price);
    prices.attributes[0].preference = Preference::low;
    ask("a price with a heavy tail, low", Index::build(prices.view()),
        {.weights = {-1, .1, .1, 0, 0, 0, 0, 0}, .k = 10});
  }

  // Scores of all rows, then the k best: the obvious alternative. One thread.
  template <typename Score>
  double time_plain_loop(std::size_t rows, std::size_t k, const Score& score) const {
    struct Row {
      double score;
      std::int64_t id;
    };
    const auto before = [](const Row& a, const Row& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    };
    std::vector<Row> scored(rows);
    return time([&] {
      for (std::size_t row = 0; row < rows; ++row) scored[row] = {score(row), static_cast<std::int64_t>(row)};
      const auto end = scored.begin() + static_cast<std::ptrdiff_t>(k);
      std::nth_element(scored.begin(), end - 1, scored.end(), before);
      std::sort(scored.begin(), end, before);
    });
  }

  void ask_large_k() {
    if (!settings_.wants("large_k")) return;
    const std::size_t rows = settings_.rows / 2;
    Table table = make("independent", rows);
    const std::array<double, 8> weights = {1, 2, 1, 1, .5, .5, .25, .25};
    const Index index = Index::build(table.view());
    for (const std::size_t part : {std::size_t{1000}, std::size_t{100}, std::size_t{10}, std::size_t{2}}) {
      const Query query = {.weights = {weights.begin(), weights.end()}, .k = rows / part};
      const double plain = time_plain_loop(rows, rows / part, [&](std::size_t row) {
        double sum = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * column(table, i)[row];
        return sum;
      });
      const std::string name = "k = n/" + std::to_string(part) + " of " + std::to_string(rows);
      ask(name, index, query, plain);
      print("  scan on one thread", 0, time_engine(index, query, Engine::scan, 1), 0, plain);
    }
  }

  void ask_monotone() {
    if (!settings_.wants("monotone")) return;
    const std::size_t rows = settings_.rows / 8;
    Table table = make("independent", rows, 32);
    const Index index = Index::build(table.view());
    const SumOfProducts function;
    const double plain = time_plain_loop(rows, 10, [&](std::size_t row) {
      std::array<double, 32> values;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = column(table, i)[row];
      return function(values);
    });
    const auto ask_function = [&](const char* name, const Filter& where) {
      const auto timed = [&](Engine engine) {
        return time(
            [&] { static_cast<void>(index.search_monotone(function, 10, where, {.engine = engine})); });
      };
      print(name, timed(Engine::bounded), timed(Engine::scan), timed(Engine::automatic), plain);
    };
    ask_function("a monotone function of 4 of 32 attributes", {});
    ask_function("  with a filter that passes 10 %", index.filter("a9<=0.1"));
  }

  Settings settings_;
  int num_wrong_ = 0;
};

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main(
      [&] { return culmen::bench::Cliffs(culmen::bench::parse(argc, argv)).run(); });
}
