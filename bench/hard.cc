// Queries that are hard to prune: weights of both signs, many attributes, every kind of table of `culmen generate`.
//
//   hard [--rows=N] [--dims=8,16,...] [--kinds=gaussian,weather,...] [--ks=16,...] [--questions=Q]
//        [--signs=positive,mixed,one] [--batch=B]
//
// Signs: all weights uniform in (0, 1]; each with a sign of its own, both signs in each question; one attribute's
// negative. A line for each kind, number of attributes, signs and k: microseconds (median, 95 % quantile) of one
// question on one thread (`bounded`) and as `auto` answers it on all, the leaves visited and the share of the rows
// scored (medians); with a GPU also of one question, and questions a second of a batch of B, all different, in one
// call from host to host, with answers in arrays. Prints first the time to read all columns once, with all threads, and
// the bytes of the index besides values and ids. Some answers are compared with those of `scan`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/read_memory.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 8'000'000;
  std::vector<int> dims = {8};
  std::vector<std::string> kinds = {"independent", "correlated", "anticorrelated", "ratings",
                                    "zipf",        "clusters",   "gaussian",       "weather",
                                    "heavytailed", "sparse",     "series",         "compositional"};
  std::vector<std::string> signs = {"positive", "mixed"};
  std::vector<std::size_t> ks = {16, 128, 1000};
  int questions = 100;
  std::size_t batch = 16'384;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (take_flag(argument, "--rows=", settings.rows) || take_flag(argument, "--dims=", settings.dims) ||
        take_flag(argument, "--kinds=", settings.kinds) || take_flag(argument, "--signs=", settings.signs) ||
        take_flag(argument, "--ks=", settings.ks) ||
        take_flag(argument, "--questions=", settings.questions) ||
        take_flag(argument, "--batch=", settings.batch))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) + "; see the top of bench/hard.cc");
  }
  if (settings.questions < 1 || settings.batch < 1)
    throw InvalidArgument("--questions and --batch are at least 1");
  return settings;
}

std::vector<double> draw_weights(std::mt19937_64& random, int dims, const std::string& signs) {
  std::vector<double> weights = random_weights(random, dims);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  if (signs == "one") {
    weights[below(weights.size())] *= -1;
  } else if (signs == "mixed") {
    for (double& weight : weights)
      if (below(2) == 0) weight = -weight;
    const std::size_t first = below(weights.size());  // one of each sign, at the least
    weights[first] = std::abs(weights[first]);
    weights[(first + 1) % weights.size()] = -std::abs(weights[(first + 1) % weights.size()]);
  } else if (signs != "positive") {
    throw InvalidArgument("unknown signs " + signs);
  }
  return weights;
}

// Of one kind of question, one engine.
struct Times {
  std::vector<double> us, leaves, scored;

  void add(double took, const SearchStats& stats) {
    us.push_back(took);
    leaves.push_back(static_cast<double>(stats.leaves_visited));
    scored.push_back(static_cast<double>(stats.rows_scored) / static_cast<double>(stats.rows_in_index));
  }
};

// One question at a time, each twice; only the second run counts.
template <typename Search>
Times time_each(const std::vector<Query>& questions, const Search& search) {
  Times times;
  for (const Query& query : questions) {
    static_cast<void>(search(query));
    const double start = now_us();
    const SearchResult result = search(query);
    times.add(now_us() - start, result.stats);
  }
  return times;
}

void print_times(const Times& times) {
  std::printf(" %9.0f %9.0f", median(times.us), quantile(times.us, 0.95));
}

int count_wrong(const Index& index, const std::vector<Query>& questions) {
  constexpr std::size_t kChecked = 4;
  int wrong = 0;
  for (std::size_t q = 0; q < std::min(kChecked, questions.size()); ++q) {
    const std::vector<Hit> expected = index.search(questions[q], {.engine = Engine::scan}).hits;
    if (index.search(questions[q], {.engine = Engine::bounded}).hits != expected) ++wrong;
    if (index.search(questions[q]).hits != expected) ++wrong;
  }
  return wrong;
}

std::vector<Query> draw_questions(std::size_t count, int dims, const std::string& signs, std::size_t k) {
  std::mt19937_64 random(1);
  std::vector<Query> questions;
  while (questions.size() < count)
    questions.push_back({.weights = draw_weights(random, dims, signs), .k = k});
  return questions;
}

