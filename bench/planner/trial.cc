#include "bench/planner/trial.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/timing.h"

namespace culmen::bench {
namespace {

constexpr int kRounds = 3;
constexpr double kLongUs = 20e3;  // beyond it a round has one run

std::size_t place_of(Engine engine) {
  return static_cast<std::size_t>(std::find(kTimedEngines.begin(), kTimedEngines.end(), engine) -
                                  kTimedEngines.begin());
}

double best_us(const Trial& trial) {
  return *std::min_element(
      trial.measured_us.begin(),
      trial.measured_us.begin() + static_cast<std::ptrdiff_t>(place_of(Engine::automatic)));
}

// By name, because a plan of `automatic` counts the work of its search instead of predicting it.
void take_predictions(const Index& index, int threads, Trial& trial) {
  const Query& query = trial.question.query;
  trial.explained = index.explain(query, {.num_threads = threads}).engine;
  const Explanation named = index.explain(query, {.engine = Engine::bounded, .num_threads = threads});
  for (const Prediction& prediction : named.predictions)
    if (prediction.device < 0) trial.predicted_us[place_of(prediction.engine)] = prediction.elapsed_us;
  trial.predicted_us[place_of(Engine::automatic)] = trial.predicted_us[place_of(trial.explained)];
}

void time_engine(const Index& index, const Trial& trial, const SearchOptions& options, int repeats,
                 std::vector<double>& times) {
  const double start = now_us();
  static_cast<void>(index.search(trial.question.query, options));
  const int runs = now_us() - start > kLongUs ? 1 : repeats;
  for (int run = 0; run < runs; ++run) {
    const double began = now_us();
    static_cast<void>(index.search(trial.question.query, options));
    times.push_back(now_us() - began);
  }
}

}  // namespace

double Trial::slowdown() const {
  return measured_us[place_of(Engine::automatic)] / best_us(*this);
}

double Trial::explained_slowdown() const {
  return measured_us[place_of(explained)] / best_us(*this);
}

Trial try_question(const Index& index, const TableCase& table, Question question, const Timing& timing) {
  Trial trial;
  trial.table = table;
  trial.question = std::move(question);
  take_predictions(index, timing.threads, trial);
  const SearchResult expected = index.search(trial.question.query, {.engine = Engine::bounded});
  trial.num_hits = expected.hits.size();
  for (std::size_t e = 0; e < kTimedEngines.size(); ++e) {
    const SearchResult result =
        index.search(trial.question.query, {.engine = kTimedEngines[e], .num_threads = timing.threads});
    trial.is_right = trial.is_right && result.hits == expected.hits;
    trial.stats[e] = result.stats;
  }
  std::array<std::vector<double>, kTimedEngines.size()> times;
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t turn = 0; turn < kTimedEngines.size(); ++turn) {
      const std::size_t e = round % 2 == 0 ? turn : kTimedEngines.size() - 1 - turn;
      time_engine(index, trial, {.engine = kTimedEngines[e], .num_threads = timing.threads},
                  (timing.repeats + kRounds - 1) / kRounds, times[e]);
    }
  for (std::size_t e = 0; e < kTimedEngines.size(); ++e)
    trial.measured_us[e] = quantile(times[e], timing.percent / 100.0);
  return trial;
}

}  // namespace culmen::bench
