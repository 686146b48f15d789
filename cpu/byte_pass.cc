#include "cpu/byte_pass.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "base/floating_point_scope.h"
#include "cpu/simd/byte_products.h"
#include "cpu/simd/kernels.h"
#include "cpu/topk.h"
#include "query/few_ids.h"

namespace culmen::cpu {
namespace {

constexpr double kRoundingOfSums = 0x1p-20;  // sums are below 2^26
constexpr std::size_t kMostOfTile = 128;
// Ids that a question may exclude: it asks for each row that its bound does not exclude.
constexpr std::size_t kMostExcluded = 1 << 20;

// A question in integers: its unit times a row's score, less `start`, lies within error(norms) of the row's sum.
class ByteQuestion {
 public:
  // False if its weights cannot be written so.
  bool write(const ResolvedQuery& query, const ByteTable& table, double most_weight, std::int8_t* weights) {
    double largest = 0, middle = query.offset, size = std::fabs(query.offset);
    for (const Term& term : query.terms) {
      const AttributeCode& code = table.attributes()[static_cast<std::size_t>(term.attribute)];
      largest = std::max(largest, std::fabs(term.weight * code.step));
      middle += term.weight * code.middle;
      size += std::fabs(term.weight) * (2 * code.size + std::fabs(code.middle) + 256 * code.step);
    }
    if (!(largest > 0x1p-400 && size < 0x1p400)) return false;
    unit_ = most_weight / largest;
    rounding_ = size * unit_ * kByteRounding + kRoundingOfSums;
    double losses = 0, all = 0;
    std::int32_t sum = 0;
    for (const Term& term : query.terms) {
      const AttributeCode& code = table.attributes()[static_cast<std::size_t>(term.attribute)];
      const double exact = term.weight * code.step * unit_;
      const auto rounded =
          static_cast<std::int32_t>(std::clamp(exact, -most_weight, most_weight) + 128.5) - 128;
      losses += (exact - rounded) * (exact - rounded);
      all += exact * exact;
      weights[term.attribute] = static_cast<std::int8_t>(rounded);
      sum += rounded;
    }
    start_ = middle * unit_ - 128.0 * sum;  // codes are written 128 too high
    of_codes_ = std::sqrt(losses) * (1 + kByteRounding);
    of_losses_ = std::sqrt(all) * (1 + kByteRounding);
    return true;
  }

  double error(const LeafNorms& norms) const {
    return of_codes_ * norms.of_codes + of_losses_ * norms.of_losses + rounding_;
  }
  // A row of at least this score has at least this sum, less the error.
  double in_sums(double score) const {
    const double exact = score * unit_;
    if (!(std::fabs(exact) < 0x1p500)) return -std::numeric_limits<double>::infinity();
    return exact - start_ - std::fabs(exact) * kByteRounding;
  }

 private:
  double unit_ = 1, start_ = 0, rounding_ = 0, of_codes_ = 0, of_losses_ = 0;
};

// A row that may be among a question's best: its sum less the error, the error, and where it is.
struct Candidate {
  double lower;
  double error;
  std::uint32_t slot;
  std::uint32_t row;
};

// A question and its best rows so far. Rows wait until there are many: then the k-th highest of their lower bounds
// excludes most of them, and few are ever scored.
template <typename T>
class Asked {
 public:
  Asked(std::size_t number, const ResolvedQuery& query, const ByteQuestion& code)
      : number_(number),
        k_(query.k),
        code_(code),
        filter_(query.filter),
        num_excluded_(*num_excluded_ids(filter_, kMostExcluded)),
        terms_(query.terms.begin(), query.terms.end()),
        offset_(query.offset),
        best_(query.k, query.min_score),
        floor_(code.in_sums(query.min_score)) {
    waiting_.reserve(capacity());
  }

  std::size_t number() const { return number_; }
  std::size_t k() const { return k_; }
  // Of so many rows, k pass the filter.
  std::size_t enough() const { return k_ + num_excluded_; }
  const ByteQuestion& code() const { return code_; }
  // The sum, less the error, below which no row can enter.
  double floor() const { return floor_; }
  void raise_floor(double floor) { floor_ = std::max(floor_, floor); }

  void offer(const Snapshot& snapshot, std::int32_t sum, const LeafNorms& norms, std::uint32_t slot,
             std::uint32_t row) {
    const double error = code_.error(norms);
    if (sum + error < floor_) return;
    if (!filter_.is_everything() &&
        !passes(snapshot, filter_, slot * static_cast<std::uint64_t>(snapshot.leaf_rows) + row))
      return;
    waiting_.push_back({sum - error, error, slot, row});
    if (waiting_.size() == capacity()) make_room(snapshot);
  }

