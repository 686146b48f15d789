#include "planner/shared_pass.h"

#include <tbb/parallel_for.h>

#include <atomic>

#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "cpu/byte_pass.h"
#include "cpu/simd/byte_products.h"

namespace culmen {
namespace {

constexpr std::size_t kLeastQuestions = 64, kAsked = 16, kLeastAttributes = 16;
constexpr std::uint64_t kLeastLeaves = 32;

class GiveUp : public cpu::SearchMonitor {
 public:
  explicit GiveUp(std::uint64_t visits) : visits_(visits) {}
  std::uint64_t first_checkpoint() const override { return visits_; }
  std::uint64_t checkpoint(const cpu::Progress& /*progress*/) override { return 0; }

 private:
  std::uint64_t visits_;
};

// The visits that cost what a question's share of a pass costs: some for its beginning and for rows that are scored,
// and a part of those to all leaves (bench/peers_batch.py).
std::uint64_t visits_of_pass(const Snapshot& snapshot) {
  constexpr std::uint64_t kOfQuestion = 16, kLeafAttributes = 2560;
  return kOfQuestion + snapshot.num_leaves * snapshot.attributes.size() / kLeafAttributes;
}

}  // namespace

bool prefers_pass(const Snapshot& snapshot, std::size_t num_questions,
                  const std::function<std::optional<ResolvedQuery>(std::size_t)>& query_of) {
  if (!simd::has_fast_byte_products() || num_questions < kLeastQuestions ||
      snapshot.attributes.size() < kLeastAttributes || snapshot.num_leaves < kLeastLeaves ||
      !cpu::can_pass_in_bytes(snapshot))
    return false;
  std::atomic<std::size_t> gave_up = 0;
  tbb::parallel_for(std::size_t{0}, kAsked, [&](std::size_t i) {
    const FloatingPointScope floating_point;
    const std::optional<ResolvedQuery> query = query_of(i * (num_questions / kAsked));
    if (!query || !query->filter.is_everything()) return;
    GiveUp monitor(visits_of_pass(snapshot));
    SearchStats stats;
    if (!cpu::search_bounded(snapshot, *query, monitor, stats).finished) ++gave_up;
  });
  return gave_up >= kAsked * 3 / 4;
}

}  // namespace culmen
