#include "query/planner.h"

#include <tbb/info.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "cpu/bounded.h"
#include "cpu/topk.h"
#include "query/adaptive.h"
#include "query/cost_model.h"
#include "query/forecast.h"
#include "query/rehearsal.h"

namespace culmen {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// "{price, rating}" for a row of subset maxima.
std::string row_name(const Snapshot& snapshot, int row) {
  const BoundLayout& layout = snapshot.layout;
  const auto name = [&](int attribute) {
    return snapshot.attributes[static_cast<std::size_t>(attribute)].name;
  };
  if (row >= layout.first_minimum_row()) return "min{" + name(row - layout.first_minimum_row()) + "}";
  if (layout.has_total() && row == layout.total_row()) return "max{all}";
  std::string text;
  for (const BoundLayout::Group& group : layout.groups()) {
    const int mask = row - group.first_row + 1;
    if (mask < 1 || mask >= 1 << group.size) continue;
    for (int i = 0; i < group.size; ++i)
      if ((mask >> i & 1) != 0) text += (text.empty() ? "max{" : " + ") + name(group.first_attribute + i);
  }
  return text + "}";
}

// A search by bounds that ends early, and says what it would have done to its end.
class Probe : public cpu::Watch {
 public:
  Probe(const Snapshot& snapshot, const ResolvedQuery& query) : snapshot_(snapshot), query_(query) {
    const cpu::WatchedAnswer answer = cpu::search_bounded(snapshot, query, *this, stats_);
    finished_ = answer.finished;
    if (finished_) work_ = counted_work(snapshot, query, stats_, static_cast<double>(answer.hits.size()));
  }

  std::uint64_t first_look() const override { return kVisits; }
  std::uint64_t look(const cpu::Progress& progress) override {
    work_ = forecast_bounded(snapshot_, query_, progress);
    return 0;
  }

  bool finished() const { return finished_; }
  const Work& work() const { return work_; }

 private:
  static constexpr std::uint64_t kVisits = 256;

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  SearchStats stats_;
  Work work_;
  bool finished_ = true;
};

std::string in_us(double elapsed_us) {
  return number(std::round(elapsed_us * 10) / 10) + " us";
}

std::string blocks(double count) {
  return number(std::round(count)) + (std::round(count) == 1 ? " block" : " blocks");
}

std::string reason_of(const Plan& plan, const Probe& probe, const Snapshot& snapshot) {
  const double share = probe.work().leaves / static_cast<double>(snapshot.num_leaves);
  std::string read = probe.finished() ? "" : "about ";
  read += blocks(probe.work().leaves) + " of " + std::to_string(snapshot.num_leaves) + ", ";
  read += number(std::round(1000 * share) / 10) + " %";
  if (plan.engine == Engine::bounded) return "a search by bounds reads " + read;
  return "a search by bounds would read " + read + ", and a scan is faster";
}

}  // namespace

Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const MachineCosts& costs) {
  Plan plan{options.engine, "asked for by name", {}};
  if (snapshot.num_tuples == 0) {
    if (plan.engine == Engine::automatic) plan = {Engine::bounded, "the index is empty", {}};
    return plan;
  }
  const int threads = threads_of(options.num_threads), all_threads = threads_of(0);
  const Probe probe(snapshot, query);
  const double selectivity = estimate_selectivity(snapshot, query);
  const double bounded = bounded_us(probe.work(), costs);
  const double scan =
      scan_us(rehearse_scan(snapshot, query, selectivity, threads), costs, threads, all_threads);
  const double gta =
      scan_us(rehearse_gta(snapshot, query, selectivity, threads), costs, threads, all_threads);
  plan.predictions = {{Engine::bounded, bounded}, {Engine::scan, scan}, {Engine::gta, gta}};
  if (plan.engine == Engine::automatic) {
    plan.engine = probe.finished() || bounded <= scan ? Engine::bounded : Engine::scan;
    plan.reason = reason_of(plan, probe, snapshot);
  }
  std::stable_partition(plan.predictions.begin(), plan.predictions.end(),
                        [&](const Prediction& prediction) { return prediction.engine == plan.engine; });
  return plan;
}

Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan) {
  Explanation result{plan.engine, plan.reason, plan.predictions, ""};
  std::string& text = result.text;
  text = "engine      " + std::string(engine_name(plan.engine)) + ": " + plan.reason + "\n";
  text += "table       " + std::to_string(snapshot.num_tuples) + " tuples in " +
          std::to_string(snapshot.num_leaves) + " blocks, tree of height " + std::to_string(snapshot.height) +
          "\n";
  text += "k           " + std::to_string(query.k) + "\n";
  for (const Prediction& prediction : plan.predictions) {
    std::string name(engine_name(prediction.engine));
    name.resize(8, ' ');
    text += (&prediction == plan.predictions.data() ? "predicted   " : "            ") + name + "about " +
            in_us(prediction.elapsed_us) + "\n";
  }
  if (plan.engine != Engine::bounded) return result;
  text +=
      "bound       " + number(query.bound.base) + (query.bound.exact ? " (no operation rounds)" : "") + "\n";
  for (const BoundTerm& term : query.bound.terms)
    text += "            + " + number(term.coefficient) + " * " + row_name(snapshot, term.row) + "\n";
  text += "            attributes in units of a power of two near their range, from their minimum on\n";
  return result;
}

}  // namespace culmen
