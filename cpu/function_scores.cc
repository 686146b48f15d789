#include "cpu/function_scores.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>

#include "cpu/leaf_filter.h"
#include "index/score.h"

namespace culmen {
namespace {

constexpr std::size_t kRowsAtOnce = 64;
constexpr std::size_t kLanes = 8;  // of the longest vector

std::size_t in_whole_vectors(std::size_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

// Some rows of a leaf, to which it adds one term after the other.
template <typename T>
class RowsOfLeaf {
 public:
  // Few elements of scores_ may be used. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  RowsOfLeaf(const Snapshot& snapshot, std::size_t leaf, std::span<const simd::ScoredRow> rows)
      : snapshot_(snapshot), leaf_(leaf), rows_(rows) {
    for (std::size_t i = 0; i < rows_.size(); ++i) scores_[i] = rows_[i].score;
    for (std::size_t i = rows_.size(); i < in_whole_vectors(rows_.size()); ++i) scores_[i] = 0;
  }

  void operator()(const NumberTerm& term) {
    std::array<double, kRowsAtOnce> x;  // NOLINT(cppcoreguidelines-pro-type-member-init): few may be used
    const LeafFields fields = snapshot_.leaf_fields(leaf_);
    const auto column = static_cast<std::size_t>(term.column);
    const T* values = snapshot_.leaf_values<T>(leaf_) + column * leaf_rows();
    for (std::size_t i = 0; i < rows_.size(); ++i)
      x[i] = term.is_field ? term.of_key(fields.key(column, rows_[i].row))
                           : term.of_stored(static_cast<double>(values[rows_[i].row]));
    for (std::size_t i = rows_.size(); i < in_whole_vectors(rows_.size()); ++i) x[i] = x[0];
    simd::add_values(term, {0, 0}, x.data(), rows_.size(), scores_.data());
  }

  void operator()(const ConditionTerm& term) {
    constexpr std::size_t kMaskedInTheTimeOfOne = 16;
    if (rows_.size() * kMaskedInTheTimeOfOne >= snapshot_.leaf(leaf_).num_rows) return add_by_mask(term);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (passes(snapshot_, term.predicate, leaf_ * leaf_rows() + rows_[i].row)) scores_[i] += term.weight;
  }

  void operator()(const CategoryTerm& term) {
    const LeafFields fields = snapshot_.leaf_fields(leaf_);
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (const double* weight = term.weight_of(fields, rows_[i].row)) scores_[i] += *weight;
  }

  double score(std::size_t i) const { return score_finish(scores_[i]); }

 private:
  void add_by_mask(const ConditionTerm& term) {
    LeafFilter filter(term.predicate);
    SearchStats uncounted;
    const Verdict verdict = filter.test<T>(snapshot_, leaf_, uncounted);
    if (verdict == Verdict::none) return;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (verdict == Verdict::all || filter.passes(rows_[i].row)) scores_[i] += term.weight;
  }

  std::size_t leaf_rows() const { return static_cast<std::size_t>(snapshot_.leaf_rows); }

  const Snapshot& snapshot_;
  std::size_t leaf_;
  std::span<const simd::ScoredRow> rows_;
  std::array<double, kRowsAtOnce> scores_;
};

}  // namespace

template <typename T>
std::size_t add_functions(const FunctionTerms& terms, const Snapshot& snapshot, std::size_t leaf,
                          double kth_bound, std::span<simd::ScoredRow> scored) {
  std::size_t count = 0;
  for (std::size_t first = 0; first < scored.size(); first += kRowsAtOnce) {
    const std::size_t some = std::min(kRowsAtOnce, scored.size() - first);
    RowsOfLeaf<T> rows(snapshot, leaf, scored.subspan(first, some));
    for (const FunctionTerms::Term& term : terms.terms()) std::visit(rows, term);
    for (std::size_t i = 0; i < some; ++i)
      if (rows.score(i) >= kth_bound) scored[count++] = {rows.score(i), scored[first + i].row};
  }
  return count;
}
template std::size_t add_functions<float>(const FunctionTerms&, const Snapshot&, std::size_t, double,
                                          std::span<simd::ScoredRow>);
template std::size_t add_functions<double>(const FunctionTerms&, const Snapshot&, std::size_t, double,
                                           std::span<simd::ScoredRow>);

}  // namespace culmen
