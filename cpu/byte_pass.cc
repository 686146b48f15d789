#include "cpu/byte_pass.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/floating_point_scope.h"
#include "cpu/prefetch.h"
#include "cpu/simd/byte_products.h"
#include "cpu/simd/kernels.h"
#include "cpu/topk.h"
#include "query/few_ids.h"

namespace culmen::cpu {
namespace {

constexpr double kRoundingOfSums = 0x1p-20;  // sums are below 2^26
constexpr std::size_t kMostOfTile = 128;
// Of a narrow table, whose codes say much, a look at the values of all rows that wait pays from this k on.
constexpr std::size_t kManyWaiting = 32;
// A question leaves the pass when so many rows have reached its floor: then the codes, or the table's ties, keep it from
// telling rows apart, and its own search costs less.
constexpr std::size_t too_many(std::size_t k, std::size_t rows_seen) {
  return 256 + 16 * k + rows_seen / 4;
}
// Ids that a question may exclude: it asks for each row that its bound does not exclude.
constexpr std::size_t kMostExcluded = 1 << 20;

// A question in integers. Its unit times a row's score, less `start`, is the row's measure; it lies within error(norms) of
// measure(sum, norms).
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
    start_ = middle * unit_;
    of_excess_ = 128.0 * sum;  // codes are written 128 too high
    of_codes_ = std::sqrt(losses) * (1 + kByteRounding);
    of_losses_ = std::sqrt(all) * (1 + kByteRounding);
    set_bound(query.bound, table);
    return true;
  }

  double error(const LeafNorms& norms) const {
    return norms.scale * (of_codes_ * norms.of_codes + of_losses_ * norms.of_losses) + rounding_;
  }
  // Of a score whose terms were added in any order, within rounding().
  double measure(double score) const { return score * unit_ - start_; }
  double rounding() const { return rounding_; }
  double measure(std::int32_t sum, const LeafNorms& norms) const { return norms.scale * (sum - of_excess_); }
  // Rows of the leaf with a lower sum have a measure below `floor`.
  double least_sum(double floor, const LeafNorms& norms) const {
    return (floor - rounding_) * norms.inverse + of_excess_ - of_codes_ * norms.of_codes -
           of_losses_ * norms.of_losses;
  }
  // A row of at least this score has at least this measure.
  double least_measure(double score) const {
    const double exact = score * unit_;
    if (!(std::fabs(exact) < 0x1p500)) return -std::numeric_limits<double>::infinity();
    return exact - start_ - std::fabs(exact) * kByteRounding;
  }
  // No row of at most this length has a higher measure.
  double most_measure(double length) const { return of_base_ + of_length_ * length; }

 private:
  void set_bound(const BoundPlan& bound, const ByteTable& table) {
    if (!table.has_lengths() || bound.terms.size() != 1 || bound.terms.front().row != table.length_row())
      return;
    const double base = bound.base * unit_, of_length = bound.terms.front().coefficient * unit_;
    if (!(std::fabs(base) < 0x1p500 && of_length < 0x1p500)) return;
    of_base_ = base - start_ + (std::fabs(base) + std::fabs(start_)) * kByteRounding;
    of_length_ = of_length * (1 + kByteRounding);
  }

  double unit_ = 1, start_ = 0, of_excess_ = 0, rounding_ = 0, of_codes_ = 0, of_losses_ = 0;
  double of_base_ = std::numeric_limits<double>::infinity(), of_length_ = 0;
};

// A row that may be among a question's best: its measure less the error, the error, and where it is.
struct Candidate {
  double lower;
  double error;
  std::uint32_t leaf;  // of the table
  std::uint32_t row;
  bool is_plain = false;  // by its values, not by its codes
};

// A question and its best rows so far. Rows wait until there are many: then the k-th highest of their lower bounds
// excludes most of them, and few are ever scored.
template <typename T>
class Asked {
 public:
  Asked(std::size_t number, const ResolvedQuery& query, const ByteQuestion& code, const Snapshot& snapshot,
        const ByteTable& table)
      : snapshot_(&snapshot),
        table_(&table),
        number_(number),
        k_(query.k),
        code_(code),
        filter_(query.filter),
        num_excluded_(*num_excluded_ids(filter_, kMostExcluded)),
        terms_(query.terms.begin(), query.terms.end()),
        offset_(query.offset),
        looks_at_values_(table.has_rows() && (table.has_lengths() || query.k >= kManyWaiting)),
        best_(query.k, query.min_score),
        floor_(code.least_measure(query.min_score)) {
    waiting_.reserve(capacity());
    if (!looks_at_values_) return;
    weights_.resize(snapshot.attributes.size());
    for (const Term& term : terms_) weights_[static_cast<std::size_t>(term.attribute)] = term.weight;
  }

