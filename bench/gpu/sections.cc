#include "bench/gpu/sections.h"

#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

#include "bench/gpu/card.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "gpu/cuda/buffer.h"
#include "gpu/search/launch_nothing.h"

namespace culmen::bench {
namespace {

constexpr int kSpreadRepeats = 101;  // enough for a 10 % and a 90 % quantile
constexpr int kLongRepeats = 5;      // for engines and queries that read or return much
constexpr std::size_t kBatch = 4096;
constexpr std::size_t kCheckedOfBatch = 64;

// Each vector has one value for each of some questions.
struct Figures {
  std::vector<double> us;      // median of the repeats
  std::vector<double> faster;  // how many times faster than reading the columns in use
  std::vector<double> leaves;  // leaves whose rows were scored
  std::vector<double> bytes;   // of values and bounds
};

void append(Figures& to, const Figures& from) {
  const auto append_values = [](std::vector<double>& values, const std::vector<double>& more) {
    values.insert(values.end(), more.begin(), more.end());
  };
  append_values(to.us, from.us);
  append_values(to.faster, from.faster);
  append_values(to.leaves, from.leaves);
  append_values(to.bytes, from.bytes);
}

void print_heading(const char* what) {
  std::printf("bounded, %s; x read: times faster than reading the columns in use\n", what);
  std::printf("%8s %-13s %9s %9s %8s %8s %8s %8s %8s\n", "k", "questions", "us", "worst", "x read", "worst",
              "leaves", "most", "KB");
}

void print_figures(std::size_t k, const std::string& questions, const Figures& figures) {
  std::printf("%8zu %-13s %9.1f %9.1f %8.1f %8.1f %8.0f %8.0f %8.0f\n", k, questions.c_str(),
              median(figures.us), quantile(figures.us, 1), median(figures.faster),
              quantile(figures.faster, 0), median(figures.leaves), quantile(figures.leaves, 1),
              median(figures.bytes) * 1e-3);
}

template <typename Prepare>
int measure_family(const Subject& subject, const Family& family, std::size_t k, const Prepare& prepare,
                   Figures& figures) {
  int wrong = 0;
  for (const Weights& weights : family.questions) {
    const Query query = {.weights = weights, .k = k};
    SearchResult result;
    const auto search = [&] { result = subject.on_gpu.search(query, {.engine = Engine::bounded}); };
    figures.us.push_back(median(times_us(subject.repeats, search, prepare)));
    figures.faster.push_back(subject.reading.us(weights) / figures.us.back());
    figures.leaves.push_back(static_cast<double>(result.stats.leaves_visited));
    figures.bytes.push_back(static_cast<double>(result.stats.bytes_touched));
    // On mixed signs the CPU takes too long.
    if (!family.mixed_signs && result.hits != subject.index.search(query).hits) ++wrong;
  }
  return wrong;
}

// A line for each family, and one for all but mixed signs.
template <typename Prepare>
int measure_families(const Subject& subject, const std::vector<Family>& families, std::size_t k,
                     const Prepare& prepare) {
  int wrong = 0;
  Figures all;
  for (const Family& family : families) {
    Figures figures;
    wrong += measure_family(subject, family, k, prepare, figures);
    print_figures(k, family.name, figures);
    if (!family.mixed_signs) append(all, figures);
  }
  print_figures(k, "all", all);
  return wrong;
}

void print_spread(const Subject& subject, std::size_t k) {
  const Query query = {.weights = find_family(subject.families, "Q0-Q4").questions.front(), .k = k};
  const std::vector<double> times = times_us(
      kSpreadRepeats, [&] { static_cast<void>(subject.on_gpu.search(query, {.engine = Engine::bounded})); });
  std::printf("%8zu Q0, %d times: 10 %% %.1f, median %.1f, 90 %% %.1f, worst %.1f us\n", k, kSpreadRepeats,
              quantile(times, 0.1), median(times), quantile(times, 0.9), quantile(times, 1));
}

}  // namespace

int measure_warm(const Subject& subject, const Ks& ks) {
  int wrong = 0;
  print_heading("warm");
  for (const std::size_t k : ks) {
    wrong += measure_families(subject, subject.families, k, [] {});
    print_spread(subject, k);
  }
  return wrong;
}

int measure_resident(const Subject& subject, const DeviceIndex& resident, const Ks& ks) {
  constexpr int kRounds = 10, kQuestions = 200;
  const Family& family = find_family(subject.families, "random");
  const cuda::Stream stream;
  int wrong = 0;
  std::printf("one question: launched, and by a kernel resident on %u multiprocessors\n",
              resident.num_resident_multiprocessors());
  std::printf("%8s %9s %9s %9s %9s %9s %9s\n", "k", "launched", "99 %", "resident", "99 %", "ratio",
              "nothing");
  for (const std::size_t k : ks) {
    const auto query_of = [&](int i) {
      return Query{.weights = family.questions[static_cast<std::size_t>(i) % family.questions.size()],
                   .k = k};
    };
    std::vector<double> launched, stayed, nothing;
    const auto add = [](std::vector<double>& to, const std::vector<double>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    for (int round = 0; round < kRounds; ++round) {
      int i = 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until the resident kernel has left
      add(launched, times_us(kQuestions, [&] { static_cast<void>(subject.on_gpu.search(query_of(i++))); }));
      add(nothing, times_us(kQuestions, [&] {
            gpu::launch_nothing(stream.get());
            stream.synchronize();
          }));
      add(stayed, times_us(kQuestions, [&] { static_cast<void>(resident.search(query_of(i++))); }));
    }
    for (int i = 0; i < static_cast<int>(family.questions.size()); ++i)
      if (resident.search(query_of(i)).hits != subject.on_gpu.search(query_of(i)).hits) ++wrong;
    std::printf("%8zu %9.1f %9.1f %9.1f %9.1f %9.2f %9.1f\n", k, median(launched), quantile(launched, 0.99),
                median(stayed), quantile(stayed, 0.99), median(stayed) / median(launched), median(nothing));
  }
  return wrong;
}

int measure_cold(const Subject& subject, const Ks& ks) {
  const CacheFlush flush;
  const std::vector<Family> families = {find_family(subject.families, "Q0-Q4"),
                                        find_family(subject.families, "random")};
  int wrong = 0;
  print_heading("cold: the L2 cache overwritten before each search");
  for (const std::size_t k : ks) wrong += measure_families(subject, families, k, flush);
  return wrong;
}

int measure_long(const Subject& subject, Engine engine, const Weights& weights, const Ks& ks) {
  int wrong = 0;
  for (const std::size_t k : ks) {
    const Query query = {.weights = weights, .k = k};
    SearchResult result;
    const double us =
        median(times_us(kLongRepeats, [&] { result = subject.on_gpu.search(query, {.engine = engine}); }));
    const SearchStats& stats = result.stats;
    const auto bytes = static_cast<double>(stats.bytes_touched);
    std::printf(
        "%-5s k=%-4zu %9.0f us = %.2f x reading; %.3f GB at %.0f %% of the speed of reading, %.2f %% of the "
        "rows scored\n",
        std::string(engine_name(engine)).c_str(), k, us, us / subject.reading.us(weights), bytes * 1e-9,
        100 * bytes / us / subject.reading.bytes_per_us,
        100 * static_cast<double>(stats.rows_scored) / static_cast<double>(stats.rows_in_index));
    if (result.hits != subject.index.search(query).hits) ++wrong;
  }
  return wrong;
}

namespace {

// About a score that so many rows exceed.
double score_of_rank(const Index& index, const Query& query, double rank) {
  Query opposite = query;
  for (double& weight : opposite.weights) weight = -weight;
  double highest = index.search(query).hits[0].score, lowest = -index.search(opposite).hits[0].score;
  constexpr int kSteps = 30;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = lowest + (highest - lowest) / 2;
    (static_cast<double>(index.count_above(query, middle)) > rank ? lowest : highest) = middle;
  }
  return highest;
}

}  // namespace

int measure_count(const Subject& subject, const Weights& weights) {
  int wrong = 0;
  const Query query = {.weights = weights, .k = 1};
  for (const double share : {1e-5, 1e-3, 0.01, 0.1, 0.5, 0.99}) {
    const double score =
        score_of_rank(subject.index, query, share * static_cast<double>(subject.index.info().num_rows));
    std::uint64_t count = 0;
    const double us =
        median(times_us(subject.repeats, [&] { count = subject.on_gpu.count_above(query, score); }));
    const double on_cpu =
        median(times_us(kLongRepeats, [&] { wrong += subject.index.count_above(query, score) != count; }));
    std::printf("count %7.3f %% of the rows %9.0f us = %.2f x reading; %.0f us on the CPU\n", 100 * share, us,
                us / subject.reading.us(weights), on_cpu);
  }
  return wrong;
}

namespace {

void print_batch(const char* what, std::size_t k, double us) {
  std::printf("%s k=%-4zu %9.0f us for %zu queries = %.0f queries/s", what, k, us, kBatch,
              static_cast<double>(kBatch) * 1e6 / us);
}

std::vector<Query> batch_queries(int dims, std::size_t k) {
  std::mt19937_64 random(9);
  std::vector<Query> queries(kBatch);
  for (Query& query : queries) query = {.weights = random_weights(random, dims), .k = k};
  return queries;
}

// Weights and answers in device memory; how many ids are not those of `expected`.
int measure_on_device(const Subject& subject, const std::vector<Query>& queries,
                      const std::vector<SearchResult>& expected) {
  const std::size_t k = *queries[0].k;
  std::vector<double> weights;
  for (const Query& query : queries)
    weights.insert(weights.end(), query.weights.begin(), query.weights.end());
  const cuda::Buffer<double> device_weights(weights.size()), scores(kBatch * k);
  const cuda::Buffer<std::int64_t> ids(kBatch * k);
  const cuda::Buffer<std::uint32_t> counts(kBatch);
  cuda::check(
      cudaMemcpy(device_weights.data(), weights.data(), device_weights.size_bytes(), cudaMemcpyHostToDevice));
  DeviceContext context = subject.on_gpu.make_context();
  const DeviceBatch batch = {.weights = device_weights.data(), .num_queries = kBatch, .k = k};
  const DeviceAnswers answers = {ids.data(), scores.data(), counts.data()};
  print_batch("batch, device to device,", k, median(times_us(kLongRepeats, [&] {
                subject.on_gpu.search_async(batch, answers, context);
                context.synchronize();
              })));
  std::printf("\n");
  std::vector<std::int64_t> found(kBatch * k);
  cuda::check(cudaMemcpy(found.data(), ids.data(), ids.size_bytes(), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (std::size_t q = 0; q < kBatch; ++q)
    for (std::size_t i = 0; i < expected[q].hits.size(); ++i)
      wrong += found[q * k + i] != expected[q].hits[i].id ? 1 : 0;
  return wrong;
}

}  // namespace

int measure_batch(const Subject& subject, const Ks& ks) {
  const int dims = static_cast<int>(subject.index.info().attributes.size());
  int wrong = 0;
  for (const std::size_t k : ks) {
    const std::vector<Query> queries = batch_queries(dims, k);
    std::vector<SearchResult> results;
    print_batch("batch", k,
                median(times_us(kLongRepeats, [&] { results = subject.on_gpu.search(queries); })));
    std::vector<double> leaves, nodes;
    for (const SearchResult& result : results) {
      leaves.push_back(static_cast<double>(result.stats.leaves_visited));
      nodes.push_back(static_cast<double>(result.stats.nodes_visited));
    }
    std::printf(", leaves per query median %.0f, most %.0f; nodes median %.0f, most %.0f\n",
                quantile(leaves, 0.5), quantile(leaves, 1), quantile(nodes, 0.5), quantile(nodes, 1));
    for (std::size_t q = 0; q < kBatch; q += kBatch / kCheckedOfBatch)
      if (results[q].hits != subject.index.search(queries[q]).hits) ++wrong;
    wrong += measure_on_device(subject, queries, results);
  }
  return wrong;
}

}  // namespace culmen::bench
