// What it costs to shape an answer: pages, the rank of a row, at most so many rows for each value of a column, terms.
//
//   answers [--directory=DIR] [--rows=N] [--dims=D] [--kinds=independent,gaussian,...] [--signs=positive,mixed]
//           [--questions=Q]
//
// Of an index in DIR, which is replaced; by default in the system's directory for temporary files. Everything on one
// thread, k = 16, medians in microseconds over Q questions. A line for each kind of question, and its time over that of
// what it is compared with:
//
//   search        weights alone
//   page          16 rows after the best 10,000; compared with k = 10,016
//   rank, near    of a row among the best 10,000
//   rank, any     of any row; compared with `pass`, a scan for the same question
//   per           at most 2 for each of 1,000 values that are spread over the table; compared with `search`, as are terms
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

constexpr std::size_t kBest = 16, kBefore = 10'000;
constexpr int kRepeats = 5;

struct Settings {
  std::string directory = (std::filesystem::temp_directory_path() / "culmen_answers").string();
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::vector<std::string> kinds = {"independent", "gaussian"};
  std::vector<std::string> signs = {"positive", "mixed"};
  int questions = 20;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--directory=", settings.directory) &&
        !take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--kinds=", settings.kinds) &&
        !take_flag(argument, "--signs=", settings.signs) &&
        !take_flag(argument, "--questions=", settings.questions))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/answers.cc");
  }
  if (settings.rows <= kBefore + kBest) throw InvalidArgument("--rows must be above 10,016");
  if (settings.dims < 2 || settings.questions < 1)
    throw InvalidArgument("--dims is at least 2, --questions 1");
  return settings;
}

// A table of generate_table(), whose attributes are a0, a1, ..., with a column `group` of 1,000 values.
Index build(const Settings& settings, const std::string& kind, std::mt19937_64& random) {
  const Table table = generate_table(
      {.kind = parse_table_kind(kind), .num_rows = settings.rows, .num_attributes = settings.dims});
  std::vector<std::int32_t> group(settings.rows);
  for (std::int32_t& value : group) value = static_cast<std::int32_t>(random() % 1000);
  TableView view = table.view();
  view.fields = {{"group", FieldRole::filter, {ColumnType::integer}}};
  view.field_views = {ColumnView(group)};
  // As users have it: from its files, which find ids.
  Index::build(view).save(settings.directory, {.overwrite = true});
  return Index::open(settings.directory);
}

class Answers {
 public:
  Answers(const Settings& settings, const Index& index, const std::string& name, const std::string& signs,
          std::mt19937_64& random)
      : index_(index), name_(name + ", " + signs), random_(random) {
    for (int q = 0; q < settings.questions; ++q) {
      std::vector<double>& weights = questions_.emplace_back(random_weights(random, settings.dims));
      if (signs == "mixed")
        for (std::size_t a = 0; a < weights.size(); a += 2) weights[a] = -weights[a];
    }
  }

  void run() {
    const double search =
        line("search", 0, [&](std::size_t q) { return index_.search(question(q, kBest), one_); });
    pages();
    ranks();
    line("per", search, [&, per = RowsPer{"group", 2}](std::size_t q) {
      Query query = question(q, kBest);
      query.per = per;
      return index_.search(query, one_);
    });
    for (const char* text : {"near(a0, 0.3)", "decay(a0, 0.3, 0.2, gauss)", "log1p(a0)", "sqrt(a0)",
                             "saturate(a0, 0.5)", "[group < 100]"}) {
      const std::vector<ScoreTerm> terms = index_.terms(text);
      line(text, search, [&](std::size_t q) {
        Query query = question(q, kBest);
        query.terms = terms;
        return index_.search(query, one_);
      });
    }
  }

 private:
  Query question(std::size_t q, std::size_t k) const { return {.weights = questions_[q], .k = k}; }

  void pages() {
    std::vector<Cursor> after;
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      const Hit last = index_.search(question(q, kBefore)).hits.back();
      after.push_back({last.score, last.id});
    }
    const double longer = line("search, k = 10,016", 0, [&](std::size_t q) {
      return index_.search(question(q, kBefore + kBest), one_);
    });
    line("page", longer, [&](std::size_t q) {
      Query query = question(q, kBest);
      query.after = after[q];
      return index_.search(query, one_);
    });
  }

  void ranks() {
    std::vector<std::int64_t> near, any;
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      near.push_back(index_.search(question(q, kBefore)).hits[random_() % kBefore].id);
      any.push_back(static_cast<std::int64_t>(random_() % index_.info().num_rows));
    }
    line("rank, near", 0, [&](std::size_t q) { return index_.rank_of(question(q, kBest), near[q], one_); });
    const double pass = line("pass", 0, [&](std::size_t q) {
      SearchOptions scan = one_;
      scan.engine = Engine::scan;
      return index_.search(question(q, kBest), scan);
    });
    line("rank, any", pass, [&](std::size_t q) { return index_.rank_of(question(q, kBest), any[q], one_); });
  }

  // The median of each question's medians.
  template <typename Ask>
  double line(const char* what, double compared, const Ask& ask) const {
    std::vector<double> medians;
    for (std::size_t q = 0; q < questions_.size(); ++q)
      medians.push_back(median(times_us(kRepeats, [&] { static_cast<void>(ask(q)); })));
    const double us = median(medians);
    std::printf("%-24s %-28s %12.1f %12.1f", name_.c_str(), what, us, quantile(medians, 0.95));
    if (compared > 0) std::printf(" %8.2f", us / compared);
    std::printf("\n");
    return us;
  }

  const Index& index_;
  std::string name_;
  std::mt19937_64& random_;
  std::vector<std::vector<double>> questions_;
  SearchOptions one_ = {.num_threads = 1};
};

int run(const Settings& settings) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%-24s %-28s %12s %12s %8s\n", "table", "us", "median", "95 %", "times");
  for (const std::string& kind : settings.kinds) {
    std::mt19937_64 random(7);
    const Index index = build(settings, kind, random);
    for (const std::string& signs : settings.signs) Answers(settings, index, kind, signs, random).run();
  }
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
