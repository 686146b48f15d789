#include "planner/planner.h"

#include <algorithm>
#include <string>

#include "base/with_threads.h"
#include "cpu/bounded.h"
#include "planner/automatic.h"
#include "planner/explain.h"
#include "planner/sampled_scan.h"
#include "planner/work_estimate.h"
#include "query/few_ids.h"

namespace culmen {
namespace {

// Runs the first visits of a search by bounds and estimates the work of the whole.
class Probe : public cpu::SearchMonitor {
 public:
  Probe(const Snapshot& snapshot, const ResolvedQuery& query) : snapshot_(snapshot), query_(query) {
    SearchStats stats;
    const cpu::MonitoredAnswer answer = cpu::search_bounded(snapshot, query, *this, stats);
    if (answer.finished)
      work_ = counted_work(snapshot, query, stats, static_cast<double>(answer.hits.size()));
  }

  std::uint64_t first_checkpoint() const override { return kVisits; }
  std::uint64_t checkpoint(const cpu::Progress& progress) override {
    work_ = estimate_bounded(snapshot_, query_, progress);
    return 0;
  }

  const Work& work() const { return work_; }

 private:
  static constexpr std::uint64_t kVisits = 256;

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  Work work_;
};

// Decides as search_automatic does.
void choose_engine(const Snapshot& snapshot, const ResolvedQuery& query, int threads, const CostsNs& costs,
                   Plan& plan) {
  SearchStats stats;
  const AutomaticStart start = start_automatic(snapshot, query, threads, stats, costs);
  plan.engine = start.engine;
  plan.is_counted = start.engine == Engine::bounded;
  if (plan.is_counted) {
    plan.reason = PlanReason::bounds_prune;
    plan.bounded = counted_work(snapshot, query, stats, static_cast<double>(start.hits.size()));
  } else if (start.gave_up) {
    plan.reason = PlanReason::scan_is_faster;
    plan.bounded = start.expected;
  } else {
    plan.reason = PlanReason::most_rows;
    plan.bounded = Probe(snapshot, query).work();
  }
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

void predict_device(const DeviceTable& table, const DeviceCosts& costs, Plan& plan) {
  plan.copy_us = device_copy_us(table, costs);
  plan.predictions.push_back({Engine::bounded, device_bounded_us(plan.bounded, table, costs), costs.device});
  plan.predictions.push_back({Engine::scan, device_scan_us(table, costs), costs.device});
}

}  // namespace

Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const CostsNs& costs, double slowness, const std::optional<DeviceCosts>& device) {
  Plan plan;
  plan.engine = options.engine;
  if (snapshot.num_rows == 0) {
    if (plan.engine != Engine::automatic) return plan;
    plan.engine = Engine::bounded;
    plan.reason = PlanReason::no_rows;
    return plan;
  }
  const int threads = scan_threads(snapshot, options.num_threads);
  if (options.engine == Engine::automatic) {
    if (const auto ids = few_ids_of(query)) {
      plan.reason = PlanReason::few_ids;
      plan.num_ids = ids->size();
      return plan;
    }
    choose_engine(snapshot, query, threads, costs, plan);
  } else {
    plan.bounded = Probe(snapshot, query).work();
  }
  const Work scan = sample_scan(snapshot, query, estimate_selectivity(snapshot, query), threads);
  plan.predictions = {{Engine::bounded, slowness * bounded_us(plan.bounded, costs)},
                      {Engine::scan, slowness * scan_us(scan, costs, threads)}};
  std::stable_partition(plan.predictions.begin(), plan.predictions.end(),
                        [&](const Prediction& prediction) { return prediction.engine == plan.engine; });
  if (device) predict_device(device_table(snapshot, query), *device, plan);
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
    if (few_ids_of(queries[q])) continue;  // the CPU looks them up
    const Probe probe(snapshot, queries[q]);
    const Work scan =
        estimate_scan(snapshot, queries[q], 1, estimate_leaves(snapshot, queries[q].filter), sharing);
    load.cpu_us += std::min(bounded_us(probe.work(), costs), scan_us(scan, costs, sharing));
    load.bounded.leaves += probe.work().leaves;
    load.bounded.hits += probe.work().hits;
  }
  load.cpu_us *= slowness / probed;
  for (double Work::*part : {&Work::leaves, &Work::hits}) load.bounded.*part /= probed;
  const PlacementTimes times = placement_times(load, device.value_or(DeviceCosts()));
  if (!device) return {.reason = "there is no GPU", .cpu_us = times.cpu_us};
  // A GPU gets the ids of each query's sets as intervals; packing these takes longer than the search.
  if (std::ranges::any_of(queries, [](const ResolvedQuery& query) { return query.filter.tests_id_sets(); }))
    return {.reason = "sending sets of ids to a GPU takes longer than a search", .cpu_us = times.cpu_us};
  return {times.on_device() ? device->device : kNoDevice, placement_reason(times, options.has_copy),
          times.cpu_us, times.device_us, times.copy_us};
}

}  // namespace culmen