// The weights of a batch of questions with one k, row after row.
std::vector<double> joined_weights(const std::vector<Query>& questions) {
  std::vector<double> weights;
  for (const Query& query : questions)
    weights.insert(weights.end(), query.weights.begin(), query.weights.end());
  return weights;
}

// batch: one question or more, asked in one call that takes a matrix and writes into arrays.
int measure_on_gpu(const Index& index, const DeviceIndex& on_gpu, const std::vector<Query>& questions,
                   const std::vector<Query>& batch) {
  print_times(time_each(questions, [&](const Query& query) { return on_gpu.search(query); }));
  const std::vector<double> weights = joined_weights(batch);
  const QueryBatch all = {.weights = weights, .k = *batch.front().k};
  BatchAnswers answers = on_gpu.search_batch(all);
  const AnswerArrays arrays = {answers.ids, answers.scores, answers.counts};
  const double us = median(times_us(5, [&] { on_gpu.search_batch(all, arrays); }));
  std::printf(" %11.0f", static_cast<double>(batch.size()) * 1e6 / us);
  constexpr std::size_t kChecked = 8;
  int wrong = on_gpu.search(questions.front()).hits != index.search(questions.front()).hits ? 1 : 0;
  for (std::size_t q = 0; q < batch.size(); q += (batch.size() + kChecked - 1) / kChecked) {
    const std::vector<Hit> expected = index.search(batch[q]).hits;
    const std::span<const std::int64_t> ids =
        std::span(answers.ids).subspan(q * answers.k, answers.counts[q]);
    if (!std::ranges::equal(expected, ids, {}, &Hit::id)) ++wrong;
  }
  return wrong;
}

int measure_table(const std::string& kind, int dims, const Settings& settings) {
  std::optional<Table> table =
      generate_table({.kind = parse_table_kind(kind), .num_rows = settings.rows, .num_attributes = dims});
  const double start = now_us();
  const Index index = Index::build(table->view(), {});
  const double built = now_us();
  table.reset();
  const double reading = read_memory_us(settings.rows * static_cast<std::size_t>(dims));
  const IndexInfo info = index.info();
  std::printf(
      "== %s: %llu x %d, built in %.1f s; reading all columns once %.0f us; %.1f %% beside values and ids\n",
      kind.c_str(), static_cast<unsigned long long>(settings.rows), dims, (built - start) * 1e-6, reading,
      100.0 * static_cast<double>(info.overhead_bytes) / static_cast<double>(info.data_bytes));
  std::optional<DeviceIndex> on_gpu;
  if (num_devices() > 0) on_gpu = index.to_device();
  int wrong = 0;
  for (const std::string& signs : settings.signs) {
    for (const std::size_t k : settings.ks) {
      const auto num_questions = static_cast<std::size_t>(settings.questions);
      const std::vector<Query> questions = draw_questions(num_questions, dims, signs, k);
      const Times bounded = time_each(questions, [&](const Query& query) {
        return index.search(query, {.engine = Engine::bounded, .num_threads = 1});
      });
      std::printf("%-14s %2d %-8s %5zu", kind.c_str(), dims, signs.c_str(), k);
      print_times(bounded);
      print_times(time_each(questions, [&](const Query& query) { return index.search(query); }));
      std::printf(" %8.0f %9.5f", median(bounded.leaves), 100 * median(bounded.scored));
      if (on_gpu)
        wrong += measure_on_gpu(index, *on_gpu, questions, draw_questions(settings.batch, dims, signs, k));
      std::printf("\n");
      wrong += count_wrong(index, questions);
    }
  }
  return wrong;
}

int run(const Settings& settings) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // so that an interrupted run shows its results
  std::printf("%-14s %2s %-8s %5s %9s %9s %9s %9s %8s %9s %9s %9s %11s\n", "kind", "d", "signs", "k",
              "bounded", "95 %", "auto", "95 %", "leaves", "scored %", "GPU", "95 %", "batch q/s");
  int wrong = 0;
  for (const std::string& kind : settings.kinds)
    for (const int dims : settings.dims) wrong += measure_table(kind, dims, settings);
  std::printf("%d wrong answers\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