  std::size_t number() const { return number_; }
  std::size_t k() const { return k_; }
  // Of so many rows, k pass the filter.
  std::size_t enough() const { return k_ + num_excluded_; }
  const ByteQuestion& code() const { return code_; }
  // The measure below which no row can enter.
  double floor() const { return floor_; }
  void raise_floor(double floor) { floor_ = std::max(floor_, floor); }

  void offer(std::int32_t sum, const LeafNorms& norms, std::uint32_t leaf, std::uint32_t row) {
    const double error = code_.error(norms), measure = code_.measure(sum, norms);
    if (measure + error < floor_) return;
    ++num_reaching_;
    if (!filter_.is_everything() &&
        !passes(*snapshot_, filter_,
                table_->slot(leaf) * static_cast<std::uint64_t>(snapshot_->leaf_rows) + row))
      return;
    waiting_.push_back({measure - error, error, leaf, row});
    if (waiting_.size() == capacity()) make_room();
  }

  // After so many rows of the table.
  bool gives_up(std::size_t num_rows) const { return num_reaching_ > too_many(enough(), num_rows); }
  void give_up() { has_given_up_ = true; }
  bool has_given_up() const { return has_given_up_; }

  // No row of later leaves can enter.
  void close(std::size_t num_leaves, std::size_t num_rows) {
    num_leaves_ = num_leaves;
    num_rows_ = num_rows;
  }

  std::vector<Hit> take_sorted(SearchStats& stats) {
    if (waiting_.size() > k_) leave_out();
    score_waiting();
    stats.leaves_visited = num_leaves_;
    stats.rows_by_codes = num_rows_;
    stats.rows_scored = num_scored_;
    stats.candidates = num_candidates_;
    stats.replacements = best_.num_replacements();
    stats.bytes_touched = num_scored_ * terms_.size() * sizeof(T);
    return best_.take_sorted();
  }

 private:
  std::size_t capacity() const { return 2 * k_ + 48; }

