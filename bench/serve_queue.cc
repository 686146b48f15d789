// What the server's queue gains by answering questions together, without HTTP: questions/s one by one and in batches of
// what has come meanwhile, with the same workers, in turns.
//
//   serve_queue [--rows=4000000] [--dims=8] [--k=16] [--signs=both|positive] [--waiting=16,64,256] [--workers=2]
//               [--questions=20000] [--repeats=3] [--device=-1] [--fewest=2]
//
// --waiting: questions that have been asked and are not answered; --device: a GPU's number; --fewest: how many are
// answered together at least. All questions differ. The first answers of both ways are compared.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "bench/weights.h"
#include "culmen/culmen.h"
#include "culmen/table_io.h"
#include "serve/question_queue.h"
#include "serve/searcher.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t rows = 4'000'000;
  int dims = 8;
  std::size_t k = 16;
  std::string signs = "both";
  std::vector<std::size_t> waiting = {16, 64, 256};
  int workers = 2;
  std::size_t questions = 20'000;
  int repeats = 3;
  int device = kNoDevice;
  std::size_t fewest = 2;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--k=", settings.k) && !take_flag(argument, "--signs=", settings.signs) &&
        !take_flag(argument, "--waiting=", settings.waiting) &&
        !take_flag(argument, "--workers=", settings.workers) &&
        !take_flag(argument, "--questions=", settings.questions) &&
        !take_flag(argument, "--repeats=", settings.repeats) &&
        !take_flag(argument, "--device=", settings.device) &&
        !take_flag(argument, "--fewest=", settings.fewest))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/serve_queue.cc");
  }
  return settings;
}

std::vector<Query> random_queries(const Settings& settings) {
  std::mt19937_64 random(7);
  std::vector<Query> queries;
  for (std::size_t q = 0; q < settings.questions; ++q) {
    std::vector<double> weights = random_weights(random, settings.dims);
    for (double& weight : weights)
      if (settings.signs == "both" && random() % 2 == 0) weight = -weight;
    queries.push_back({.weights = std::move(weights), .k = settings.k});
  }
  return queries;
}

// Asks as soon as fewer than `most` questions wait.
class Asker {
 public:
  Asker(serve::QuestionQueue& queue, std::size_t most) : queue_(queue), most_(most) {}

  // The first hit of each query.
  std::vector<Hit> ask(const std::vector<Query>& queries, bool alone) {
    std::vector<Hit> best(queries.size());
    for (std::size_t q = 0; q < queries.size(); ++q) {
      wait_until_at_most(most_ - 1);
      add_one();
      queue_.ask({.queries = {queries[q]},
                  .deadline = std::chrono::steady_clock::now() + std::chrono::hours(1),
                  .answer =
                      [this, &best, q](serve::Answered answered) {
                        if (answered.error == nullptr) best[q] = answered.results.front().hits.front();
                        const std::lock_guard lock(mutex_);
                        --waiting_;
                        changed_.notify_one();
                      },
                  .alone = alone});
    }
    wait_until_at_most(0);
    return best;
  }

 private:
  void add_one() {
    const std::lock_guard lock(mutex_);
    ++waiting_;
  }

  void wait_until_at_most(std::size_t most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ <= most; });
  }

  serve::QuestionQueue& queue_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;
};

void measure(const Settings& settings, serve::Searcher& searcher, const std::vector<Query>& queries,
             std::size_t waiting) {
  serve::QuestionQueue queue(
      [&](std::span<const Query> asked, const SearchOptions& how) { return searcher.search(asked, how); },
      settings.workers, waiting, settings.fewest);
  Asker asker(queue, waiting);
  std::vector<double> one_by_one, together;
  std::vector<Hit> expected, found;
  std::uint64_t batches = 0;
  for (int repeat = 0; repeat <= settings.repeats; ++repeat) {  // the first does not count
    const double start = now_us();
    expected = asker.ask(queries, true);
    const double middle = now_us();
    const std::uint64_t before = queue.stats().batches;
    found = asker.ask(queries, false);
    batches = queue.stats().batches - before;
    if (repeat == 0) continue;
    one_by_one.push_back(middle - start);
    together.push_back(now_us() - middle);
  }
  for (std::size_t q = 0; q < queries.size(); ++q)
    if (found[q].id != expected[q].id || found[q].score != expected[q].score)
      throw Error("the answers differ");
  const double count = static_cast<double>(queries.size());
  std::printf("%8zu %14.0f %14.0f %8.2f %12.1f\n", waiting, 1e6 * count / median(one_by_one),
              1e6 * count / median(together), median(one_by_one) / median(together),
              count / static_cast<double>(batches));
  std::fflush(stdout);
}

int run(const Settings& settings) {
  const Table table = generate_table({.num_rows = settings.rows, .num_attributes = settings.dims});
  const AnyIndex index(Index::build(table.view()));
  serve::ServeOptions options;
  if (settings.device != kNoDevice) options.devices = {settings.device};
  serve::Searcher searcher(index, serve::copy_to_devices(index, options),
                           [](const std::string& problem) { throw Error(problem); });
  const std::vector<Query> queries = random_queries(settings);
  std::printf("%8s %14s %14s %8s %12s\n", "waiting", "one by one /s", "together /s", "ratio", "a batch has");
  for (const std::size_t waiting : settings.waiting) measure(settings, searcher, queries, waiting);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
