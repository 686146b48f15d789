// Filters on columns that are not ranked: an integer, a text of 1,000 values (Zipf), a date, one of each that follows
// the score, and a column with one gap.
//
//   filters [--rows=N] [--repeats=R] [--kind=independent] [--cluster=COLUMN] [--write=FOLDER]
//
// A line for each filter: how many rows pass, and medians in microseconds on one thread, k = 16, over five questions of
// positive weights and five of both signs: `auto`, `bounded`, `scan` (a pass over the codes), and a plain loop over
// columns that tests the filter before it scores. The program fails if an answer differs from that of `scan`. --write
// saves the columns and the questions for bench/filters_duckdb.py.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

constexpr std::size_t kDims = 8;
constexpr std::size_t kBrands = 1000;
constexpr std::size_t kBest = 16;

struct Settings {
  std::uint64_t rows = 16'000'000;
  int repeats = 3;
  std::string kind = "independent";
  std::string cluster;
  std::string write;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) &&
        !take_flag(argument, "--repeats=", settings.repeats) &&
        !take_flag(argument, "--kind=", settings.kind) &&
        !take_flag(argument, "--cluster=", settings.cluster) &&
        !take_flag(argument, "--write=", settings.write))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/filters.cc");
  }
  return settings;
}

std::string brand_name(std::size_t brand) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "b%03zu", brand);
  return text.data();
}

// The fields of the table. `near` and `town` follow a0, which all questions weigh.
struct FieldColumns {
  std::vector<std::int32_t> number, near, day, rare;
  std::vector<std::uint16_t> brand, town;

  FieldColumns(const Array<float>& a0, std::mt19937_64& random) {
    const std::size_t rows = a0.size();
    std::vector<double> share(kBrands);
    for (std::size_t b = 0; b < kBrands; ++b)
      share[b] = (b == 0 ? 0 : share[b - 1]) + 1.0 / static_cast<double>(b + 1);
    const auto [least, most] = std::minmax_element(a0.begin(), a0.end());
    const double range = *most > *least ? static_cast<double>(*most) - *least : 1;
    std::uniform_real_distribution<double> unit(0, 1);
    for (std::size_t row = 0; row < rows; ++row) {
      const double place = (a0[row] - *least) / range;
      number.push_back(static_cast<std::int32_t>(unit(random) * 1e6));
      near.push_back(static_cast<std::int32_t>(1e6 * (0.95 * place + 0.05 * unit(random))));
      day.push_back(15'000 + static_cast<std::int32_t>(unit(random) * 3650));
      rare.push_back(static_cast<std::int32_t>(unit(random) * 100));
      const double at = unit(random) * share.back();
      brand.push_back(static_cast<std::uint16_t>(std::ranges::lower_bound(share, at) - share.begin()));
      town.push_back(
          static_cast<std::uint16_t>(std::min(999.0, 1000 * (0.98 * place + 0.02 * unit(random)))));
    }
  }
};

Texts texts_of(const std::vector<std::uint16_t>& codes) {
  Texts texts;
  texts.texts.offsets.push_back(0);
  for (const std::uint16_t code : codes) {
    const std::string name = brand_name(code);
    texts.texts.bytes.insert(texts.texts.bytes.end(), name.begin(), name.end());
    texts.texts.offsets.push_back(texts.texts.bytes.size());
  }
  return texts;
}

struct NamedFilter {
  std::string name, where;
  std::function<bool(std::size_t)> passes;
};

class Filters {
 public:
  explicit Filters(const Settings& settings)
      : settings_(settings),
        random_(7),
        table_(generate_table({.kind = parse_table_kind(settings.kind),
                               .num_rows = settings.rows,
                               .num_attributes = static_cast<int>(kDims)})),
        fields_(column(0), random_) {
    for (int q = 0; q < 10; ++q) {
      std::uniform_real_distribution<double> unit(0, 1);
      std::vector<double>& weights = questions_.emplace_back(kDims);
      for (double& weight : weights) weight = (1 - unit(random_)) * (q >= 5 && random_() % 2 == 0 ? -1 : 1);
    }
    make_filters();
  }

  int run() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (!settings_.write.empty()) write();
    const double start = now_us();
    const Index index = build();
    std::printf("%llu rows, built in %.1f s\n", static_cast<unsigned long long>(settings_.rows),
                (now_us() - start) / 1e6);
    std::printf("%-44s %9s %11s %11s %11s %11s %8s\n", "us", "pass %", "auto", "bounded", "scan",
                "plain loop", "scored");
    for (const NamedFilter& filter : filters_) ask(index, filter);
    std::printf("%d wrong answers\n", num_wrong_);
    return num_wrong_ == 0 ? 0 : 1;
  }

