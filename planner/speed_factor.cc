#include "planner/speed_factor.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/bounded.h"
#include "index/build/bulk_load.h"
#include "query/resolve.h"

namespace culmen {
namespace {

constexpr int kDims = 8;
constexpr std::size_t kRows = 2'000;
// On the processor whose costs are built in.
constexpr double kReferenceNs = 6'300;

// A search by bounds that takes a few microseconds.
class FixedSearch {
 public:
  FixedSearch() : snapshot_(make_snapshot()), query_(resolve(question(), *snapshot_)) {}

  double elapsed_ns() const {
    using Clock = std::chrono::steady_clock;
    SearchStats stats;
    const Clock::time_point start = Clock::now();
    static_cast<void>(cpu::search_bounded(*snapshot_, query_, stats));
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

 private:
  static std::shared_ptr<const Snapshot> make_snapshot() {
    std::mt19937_64 random(1);
    std::vector<float> values(kRows * kDims);
    for (float& value : values) value = static_cast<float>(random() >> 40) * 0x1p-24F;
    std::vector<Attribute> attributes;
    for (int i = 0; i < kDims; ++i) attributes.push_back({std::string(1, static_cast<char>('a' + i))});
    return bulk_load(row_major_table(std::span<const float>(values), std::move(attributes)), {});
  }
  static Query question() { return {.weights = {0.9, -0.4, 0.7, 0.3, -0.8, 0.5, 0.2, 0.6}, .k = 16}; }

  std::shared_ptr<const Snapshot> snapshot_;
  ResolvedQuery query_;
};

// The lower quartile of the runs. Most runs of a few microseconds are not interrupted, whatever else is running; the
// very fastest ones are not typical.
double present_ns(const FixedSearch& search) {
  constexpr int kWarmUps = 4, kRuns = 12;
  for (int i = 0; i < kWarmUps; ++i) search.elapsed_ns();
  std::array<double, kRuns> runs_ns{};
  for (double& ns : runs_ns) ns = search.elapsed_ns();
  std::ranges::nth_element(runs_ns, runs_ns.begin() + kRuns / 4);
  return runs_ns[kRuns / 4];
}

}  // namespace

double speed_factor() {
  // Never destroyed: another thread may explain a query while the process exits.
  static const FixedSearch& search = *new FixedSearch();
  // Values beyond these come from the clock or the scheduler.
  constexpr double kLowest = 0.1, kHighest = 10;
  return std::clamp(present_ns(search) / kReferenceNs, kLowest, kHighest);
}

}  // namespace culmen
