#include "planner/shared_pass.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "cpu/byte_pass.h"
#include "cpu/simd/byte_products.h"
#include "cpu/topk.h"
#include "index/leaf_lengths.h"
#include "planner/cost_model.h"
#include "planner/work_estimate.h"

namespace culmen {
namespace {

constexpr std::size_t kLeastQuestions = 128, kLeastAttributes = 16;
constexpr std::uint64_t kLeastLeaves = 128;
// One question of kOfAsked is asked for its cost, kMostAsked in all. The time of those that give up is lost.
constexpr std::size_t kOfAsked = 32, kMostAsked = 16;
// A search gives up when it has cost so much more than its share of a pass; a pass must gain so much.
constexpr double kGivesUp = 4, kGain = 1.25;

// The i-th of num_asked questions, one of each part of the batch: not the same one of each, since batches are often grids,
// whose rows begin alike.
std::size_t asked_at(std::size_t i, std::size_t num_asked, std::size_t num_questions) {
  constexpr double kGolden = 0.6180339887498949;  // its multiples are spread evenly between integers
  const double first = kGolden * static_cast<double>(i + 1);
  const double part = static_cast<double>(num_questions) / static_cast<double>(num_asked);
  const auto at = static_cast<std::size_t>((static_cast<double>(i) + first - std::floor(first)) * part);
  return std::min(at, num_questions - 1);
}

// Gives up when the search has cost `most_us`.
class GiveUp : public cpu::SearchMonitor {
 public:
  GiveUp(const Snapshot& snapshot, const ResolvedQuery& query, double most_us)
      : snapshot_(snapshot), query_(query), most_us_(most_us) {}

  std::uint64_t first_checkpoint() const override { return kFirst; }
  std::uint64_t checkpoint(const cpu::Progress& progress) override {
    const bool is_over = cost_us(progress.stats, progress.best.size()) > most_us_;
    return is_over ? 0 : progress.visits() + progress.visits() / 4;
  }

  double cost_us(const SearchStats& stats, std::size_t hits) const {
    return bounded_us(counted_work(snapshot_, query_, stats, static_cast<double>(hits)), CostsNs());
  }

 private:
  static constexpr std::uint64_t kFirst = 16;
  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  const double most_us_;
};

// What a pass takes for each question, on one thread of the processor that CostsNs are of.
double pass_us(const Snapshot& snapshot, std::size_t num_questions, std::size_t k, bool has_codes) {
  constexpr double kOfQuestion = 8, kOfAnswer = 0.7, kOfQuad = 0.014;
  const std::size_t quads_of_row = (snapshot.attributes.size() + 3) / 4;
  const double quads =
      static_cast<double>(snapshot.num_leaves) * snapshot.leaf_rows * static_cast<double>(quads_of_row);
  const double coding = has_codes ? 0 : kOfQuad * quads / static_cast<double>(num_questions);
  return kOfQuestion + kOfAnswer * static_cast<double>(k) + simd::byte_kernels().quad_ns / 1000 * quads +
         coding;
}

// The part of a table that a pass reads for a question whose k-th score is known: in a wide table it ends at the first leaf
// that is too short. leaves: by length, of a wide table.
double part_of_pass(const Snapshot& snapshot, const std::vector<LeafLength>& leaves,
                    const ResolvedQuery& query, const std::vector<Hit>& hits) {
  const BoundPlan& bound = query.bound;
  if (leaves.empty() || hits.size() < query.k || bound.terms.size() != 1) return 1;
  const double coefficient = bound.terms.front().coefficient, floor = hits.back().score;
  if (bound.terms.front().row != snapshot.layout.length_row(Extreme::maximum)) return 1;
  const auto too_short = std::partition_point(leaves.begin(), leaves.end(), [&](const LeafLength& leaf) {
    return bound.base + coefficient * leaf.length >= floor;
  });
  return static_cast<double>(too_short - leaves.begin()) / static_cast<double>(leaves.size());
}

}  // namespace

bool may_pass(const Snapshot& snapshot, std::size_t num_questions) {
  return !snapshot.has_memory_limit() && simd::byte_kernels().is_fast && num_questions >= kLeastQuestions &&
         snapshot.attributes.size() >= kLeastAttributes && snapshot.num_leaves >= kLeastLeaves &&
         cpu::ByteTable::can_hold(snapshot);
}

bool prefers_walk(const Snapshot& snapshot, std::size_t num_questions, const cpu::CodeTable* codes) {
  const bool may_walk = snapshot.has_memory_limit() && num_questions > 1 &&
                        snapshot.tree_bytes() > snapshot.arena->cache()->most_bytes();
  if (!may_walk || codes == nullptr) return may_walk;
  // What each question reads that bounds hardly help (bench/limited_memory); a walk reads all for them.
  constexpr std::uint64_t kReadsByCodes = 256;
  const std::uint64_t each = kReadsByCodes + codes->num_reads_of_a_call(snapshot.attributes.size());
  return num_questions * each > snapshot.num_leaves;
}

bool prefers_pass(const Snapshot& snapshot, std::size_t num_questions, const cpu::QuestionOf& query_of,
                  bool has_codes) {
  const std::size_t num_asked = std::min(kMostAsked, num_questions / kOfAsked);
  const std::vector<LeafLength> leaves =
      snapshot.layout.is_wide() ? leaves_by_length(snapshot) : std::vector<LeafLength>();
  // The first from there on; others say nothing about a pass.
  const auto question_for_pass = [&](std::size_t first) -> std::optional<ResolvedQuery> {
    for (std::size_t q = first; q < std::min(first + kOfAsked, num_questions); ++q)
      if (std::optional<ResolvedQuery> query = query_of(q); query && cpu::is_for_pass(*query, snapshot))
        return query;
    return std::nullopt;
  };
  std::vector<double> gains(num_asked);  // what a search costs, at least, less what a pass does
  tbb::parallel_for(std::size_t{0}, num_asked, [&](std::size_t i) {
    const FloatingPointScope floating_point;
    const std::optional<ResolvedQuery> query = question_for_pass(asked_at(i, num_asked, num_questions));
    if (!query) return;
    const double pass = pass_us(snapshot, num_questions, query->k, has_codes);
    GiveUp monitor(snapshot, *query, kGivesUp * pass);
    SearchStats stats;
    const std::vector<Hit> hits = cpu::search_bounded(snapshot, *query, monitor, stats).hits;
    const double cost = monitor.cost_us(stats, hits.size());
    const double part = part_of_pass(snapshot, leaves, *query, hits);
    gains[i] = cost - kGain * part * pass;
  });
  double gain = 0;
  for (const double of_one : gains) gain += of_one;
  return gain > 0;
}

std::vector<double> usual_weights(const Snapshot& snapshot, std::size_t num_questions,
                                  const cpu::QuestionOf& query_of) {
  const std::size_t sample = std::min<std::size_t>(64, num_questions);
  if (!snapshot.layout.is_wide()) return {};
  std::vector<double> sizes(snapshot.attributes.size());
  for (std::size_t i = 0; i < sample; ++i)
    if (const std::optional<ResolvedQuery> query = query_of(asked_at(i, sample, num_questions)))
      for (const Term& term : query->terms)
        sizes[static_cast<std::size_t>(term.attribute)] += term.weight * term.weight;
  for (double& size : sizes) size = std::sqrt(size);
  return sizes;
}

}  // namespace culmen
