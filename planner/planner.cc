#include "planner/planner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/with_threads.h"
#include "cpu/bounded.h"
#include "cpu/topk.h"
#include "planner/automatic.h"
#include "planner/cost_model.h"
#include "planner/sampled_scan.h"
#include "planner/work_estimate.h"

namespace culmen {
namespace {

// Integers whole: a million leaves are not 1e+06.
std::string number(double value) {
  const bool is_whole = std::abs(value) <= 0x1p53 && value == std::trunc(value);
  char text[32];
  std::snprintf(text, sizeof text, is_whole ? "%.0f" : "%.9g", value);
  return text;
}

// "max{price + rating}" for a row of bounds.
std::string row_name(const Snapshot& snapshot, int row) {
  const BoundLayout& layout = snapshot.layout;
  const auto name = [&](int attribute) {
    return snapshot.attributes[static_cast<std::size_t>(attribute)].name;
  };
  const bool is_minimum = row >= layout.first_minimum_row();
  const std::string extreme = is_minimum ? "min{" : "max{";
  if (is_minimum) row -= layout.first_minimum_row();
  if (layout.has_total() && row == layout.total_row(Extreme::maximum)) return extreme + "all}";
  std::string text;
  for (const BoundLayout::Group& group : layout.groups()) {
    const int mask = row - group.first_row + 1;
    if (mask < 1 || mask >= 1 << group.size) continue;
    for (int i = 0; i < group.size; ++i)
      if ((mask >> i & 1) != 0) text += (text.empty() ? extreme : " + ") + name(group.first_attribute + i);
  }
  return text + "}";
}

std::string terms_text(const Snapshot& snapshot, const BoundTerms& terms) {
  std::string text;
  for (const BoundTerm& term : terms)
    text += "            + " + number(term.coefficient) + " * " + row_name(snapshot, term.row) + "\n";
  return text;
}

// A search by bounds that ends early, and says what it would have done to its end.
class Probe : public cpu::SearchMonitor {
 public:
  Probe(const Snapshot& snapshot, const ResolvedQuery& query) : snapshot_(snapshot), query_(query) {
    const cpu::MonitoredAnswer answer = cpu::search_bounded(snapshot, query, *this, stats_);
    finished_ = answer.finished;
    if (finished_) work_ = counted_work(snapshot, query, stats_, static_cast<double>(answer.hits.size()));
  }

