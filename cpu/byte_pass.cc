#include "cpu/byte_pass.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "base/floating_point_scope.h"
#include "cpu/simd/byte_products.h"
#include "cpu/simd/kernels.h"
#include "cpu/topk.h"

namespace culmen::cpu {
namespace {

constexpr double kRounding = 0x1p-40;
constexpr std::size_t kMostCodeBytes = std::size_t{256} << 20;
constexpr std::size_t kMostOfTile = 128;
constexpr double kMostCode = 127;

struct AttributeCode {
  double middle;
  double step;
  double size;  // of the largest value
};

// A leaf's largest norms of codes and of what codes lose, over its rows.
struct LeafNorms {
  double of_codes = 0;
  double of_losses = 0;
};

std::vector<AttributeCode> attribute_codes(const Snapshot& snapshot) {
  std::vector<AttributeCode> codes;
  for (const AttributeStats& stats : snapshot.stats) {
    const double range = stats.maximum - stats.minimum;
    codes.push_back(
        {stats.minimum + range / 2, range > 0 ? range / (2 * kMostCode) : 1.0, stats.max_abs()});
  }
  return codes;
}

// All rows in codes of 8 bits, leaf by leaf.
class ByteTable {
 public:
  explicit ByteTable(const Snapshot& snapshot)
      : leaves_(snapshot.order().ascending_leaves),
        attributes_(attribute_codes(snapshot)),
        num_quads_((attributes_.size() + 3) / 4),
        num_vectors_((static_cast<std::size_t>(snapshot.leaf_rows) + simd::kByteRows - 1) / simd::kByteRows),
        codes_(leaves_.size() * leaf_bytes(), 128),
        norms_(leaves_.size()) {
    visit_value_type(snapshot, [&]<typename T>(T) {
      tbb::parallel_for(std::size_t{0}, leaves_.size(), [&](std::size_t i) {
        const FloatingPointScope floating_point;
        write_leaf<T>(snapshot, i);
      });
    });
  }

  std::size_t num_leaves() const { return leaves_.size(); }
  std::uint32_t slot(std::size_t i) const { return leaves_[i]; }
  std::size_t num_quads() const { return num_quads_; }
  const std::vector<AttributeCode>& attributes() const { return attributes_; }
  const LeafNorms& norms(std::size_t i) const { return norms_[i]; }
  simd::ByteRows rows(std::size_t i, std::size_t num_vectors) const {
    return {codes_.data() + i * leaf_bytes(), num_quads_, num_vectors_, num_vectors};
  }

 private:
  std::size_t leaf_bytes() const { return num_quads_ * 4 * num_vectors_ * simd::kByteRows; }

  template <typename T>
  void write_leaf(const Snapshot& snapshot, std::size_t i) {
    const std::size_t num_rows = snapshot.leaf(leaves_[i]).num_rows;
    const auto stride = static_cast<std::size_t>(snapshot.leaf_rows);
    const T* values = snapshot.leaf_values<T>(leaves_[i]);
    std::vector<double> codes(num_rows), losses(num_rows);  // sums of squares
    for (std::size_t a = 0; a < attributes_.size(); ++a) {
      const AttributeCode attribute = attributes_[a];
      const double inverse = 1 / attribute.step;
      std::uint8_t* to =
          codes_.data() + i * leaf_bytes() + a / 4 * num_vectors_ * simd::kByteRows * 4 + a % 4;
      const T* column = values + a * stride;
      for (std::size_t r = 0; r < num_rows; ++r) {
        const double place = (static_cast<double>(column[r]) - attribute.middle) * inverse;
        const auto code = static_cast<std::int32_t>(std::clamp(place, -kMostCode, kMostCode) + 128.5) - 128;
        const double loss = place - code;
        codes[r] += static_cast<double>(code * code);
        losses[r] += loss * loss;
        to[4 * r] = static_cast<std::uint8_t>(code + 128);
      }
    }
    for (std::size_t r = 0; r < num_rows; ++r) {
      norms_[i].of_codes = std::max(norms_[i].of_codes, codes[r]);
      norms_[i].of_losses = std::max(norms_[i].of_losses, losses[r]);
    }
    norms_[i] = {std::sqrt(norms_[i].of_codes) * (1 + kRounding),
                 std::sqrt(norms_[i].of_losses) * (1 + kRounding)};
  }