 private:
  const Array<float>& column(std::size_t i) const { return std::get<Array<float>>(table_.storage[i]); }

  Index build() const {
    TableView view = table_.view();
    const Texts brands = texts_of(fields_.brand), towns = texts_of(fields_.town);
    // One gap in the middle.
    std::vector<std::uint8_t> validity(settings_.rows / 8 + 1, 0xff);
    const std::size_t gap = settings_.rows / 2;
    validity[gap / 8] = static_cast<std::uint8_t>(~(1u << gap % 8));
    ColumnView rare(fields_.rare);
    rare.validity = {validity.data()};
    const auto integer = [](const char* name) {
      return Field{name, FieldRole::filter, {ColumnType::integer}};
    };
    const auto text = [](const char* name) { return Field{name, FieldRole::filter, {ColumnType::text}}; };
    view.fields = {integer("number"), integer("near"), {"day", FieldRole::filter, {ColumnType::date}},
                   integer("rare"),   text("brand"),   text("town")};
    view.field_views = {ColumnView(fields_.number),
                        ColumnView(fields_.near),
                        ColumnView(fields_.day),
                        rare,
                        brands.view(),
                        towns.view()};
    return Index::build(view, {.cluster = settings_.cluster});
  }

  void make_filters() {
    const FieldColumns& f = fields_;
    const auto add = [&](std::string name, std::string where, std::function<bool(std::size_t)> passes) {
      filters_.push_back({std::move(name), std::move(where), std::move(passes)});
    };
    add("none", "", [](std::size_t) { return true; });
    const std::array<std::size_t, 3> ranks = {1, 13, 133};  // about 10 %, 1 %, 0.1 % of the rows
    for (std::size_t p = 0; p < 3; ++p) {
      const std::int32_t limit = std::array{100'000, 10'000, 1'000}[p];
      const std::string percent = std::array<const char*, 3>{"10 %", "1 %", "0.1 %"}[p];
      const std::string most = std::to_string(limit), brand = brand_name(ranks[p]);
      const auto code = static_cast<std::uint16_t>(ranks[p]);
      add("number, " + percent, "number < " + most,
          [&f, limit](std::size_t r) { return f.number[r] < limit; });
      add("number with high scores, " + percent, "near >= " + std::to_string(1'000'000 - limit),
          [&f, limit](std::size_t r) { return f.near[r] >= 1'000'000 - limit; });
      add("number with low scores, " + percent, "near < " + most,
          [&f, limit](std::size_t r) { return f.near[r] < limit; });
      const std::int32_t first = 16'000, days = std::array{365, 36, 4}[p];
      std::string last_day = std::array<const char*, 3>{"2014-10-22", "2013-11-27", "2013-10-26"}[p];
      add("date, " + percent, "day between '2013-10-22' and '" + last_day + "'",
          [&f, first, days](std::size_t r) { return f.day[r] >= first && f.day[r] <= first + days; });
      add("text, " + percent, "brand = '" + brand + "'",
          [&f, code](std::size_t r) { return f.brand[r] == code; });
      add("text in 5, " + percent,
          "brand in ('" + brand + "', '" + brand_name(ranks[p] + 300) + "', '" + brand_name(ranks[p] + 400) +
              "', '" + brand_name(ranks[p] + 500) + "', '" + brand_name(ranks[p] + 600) + "')",
          [&f, code](std::size_t r) {
            const std::uint16_t b = f.brand[r];
            return b == code || b == code + 300 || b == code + 400 || b == code + 500 || b == code + 600;
          });
      const std::uint16_t towns = std::array<std::uint16_t, 3>{100, 10, 1}[p];
      add("text with low scores, " + percent, "town < '" + brand_name(towns) + "'",
          [&f, towns](std::size_t r) { return f.town[r] < towns; });
      const std::int32_t wide = std::array{750'000, 75'000, 7'500}[p];
      add("number and text, " + percent,
          "number < " + std::to_string(wide) + " and brand in ('b000', 'b001', 'b002')",
          [&f, wide](std::size_t r) { return f.number[r] < wide && f.brand[r] < 3; });
      add("number or text, " + percent,
          "number < " + std::to_string(limit / 2) + " or brand = '" + brand_name(2 * ranks[p]) + "'",
          [&f, limit, code](std::size_t r) { return f.number[r] < limit / 2 || f.brand[r] == 2 * code; });
    }
    add("is null, one row", "rare is null", [this](std::size_t r) { return r == settings_.rows / 2; });
    add("no row: number", "number < 0", [](std::size_t) { return false; });
    add("no row: text", "brand = 'nobody'", [](std::size_t) { return false; });
    add("no row: number and date", "number = 5 and near = 7 and day = '2013-10-22'",
        [&f](std::size_t r) { return f.number[r] == 5 && f.near[r] == 7 && f.day[r] == 16'000; });
  }

  void ask(const Index& index, const NamedFilter& filter) {
    const Filter where = index.filter(filter.where);
    std::size_t passing = 0;
    for (std::size_t row = 0; row < settings_.rows; ++row) passing += filter.passes(row) ? 1 : 0;
    std::array<std::vector<double>, 4> times;
    std::uint64_t scored = 0;
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      const Query query = {.weights = questions_[q], .k = kBest, .where = where};
      const std::vector<Hit> expected = index.search(query, {.engine = Engine::scan, .num_threads = 1}).hits;
      const std::array engines = {Engine::automatic, Engine::bounded, Engine::scan};
      for (std::size_t e = 0; e < engines.size(); ++e) {
        SearchResult result;
        times[e].push_back(median(times_us(settings_.repeats, [&] {
          result = index.search(query, {.engine = engines[e], .num_threads = 1});
        })));
        if (result.hits != expected) ++num_wrong_;
        if (e == 0) scored += result.stats.rows_scored;
      }
      if (q % 5 != 0) continue;
      std::vector<std::int64_t> found;
      times[3].push_back(median(times_us(1, [&] { found = plain_loop(questions_[q], filter); })));
      if (found.size() != expected.size() || (!found.empty() && found.front() != expected.front().id))
        ++num_wrong_;
    }
    std::printf("%-44s %9.3f %11.1f %11.1f %11.1f %11.1f %8llu\n", filter.name.c_str(),
                100.0 * static_cast<double>(passing) / static_cast<double>(settings_.rows), median(times[0]),
                median(times[1]), median(times[2]), median(times[3]),
                static_cast<unsigned long long>(scored / questions_.size()));
  }

  // The ids of the best rows, best first.
  std::vector<std::int64_t> plain_loop(const std::vector<double>& weights, const NamedFilter& filter) const {
    using Scored =
        std::pair<double, std::int64_t>;  // the negative id: of equal scores the smaller one is better
    std::priority_queue<Scored, std::vector<Scored>, std::greater<>> best;
    std::array<const float*, kDims> columns{};
    for (std::size_t i = 0; i < kDims; ++i) columns[i] = column(i).data();
    for (std::size_t row = 0; row < settings_.rows; ++row) {
      if (!filter.passes(row)) continue;
      double sum = 0;
      for (std::size_t i = 0; i < kDims; ++i) sum = std::fma(weights[i], columns[i][row], sum);
      const Scored scored = {sum, -static_cast<std::int64_t>(row)};
      if (best.size() < kBest) {
        best.push(scored);
      } else if (scored > best.top()) {
        best.pop();
        best.push(scored);
      }
    }
    std::vector<std::int64_t> ids;
    for (; !best.empty(); best.pop()) ids.push_back(-best.top().second);
    std::ranges::reverse(ids);
    return ids;
  }

  template <typename T, typename Allocator>
  void write_column(const std::string& name, const std::vector<T, Allocator>& values) const {
    std::ofstream file(std::filesystem::path(settings_.write) / (name + ".bin"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
  }

  void write() const {
    std::filesystem::create_directories(settings_.write);
    for (std::size_t i = 0; i < kDims; ++i)
      write_column(std::string("a").append(std::to_string(i)), column(i));
    write_column("number", fields_.number);
    write_column("near", fields_.near);
    write_column("day", fields_.day);
    write_column("rare", fields_.rare);
    write_column("brand", fields_.brand);
    write_column("town", fields_.town);
    std::ofstream weights(std::filesystem::path(settings_.write) / "weights.txt");
    weights.precision(17);
    for (const std::vector<double>& question : questions_)
      for (std::size_t i = 0; i < kDims; ++i) weights << question[i] << (i + 1 < kDims ? ' ' : '\n');
    std::ofstream filters(std::filesystem::path(settings_.write) / "filters.txt");
    for (const NamedFilter& filter : filters_) filters << filter.name << '\t' << filter.where << '\n';
  }

  Settings settings_;
  std::mt19937_64 random_;
  Table table_;
  FieldColumns fields_;
  std::vector<std::vector<double>> questions_;
  std::vector<NamedFilter> filters_;
  int num_wrong_ = 0;
};

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main(
      [&] { return culmen::bench::Filters(culmen::bench::parse(argc, argv)).run(); });
}