  std::vector<Hit> take_sorted(const Snapshot& snapshot, SearchStats& stats) {
    if (waiting_.size() > k_) leave_out();
    score_waiting(snapshot);
    stats.rows_scored = num_scored_;
    stats.candidates = num_candidates_;
    stats.replacements = best_.num_replacements();
    stats.bytes_touched = num_scored_ * terms_.size() * sizeof(T);
    return best_.take_sorted();
  }

 private:
  std::size_t capacity() const { return 2 * k_ + 48; }

  // More than k rows wait.
  void leave_out() {
    std::nth_element(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(k_) - 1, waiting_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.lower > b.lower; });
    raise_floor(waiting_[k_ - 1].lower);
    std::erase_if(waiting_, [&](const Candidate& c) { return c.lower + 2 * c.error < floor_; });
  }

  void make_room(const Snapshot& snapshot) {
    leave_out();
    if (waiting_.size() <= capacity() * 3 / 4) return;
    score_waiting(snapshot);
    raise_floor(code_.in_sums(best_.kth_bound()));
  }

  void score_waiting(const Snapshot& snapshot) {
    const auto stride = static_cast<std::size_t>(snapshot.leaf_rows);
    starts_.clear();
    for (const Candidate& c : waiting_) starts_.push_back(snapshot.leaf_values<T>(c.slot) + c.row);
    scores_.resize(waiting_.size());
    simd::score_apart<T>(starts_, stride, terms_, offset_, scores_.data());
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const Candidate& c = waiting_[i];
      num_candidates_ += scores_[i] >= best_.kth_bound() ? 1 : 0;
      best_.offer({snapshot.leaf_ids(c.slot)[c.row], scores_[i], c.slot * stride + c.row});
    }
    num_scored_ += waiting_.size();
    waiting_.clear();
  }

  std::size_t number_, k_;
  ByteQuestion code_;
  Predicate filter_;
  std::size_t num_excluded_;
  std::vector<Term> terms_;
  double offset_;
  TopK best_;
  double floor_;
  std::vector<Candidate> waiting_;
  std::vector<const T*> starts_;
  std::vector<double> scores_;
  std::uint64_t num_scored_ = 0, num_candidates_ = 0;
};

// Some questions, which share the reading of every leaf.
template <typename T>
class ByteTile {
 public:
  ByteTile(const Snapshot& snapshot, const ByteTable& table)
      : snapshot_(snapshot), table_(table), kernels_(simd::byte_kernels()) {}

  void add(std::size_t number, const ResolvedQuery& query) {
    weights_.resize((asked_.size() + 1) * row_bytes());
    watch_ = query.watch;
    ByteQuestion code;
    if (code.write(query, table_, kernels_.most_weight, weights_.data() + asked_.size() * row_bytes()))
      asked_.emplace_back(number, query, code);
    else
      weights_.resize(asked_.size() * row_bytes());
  }

  void run() {
    if (asked_.empty()) return;
    num_padded_ = (asked_.size() + simd::kByteQuestions - 1) / simd::kByteQuestions * simd::kByteQuestions;
    weights_.resize(num_padded_ * row_bytes());
    start();
    least_.assign(num_padded_, std::numeric_limits<std::int32_t>::max());
    reaching_.resize(num_padded_ * simd::kByteVectors * simd::kByteRows);
    for (std::size_t i = 0; i < table_.num_leaves(); ++i) visit(i);
  }

  template <typename Give>
  void give_answers(const Give& give) {
    for (Asked<T>& asked : asked_) {
      SearchStats stats;
      std::vector<Hit> hits = asked.take_sorted(snapshot_, stats);
      stats.engine = Engine::scan;
      stats.leaves_visited = table_.num_leaves();
      stats.rows_by_codes = snapshot_.num_rows;
      stats.bytes_touched += table_.num_leaves() * table_.leaf_bytes();
      give(asked.number(), std::move(hits), stats);
    }
  }

 private:
  std::size_t row_bytes() const { return 4 * table_.num_quads(); }
  simd::ByteWeights weights() const { return {weights_.data(), num_padded_}; }