  // Rows that lie in one piece are cheap to read: after that next to none is left for an exact look.
  void look_at_values() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      Candidate& c = waiting_[i];
      if (c.is_plain || c.lower + 2 * c.error < floor_) continue;
      if (i + 1 < waiting_.size() && !waiting_[i + 1].is_plain)
        prefetch_bytes(table_->values<T>(*snapshot_, waiting_[i + 1].leaf, waiting_[i + 1].row),
                       weights_.size() * sizeof(T));
      const T* values = table_->values<T>(*snapshot_, c.leaf, c.row);
      c.error = code_.rounding();
      c.lower = code_.measure(simd::plain_score<T>(values, weights_, offset_)) - c.error;
      c.is_plain = true;
    }
  }

  // More than k rows wait.
  void leave_out() {
    if (looks_at_values_) look_at_values();
    std::nth_element(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(k_) - 1, waiting_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.lower > b.lower; });
    raise_floor(waiting_[k_ - 1].lower);
    std::erase_if(waiting_, [&](const Candidate& c) { return c.lower + 2 * c.error < floor_; });
  }

  void make_room() {
    leave_out();
    if (waiting_.size() > capacity() * 3 / 4) score_waiting();
  }

  // The highest first: their scores raise the floor above that of most others.
  void score_waiting() {
    constexpr std::size_t kAtOnce = 8;
    const auto most = [](const Candidate& c) { return c.lower + 2 * c.error; };
    std::sort(waiting_.begin(), waiting_.end(),
              [&](const Candidate& a, const Candidate& b) { return most(a) > most(b); });
    for (std::size_t i = 0; i < waiting_.size() && most(waiting_[i]) >= floor_; i += kAtOnce) {
      score(std::span(waiting_).subspan(i, std::min(kAtOnce, waiting_.size() - i)));
      raise_floor(code_.least_measure(best_.kth_bound()));
    }
    waiting_.clear();
  }

  void score(std::span<const Candidate> rows) {
    const auto stride = static_cast<std::size_t>(snapshot_->leaf_rows);
    starts_.clear();
    for (const Candidate& c : rows) starts_.push_back(table_->values<T>(*snapshot_, c.leaf, c.row));
    scores_.resize(rows.size());
    simd::score_apart<T>(starts_, table_->values_stride(), terms_, offset_, scores_.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Candidate& c = rows[i];
      num_candidates_ += scores_[i] >= best_.kth_bound() ? 1 : 0;
      const std::uint32_t slot = table_->slot(c.leaf);
      best_.offer({snapshot_->leaf_ids(slot)[c.row], scores_[i], slot * stride + c.row});
    }
    num_scored_ += rows.size();
  }

  const Snapshot* snapshot_;
  const ByteTable* table_;
  std::size_t number_, k_;
  ByteQuestion code_;
  Predicate filter_;
  std::size_t num_excluded_;
  std::vector<Term> terms_;
  double offset_;
  bool looks_at_values_;
  TopK best_;
  double floor_;
  std::vector<double> weights_;  // of all attributes, for rows in one piece
  std::vector<Candidate> waiting_;
  std::vector<const T*> starts_;
  std::vector<double> scores_;
  std::size_t num_reaching_ = 0;  // the floor of their time
  bool has_given_up_ = false;
  std::uint64_t num_leaves_ = 0, num_rows_ = 0, num_scored_ = 0, num_candidates_ = 0;
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
      asked_.emplace_back(number, query, code, snapshot_, table_);
    else
      weights_.resize(asked_.size() * row_bytes());
  }

  void run() {
    if (asked_.empty()) return;
    num_padded_ = padded(asked_.size());
    weights_.resize(num_padded_ * row_bytes());
    start();
    least_.assign(num_padded_, kHighest);
    reaching_.resize(num_padded_ * simd::kByteVectors * simd::kByteRows);
    open_.resize(asked_.size());
    std::iota(open_.begin(), open_.end(), std::size_t{0});
    std::size_t num_rows = 0;
    for (std::size_t i = 0; i < table_.num_leaves() && !open_.empty(); ++i) {
      if (table_.has_lengths()) close_questions(i, num_rows);
      visit(i);
      num_rows += snapshot_.leaf(table_.slot(i)).num_rows;
      give_up_questions(num_rows);
    }
    for (const std::size_t q : open_) asked_[q].close(table_.num_leaves(), num_rows);
  }

  template <typename Give>
  void give_answers(const Give& give) {
    for (Asked<T>& asked : asked_) {
      if (asked.has_given_up()) continue;
      SearchStats stats;
      std::vector<Hit> hits = asked.take_sorted(stats);
      stats.engine = Engine::scan;
      stats.bytes_touched += stats.leaves_visited * table_.leaf_bytes();
      give(asked.number(), std::move(hits), stats);
    }
  }

 private:
  std::size_t row_bytes() const { return 4 * table_.num_quads(); }
  static std::size_t padded(std::size_t num_questions) {
    return (num_questions + simd::kByteQuestions - 1) / simd::kByteQuestions * simd::kByteQuestions;
  }
  simd::ByteWeights weights(std::size_t num_questions) const {
    return {weights_.data(), padded(num_questions)};
  }

  // The first floors: in some leaves all over the table, the k-th of the highest measures of groups of rows. In a wide table
  // the longest rows are the likeliest to be high.
  void start() {
    std::size_t most = 0;
    for (const Asked<T>& asked : asked_) most = std::max(most, asked.k());
    const std::size_t groups = std::max<std::size_t>(4, most / 4), stride = groups * simd::kByteRows;
    const std::size_t wanted = std::max(groups, std::min<std::size_t>(table_.num_leaves() / 16, 96));
    const std::size_t step =
        table_.has_lengths() ? 1 : std::max<std::size_t>(1, table_.num_leaves() / wanted);
    const std::size_t end =
        table_.has_lengths() ? std::min(wanted, table_.num_leaves()) : table_.num_leaves();
    std::vector<double> measures(asked_.size() * stride, kNoMeasure);  // at least those of some rows
    std::vector<std::int32_t> maxima;
    std::size_t group = 0;
    for (std::size_t i = 0; i < end; i += step) {
      maxima.assign(num_padded_ * simd::kByteRows, kNoSum);
      // Whole vectors: padded rows must not count.
      const std::size_t whole = snapshot_.leaf(table_.slot(i)).num_rows / simd::kByteRows;
      for (std::size_t v = 0; v < whole; v += simd::kByteVectors)
        kernels_.raise(table_.rows(i, v, whole), weights(asked_.size()), simd::kByteRows, maxima.data());
      for (std::size_t q = 0; whole > 0 && q < asked_.size(); ++q)
        raise(asked_[q].code(), table_.norms(i), maxima.data() + q * simd::kByteRows,
              measures.data() + q * stride + group * simd::kByteRows);
      group = (group + 1) % groups;
    }
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      const std::size_t enough = asked_[q].enough();
      const std::span<double> mine(measures.data() + q * stride, stride);
      if (enough > stride) continue;
      const auto last = mine.begin() + static_cast<std::ptrdiff_t>(enough) - 1;
      std::nth_element(mine.begin(), last, mine.end(), std::greater());
      asked_[q].raise_floor(*last);
    }
  }

  // sums, measures: [kByteRows]
  static void raise(const ByteQuestion& code, const LeafNorms& norms, const std::int32_t* sums,
                    double* measures) {
    const double error = code.error(norms);
    for (std::size_t lane = 0; lane < simd::kByteRows; ++lane)
      measures[lane] = std::max(measures[lane], code.measure(sums[lane], norms) - error);
  }

  // Takes out the questions that no row of the leaves from i on can answer.
  void close_questions(std::size_t i, std::size_t num_rows) {
    for (std::size_t place = open_.size(); place-- > 0;) {
      Asked<T>& asked = asked_[open_[place]];
      if (asked.code().most_measure(table_.length(i)) >= asked.floor()) continue;
      asked.close(i, num_rows);
      take_out(place);
    }
  }

  void give_up_questions(std::size_t num_rows) {
    for (std::size_t place = open_.size(); place-- > 0;) {
      Asked<T>& asked = asked_[open_[place]];
      if (!asked.gives_up(num_rows)) continue;
      asked.give_up();
      take_out(place);
    }
  }

  // The last open question takes the place.
  void take_out(std::size_t place) {
    open_[place] = open_.back();
    std::copy_n(weights_.data() + (open_.size() - 1) * row_bytes(), row_bytes(),
                weights_.data() + place * row_bytes());
    open_.pop_back();
    least_[open_.size()] = kHighest;
  }

  void visit(std::size_t i) {
    look_at(watch_);
    const std::uint32_t num_rows = snapshot_.leaf(table_.slot(i)).num_rows;
    const LeafNorms& norms = table_.norms(i);
    const std::size_t num_vectors = (num_rows + simd::kByteRows - 1) / simd::kByteRows;
    for (std::size_t v = 0; v < num_vectors; v += simd::kByteVectors) {
      for (std::size_t place = 0; place < open_.size(); ++place)
        least_[place] = least_sum(asked_[open_[place]], norms);
      const std::size_t count = kernels_.reaching(table_.rows(i, v, num_vectors), weights(open_.size()),
                                                  least_.data(), reaching_.data());
      for (const simd::ReachingRow& reaching : std::span(reaching_.data(), count)) {
        const auto row = static_cast<std::uint32_t>(v * simd::kByteRows + reaching.row);
        if (row < num_rows && reaching.question < open_.size())
          asked_[open_[reaching.question]].offer(reaching.sum, norms, static_cast<std::uint32_t>(i), row);
      }
    }
  }

  static std::int32_t least_sum(const Asked<T>& asked, const LeafNorms& norms) {
    const double least = asked.code().least_sum(asked.floor(), norms);
    return static_cast<std::int32_t>(std::clamp(least, -kMostSum, kMostSum));  // towards 0: never too high
  }

  static constexpr std::int32_t kNoSum = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kHighest = std::numeric_limits<std::int32_t>::max();
  static constexpr double kNoMeasure = -std::numeric_limits<double>::infinity();
  static constexpr double kMostSum = 0x1p30;

  const Snapshot& snapshot_;
  const ByteTable& table_;
  const simd::ByteKernels& kernels_;
  Watch* watch_ = nullptr;  // of the call whose questions these are
  std::vector<Asked<T>> asked_;
  std::vector<std::size_t> open_;     // of asked_, those that further leaves may answer
  std::vector<std::int8_t> weights_;  // of the open questions, in their order
  std::vector<std::int32_t> least_;
  std::vector<simd::ReachingRow> reaching_;
  std::size_t num_padded_ = 0;
};

}  // namespace

bool is_for_pass(const ResolvedQuery& query, const Snapshot& snapshot) {
  constexpr std::size_t kMost = 2048;  // of more, answers cost most of the time
  return num_excluded_ids(query.filter, kMostExcluded).has_value() && query.k <= kMost &&
         query.k * simd::kByteRows <= snapshot.num_rows;
}

void pass_in_bytes(const Snapshot& snapshot, const ByteTable& table, std::size_t num_questions,
                   const QuestionOf& query_of, const GiveAnswer& give) {
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
