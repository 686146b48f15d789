#include "query/pace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "culmen/index.h"
#include "query/sample_index.h"
#include "query/turns.h"

namespace culmen {
namespace {

// Never destroyed: a thread that explains a query while the process ends still finds it.
const Index& fixed_index() {
  static const auto& index = *new Index(sample_index(2'000, 8));
  return index;
}

double present_ns() {
  constexpr int kWarmUps = 4, kRuns = 12;
  const std::function<void()> work = pace_work();
  for (int i = 0; i < kWarmUps; ++i) work();
  std::vector<double> runs_ns;
  for (int i = 0; i < kRuns; ++i) runs_ns.push_back(elapsed_ns(work));
  return undisturbed(std::move(runs_ns)).ns;
}

}  // namespace

std::function<void()> pace_work() {
  return [&index = fixed_index(),
          query = Query{.weights = {0.9, -0.4, 0.7, 0.3, -0.8, 0.5, 0.2, 0.6}, .k = 16}] {
    static_cast<void>(index.search(query, {.engine = Engine::bounded}));
  };
}

MachineCosts at_present_pace(MachineCosts costs) {
  if (costs.pace_ns <= 0) return costs;
  // Beyond these the clock is at fault, or a scheduler.
  constexpr double kLeast = 0.25, kMost = 4;
  const double factor = std::clamp(present_ns() / costs.pace_ns, kLeast, kMost);
  for (const CostConstant& constant : kCostConstants) costs.*constant.value *= factor;
  return costs;
}

}  // namespace culmen