  std::uint64_t first_checkpoint() const override { return kVisits; }
  std::uint64_t checkpoint(const cpu::Progress& progress) override {
    work_ = estimate_bounded(snapshot_, query_, progress);
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

std::string leaves_text(double count) {
  return number(std::round(count)) + (std::round(count) == 1 ? " leaf" : " leaves");
}

DeviceTable device_table(const Snapshot& snapshot, const ResolvedQuery& query) {
  const auto leaves = static_cast<double>(snapshot.num_leaves);
  const auto terms = static_cast<double>(query.terms.size());
  return {.index_bytes = static_cast<double>(snapshot.tree_bytes()),
          .bounds_bytes = leaves * static_cast<double>(query.bound.num_terms() * sizeof(BoundRow)) / kFanOut,
          .column_bytes = leaves * terms * static_cast<double>(snapshot.leaf_rows) *
                          static_cast<double>(snapshot.value_bytes()),
          .leaves = leaves};
}

void predict_device(const DeviceTable& table, const Work& work, const DeviceCosts& costs, Plan& plan) {
  plan.copy_us = device_copy_us(table, costs);
  plan.predictions.push_back({Engine::bounded, device_bounded_us(work, table, costs), 0});
  plan.predictions.push_back({Engine::scan, device_scan_us(table, costs), 0});
}

std::string reason_of(const Plan& plan, const Probe& probe, const Snapshot& snapshot) {
  const double share = probe.work().leaves / static_cast<double>(snapshot.num_leaves);
  std::string read = probe.finished() ? "" : "about ";
  read += leaves_text(probe.work().leaves) + " of " + std::to_string(snapshot.num_leaves) + ", ";
  read += number(std::round(1000 * share) / 10) + " %";
  if (plan.engine == Engine::bounded) return "a search by bounds reads " + read;
  return "a search by bounds would read " + read + ", and a scan is faster";
}

}  // namespace

Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const CostsNs& costs, double slowness, const std::optional<DeviceCosts>& device) {
  Plan plan{options.engine, "asked for by name", {}};
  if (snapshot.num_rows == 0) {
    if (plan.engine == Engine::automatic) plan = {Engine::bounded, "the index is empty", {}};
    return plan;
  }
  const int threads = scan_threads(snapshot, options.num_threads);
  const Probe probe(snapshot, query);
  const double selectivity = estimate_selectivity(snapshot, query);
  const double bounded = slowness * bounded_us(probe.work(), costs);
  const double scan = slowness * scan_us(sample_scan(snapshot, query, selectivity, threads), costs, threads);
  plan.predictions = {{Engine::bounded, bounded}, {Engine::scan, scan}};
  if (plan.engine == Engine::automatic) {
    const bool has_to_scan = asks_for_most(snapshot, query, threads);
    plan.engine = !has_to_scan && (probe.finished() || bounded <= scan) ? Engine::bounded : Engine::scan;
    plan.reason = has_to_scan ? "a good part of all rows is asked for" : reason_of(plan, probe, snapshot);
  }
  std::stable_partition(plan.predictions.begin(), plan.predictions.end(),
                        [&](const Prediction& prediction) { return prediction.engine == plan.engine; });
  if (device && query.filter.is_ranges())
    predict_device(device_table(snapshot, query), probe.work(), *device, plan);
  return plan;
}

Placement place_queries(const Snapshot& snapshot, std::span<const ResolvedQuery> queries,
                        const PlacementOptions& options, const CostsNs& costs, double slowness,
                        const std::optional<DeviceCosts>& device) {
  if (queries.empty() || snapshot.num_rows == 0) return {.reason = "there is nothing to do"};
  constexpr std::size_t kProbed = 32;
  const bool is_batch = queries.size() > 1;
  const int threads = threads_of(options.num_threads);
  const int sharing = scan_threads(snapshot, is_batch ? 1 : options.num_threads);  // one query
  const std::size_t step = std::max<std::size_t>(1, queries.size() / kProbed);
  Workload load;
  load.queries = static_cast<double>(queries.size());
  load.threads = is_batch ? threads : 1;
  load.table = device_table(snapshot, queries.front());
  load.has_copy = options.has_copy;
  double probed = 0;
  for (std::size_t q = 0; q < queries.size(); q += step, ++probed) {
    const Probe probe(snapshot, queries[q]);
    const Work scan = estimate_scan(snapshot, queries[q], 1, sharing);
    load.cpu_us += std::min(bounded_us(probe.work(), costs), scan_us(scan, costs, sharing));
    load.bounded.leaves += probe.work().leaves;
    load.bounded.hits += probe.work().hits;
  }
  load.cpu_us *= slowness / probed;
  for (double Work::*part : {&Work::leaves, &Work::hits}) load.bounded.*part /= probed;
  const PlacementTimes times = placement_times(load, device.value_or(DeviceCosts()));
  if (!device) return {.reason = "there is no GPU", .cpu_us = times.cpu_us};
  if (!std::ranges::all_of(queries, [](const ResolvedQuery& query) { return query.filter.is_ranges(); }))
    return {.reason = "a GPU does not take this filter", .cpu_us = times.cpu_us};
  const std::string gpu = "GPU 0 would take about " + in_us(times.device_us) +
                          (options.has_copy ? "" : ", copying the index there " + in_us(times.copy_us));
  return {times.on_device() ? 0 : -1, "the CPU would take about " + in_us(times.cpu_us) + ", " + gpu,
          times.cpu_us, times.device_us, times.copy_us};
}

Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan) {
  Explanation result{plan.engine, plan.reason, plan.predictions, ""};
  std::string& text = result.text;
  text = "engine      " + std::string(engine_name(plan.engine)) + ": " + plan.reason + "\n";
  text += "table       " + std::to_string(snapshot.num_rows) + " rows in " +
          std::to_string(snapshot.num_leaves) + " leaves, tree of height " + std::to_string(snapshot.height) +
          "\n";
  text += "k           " + std::to_string(query.k) + "\n";
  for (const Prediction& prediction : plan.predictions) {
    std::string name(engine_name(prediction.engine));
    name.resize(8, ' ');
    if (prediction.device >= 0) name += "on GPU " + std::to_string(prediction.device) + " ";
    text += (&prediction == plan.predictions.data() ? "predicted   " : "            ") + name + "about " +
            in_us(prediction.elapsed_us) + "\n";
  }
  if (plan.copy_us > 0)
    text += "            copying the index to a GPU first about " + in_us(plan.copy_us) + "\n";
  if (plan.copy_us == 0)
    text +=
        query.filter.is_ranges() ? "GPU         none is there\n" : "GPU         does not take this filter\n";
  if (plan.engine != Engine::bounded) return result;
  text +=
      "bound       " + number(query.bound.base) + (query.bound.exact ? " (no operation rounds)" : "") + "\n";
  text += terms_text(snapshot, query.bound.terms);
  if (query.bound.capped)
    text += "or, within the filter's ranges, if it is less\n            " + number(query.bound.capped->base) +
            "\n" + terms_text(snapshot, query.bound.capped->terms);
  text += "            attributes in units of a power of two near their range, from their minimum on\n";
  return result;
}

}  // namespace culmen