  const std::vector<std::uint32_t>& leaves_;
  std::vector<AttributeCode> attributes_;
  std::size_t num_quads_, num_vectors_;
  std::vector<std::uint8_t> codes_;
  std::vector<LeafNorms> norms_;
};

// A question in integers: u * score lies within error(norms) of sum + start, sum being that of its weights with the
// codes, which are 128 too high.
class ByteQuestion {
 public:
  // False if its weights cannot be written so.
  bool write(const ResolvedQuery& query, const ByteTable& table, std::int8_t* weights) {
    double largest = 0, middle = query.offset, size = std::fabs(query.offset);
    for (const Term& term : query.terms) {
      const AttributeCode& code = table.attributes()[static_cast<std::size_t>(term.attribute)];
      largest = std::max(largest, std::fabs(term.weight * code.step));
      middle += term.weight * code.middle;
      size += std::fabs(term.weight) * (2 * code.size + std::fabs(code.middle) + 256 * code.step);
    }
    if (!(largest > 0x1p-400 && size < 0x1p400)) return false;
    unit_ = kMostCode / largest;
    rounding_ = size * unit_ * kRounding + kRounding;
    double losses = 0, all = 0;
    std::int32_t sum = 0;
    for (const Term& term : query.terms) {
      const double exact =
          term.weight * table.attributes()[static_cast<std::size_t>(term.attribute)].step * unit_;
      const double rounded = std::nearbyint(exact);
      losses += (exact - rounded) * (exact - rounded);
      all += exact * exact;
      weights[term.attribute] = static_cast<std::int8_t>(rounded);
      sum += static_cast<std::int32_t>(rounded);
    }
    start_ = middle * unit_ - 128.0 * sum;
    of_codes_ = std::sqrt(losses) * (1 + kRounding);
    of_losses_ = std::sqrt(all) * (1 + kRounding);
    return true;
  }

  // The least sum of a row in a leaf that can score `floor`.
  std::int32_t least(double floor, const LeafNorms& norms) const {
    const double exact = floor * unit_ - start_ - error(norms) - std::fabs(floor * unit_) * kRounding;
    return static_cast<std::int32_t>(std::clamp(std::ceil(exact), -0x1p30, 0x1p30));
  }
  // The least score of a row in a leaf that has this sum.
  double floor(std::int32_t sum, const LeafNorms& norms) const {
    const double exact = (sum + start_ - error(norms)) / unit_;
    return exact - std::fabs(exact) * kRounding;
  }

 private:
  double error(const LeafNorms& norms) const {
    return of_codes_ * norms.of_codes + of_losses_ * norms.of_losses + rounding_;
  }

  double unit_ = 1, start_ = 0, rounding_ = 0, of_codes_ = 0, of_losses_ = 0;
};

// Some questions, and their answers so far.
template <typename T>
class ByteTile {
 public:
  ByteTile(const Snapshot& snapshot, const ByteTable& table) : snapshot_(snapshot), table_(table) {}

  void add(std::size_t number, ResolvedQuery query) {
    weights_.resize((questions_.size() + 1) * row_bytes());
    ByteQuestion question;
    if (!question.write(query, table_, weights_.data() + questions_.size() * row_bytes())) {
      weights_.resize(questions_.size() * row_bytes());
      return;
    }
    questions_.push_back(question);
    numbers_.push_back(number);
    most_ = std::max(most_, query.k);
    queries_.push_back(std::move(query));
  }

  void run() {
    if (questions_.empty()) return;
    num_padded_ = (questions_.size() + simd::kByteQuestions - 1) / simd::kByteQuestions * simd::kByteQuestions;
    weights_.resize(num_padded_ * row_bytes());
    stats_.resize(questions_.size());
    start();
    least_.assign(num_padded_, std::numeric_limits<std::int32_t>::max());
    for (std::size_t i = 0; i < table_.num_leaves(); ++i) visit(i);
  }

  template <typename Give>
  void give_answers(const Give& give) {
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      stats_[q].engine = Engine::scan;
      stats_[q].leaves_visited = table_.num_leaves();
      stats_[q].rows_by_codes = snapshot_.num_rows;
      stats_[q].replacements = best_[q].num_replacements();
      give(numbers_[q], best_[q].take_sorted(), stats_[q]);
    }
  }

 private:
  std::size_t row_bytes() const { return 4 * table_.num_quads(); }
  simd::ByteWeights weights() const { return {weights_.data(), num_padded_}; }