  // The first floors: in some leaves all over the table, the k-th of the highest sums of groups of rows.
  void start() {
    std::size_t most = 0;
    for (const Asked<T>& asked : asked_) most = std::max(most, asked.k());
    const std::size_t groups = std::max<std::size_t>(4, most / 4), stride = groups * simd::kByteRows;
    const std::size_t wanted = std::max(groups, std::min<std::size_t>(table_.num_leaves() / 16, 96));
    const std::size_t step = std::max<std::size_t>(1, table_.num_leaves() / wanted);
    std::vector<std::int32_t> maxima(num_padded_ * stride, kNoSum);
    LeafNorms norms;
    std::size_t group = 0;
    for (std::size_t i = 0; i < table_.num_leaves(); i += step) {
      // Whole vectors: padded rows must not count.
      const std::size_t whole = snapshot_.leaf(table_.slot(i)).num_rows / simd::kByteRows;
      for (std::size_t v = 0; v < whole; v += simd::kByteVectors)
        kernels_.raise(table_.rows(i, v, whole), weights(), stride, maxima.data() + group * simd::kByteRows);
      group = (group + 1) % groups;
      norms.of_codes = std::max(norms.of_codes, table_.norms(i).of_codes);
      norms.of_losses = std::max(norms.of_losses, table_.norms(i).of_losses);
    }
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      const std::size_t enough = asked_[q].enough();
      const std::span<std::int32_t> mine(maxima.data() + q * stride, stride);
      if (enough > stride) continue;
      const auto last = mine.begin() + static_cast<std::ptrdiff_t>(enough) - 1;
      std::nth_element(mine.begin(), last, mine.end(), std::greater());
      if (*last != kNoSum) asked_[q].raise_floor(*last - asked_[q].code().error(norms));
    }
  }

  void visit(std::size_t i) {
    look_at(watch_);
    const std::uint32_t slot = table_.slot(i), num_rows = snapshot_.leaf(slot).num_rows;
    const LeafNorms& norms = table_.norms(i);
    const std::size_t num_vectors = (num_rows + simd::kByteRows - 1) / simd::kByteRows;
    for (std::size_t v = 0; v < num_vectors; v += simd::kByteVectors) {
      for (std::size_t q = 0; q < asked_.size(); ++q) least_[q] = least_sum(asked_[q], norms);
      const std::size_t count =
          kernels_.reaching(table_.rows(i, v, num_vectors), weights(), least_.data(), reaching_.data());
      for (const simd::ReachingRow& reaching : std::span(reaching_.data(), count)) {
        const auto row = static_cast<std::uint32_t>(v * simd::kByteRows + reaching.row);
        if (row < num_rows && reaching.question < asked_.size())
          asked_[reaching.question].offer(snapshot_, reaching.sum, norms, slot, row);
      }
    }
  }

  static std::int32_t least_sum(const Asked<T>& asked, const LeafNorms& norms) {
    const double least = asked.floor() - asked.code().error(norms);
    return static_cast<std::int32_t>(std::clamp(least, -kMostSum, kMostSum));  // towards 0: never too high
  }

  static constexpr std::int32_t kNoSum = std::numeric_limits<std::int32_t>::min();
  static constexpr double kMostSum = 0x1p30;

  const Snapshot& snapshot_;
  const ByteTable& table_;
  const simd::ByteKernels& kernels_;
  Watch* watch_ = nullptr;  // of the call whose questions these are
  std::vector<Asked<T>> asked_;
  std::vector<std::int8_t> weights_;
  std::vector<std::int32_t> least_;
  std::vector<simd::ReachingRow> reaching_;
  std::size_t num_padded_ = 0;
};

}  // namespace

bool is_for_pass(const ResolvedQuery& query, const Snapshot& snapshot) {
  constexpr std::size_t kMost = 256;
  return num_excluded_ids(query.filter, kMostExcluded).has_value() && query.k <= kMost &&
         query.k * simd::kByteRows <= snapshot.num_rows;
}

void pass_in_bytes(const Snapshot& snapshot, const ByteTable& table, std::size_t num_questions,
                   const std::function<std::optional<ResolvedQuery>(std::size_t)>& query_of,
                   const std::function<void(std::size_t, std::vector<Hit>, const SearchStats&)>& give) {
  const auto threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  const std::size_t of_tile =
      std::clamp<std::size_t>(num_questions / (4 * threads), simd::kByteQuestions, kMostOfTile);
  const std::size_t num_tiles = (num_questions + of_tile - 1) / of_tile;
  visit_value_type(snapshot, [&]<typename T>(T) {
    tbb::parallel_for(std::size_t{0}, num_tiles, [&](std::size_t t) {
      const FloatingPointScope floating_point;
      ByteTile<T> tile(snapshot, table);
      for (std::size_t q = t * of_tile; q < std::min(num_questions, (t + 1) * of_tile); ++q) {
        std::optional<ResolvedQuery> query = query_of(q);
        if (query && is_for_pass(*query, snapshot)) tile.add(q, *query);
      }
      tile.run();
      tile.give_answers(give);
    });
  });
}

}  // namespace culmen::cpu