  // The first k-th scores: in some leaves all over the table, the k-th of the highest sums of groups of rows.
  void start() {
    const std::size_t groups = std::max<std::size_t>(4, most_ / 4), stride = groups * simd::kByteRows;
    const std::size_t wanted = std::clamp<std::size_t>(table_.num_leaves() / 16, groups, 96);
    const std::size_t step = std::max<std::size_t>(1, table_.num_leaves() / std::max(wanted, groups));
    constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min();
    std::vector<std::int32_t> maxima(num_padded_ * stride, kNone);
    LeafNorms norms;
    std::size_t group = 0;
    for (std::size_t i = 0; i < table_.num_leaves(); i += step) {
      const std::size_t num_rows = snapshot_.leaf(table_.slot(i)).num_rows;
      const simd::ByteRows rows = table_.rows(i, num_rows / simd::kByteRows);  // padded rows must not count
      simd::raise_maxima(rows, weights(), stride, maxima.data() + group * simd::kByteRows);
      group = (group + 1) % groups;
      norms.of_codes = std::max(norms.of_codes, table_.norms(i).of_codes);
      norms.of_losses = std::max(norms.of_losses, table_.norms(i).of_losses);
    }
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      const std::size_t k = queries_[q].k;
      double floor = -std::numeric_limits<double>::infinity();
      const std::span<std::int32_t> mine(maxima.data() + q * stride, stride);
      if (k <= stride) {
        std::ranges::nth_element(mine, mine.begin() + static_cast<std::ptrdiff_t>(k) - 1, std::greater());
        if (mine[k - 1] != kNone) floor = questions_[q].floor(mine[k - 1], norms);
      }
      best_.emplace_back(k, floor);
    }
  }

  void visit(std::size_t i) {
    for (std::size_t q = 0; q < questions_.size(); ++q)
      least_[q] = questions_[q].least(best_[q].kth_bound(), table_.norms(i));
    reaching_.clear();
    const std::uint32_t slot = table_.slot(i), num_rows = snapshot_.leaf(slot).num_rows;
    const simd::ByteRows rows = table_.rows(i, (num_rows + simd::kByteRows - 1) / simd::kByteRows);
    simd::append_reaching(rows, weights(), least_.data(), reaching_);
    const auto stride = static_cast<std::size_t>(snapshot_.leaf_rows);
    for (const simd::ReachingRow& row : reaching_) {
      if (row.row >= num_rows || row.question >= questions_.size()) continue;
      std::array<simd::ScoredRow, 2> scored;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      TopK& best = best_[row.question];
      SearchStats& stats = stats_[row.question];
      ++stats.rows_scored;
      if (simd::score_listed(snapshot_.leaf_values<T>(slot), stride, {&row.row, 1}, queries_[row.question],
                             best.kth_bound(), scored.data()) == 0)
        continue;
      ++stats.candidates;
      best.offer({snapshot_.leaf_ids(slot)[row.row], scored[0].score, slot * stride + row.row});
    }
  }

  const Snapshot& snapshot_;
  const ByteTable& table_;
  std::vector<ByteQuestion> questions_;
  std::vector<std::size_t> numbers_;
  std::vector<ResolvedQuery> queries_;
  std::vector<std::int8_t> weights_;
  std::vector<TopK> best_;
  std::vector<SearchStats> stats_;
  std::vector<std::int32_t> least_;
  std::vector<simd::ReachingRow> reaching_;
  std::size_t num_padded_ = 0, most_ = 0;
};

bool has_answer_by_pass(const ResolvedQuery& query, const Snapshot& snapshot) {
  return query.filter.is_everything() && query.min_score == -std::numeric_limits<double>::infinity() &&
         query.k <= kMostOfBytePass && query.k * simd::kByteRows <= snapshot.num_rows;
}

}  // namespace

bool can_pass_in_bytes(const Snapshot& snapshot) {
  if (snapshot.height == 0 || snapshot.leaf_rows % static_cast<int>(simd::kByteRows) != 0) return false;
  const std::size_t quads = (snapshot.attributes.size() + 3) / 4;
  if (snapshot.num_leaves * static_cast<std::size_t>(snapshot.leaf_rows) * quads * 4 > kMostCodeBytes)
    return false;
  const ChildZonesRef root = snapshot.arena->child_zones(snapshot.root);
  for (std::size_t i = 0; i < snapshot.stats.size(); ++i) {
    const double range = snapshot.stats[i].maximum - snapshot.stats[i].minimum;
    if (root.gaps(i).some_missing != 0 || !(range < 0x1p400) || snapshot.stats[i].max_abs() > 0x1p400) return false;
    if (range > 0 && range < 0x1p-400) return false;
  }
  return true;
}

void pass_in_bytes(const Snapshot& snapshot, std::size_t num_questions,
                   const std::function<std::optional<ResolvedQuery>(std::size_t)>& query_of,
                   const std::function<void(std::size_t, std::vector<Hit>, const SearchStats&)>& give) {
  const ByteTable table(snapshot);
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
        if (query && has_answer_by_pass(*query, snapshot)) tile.add(q, *std::move(query));
      }
      tile.run();
      tile.give_answers(give);
    });
  });
}

}  // namespace culmen::cpu
