// FunctionTerms: the terms of a score besides weight times value (culmen/score_term.h), checked and bound to the columns
// of an index, in the order in which they are added. cpu/function_bounds.h bounds them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/query.h"
#include "culmen/score_term.h"
#include "culmen/statistics.h"
#include "index/attribute_stats.h"
#include "index/quantiles.h"
#include "index/snapshot.h"
#include "query/category_weights.h"
#include "query/number_function.h"
#include "query/predicate.h"

namespace culmen {

// A function of numbers, and what it goes by.
struct NumberTerm : NumberFunction {
  std::shared_ptr<const RankCurve> ranks = {};  // of TermFunction::rank: `curve` points into it

  void set_curve(std::shared_ptr<const RankCurve> to) {
    ranks = std::move(to);
    curve = ranks->numbers();
  }
  // No value over all x from `first` to `last` is larger in size.
  double largest(double first, double last) const;
};

struct ConditionTerm {
  double weight;
  Predicate predicate;
};

// Conditions that a column has one of some values, of which at most one holds.
struct CategoryTerm {
  std::int32_t field;
  std::vector<KeyWeight> weights;  // as in CategoryWeights

  CategoryWeights by_key() const { return {weights.data(), static_cast<std::uint32_t>(weights.size())}; }
  // Null: the row of the leaf has none of the values.
  const double* weight_of(const LeafFields& fields, std::size_t row) const;
};

class FunctionTerms {
 public:
  using Term = std::variant<NumberTerm, ConditionTerm, CategoryTerm>;

  FunctionTerms() = default;
  explicit FunctionTerms(std::vector<Term> terms) : terms_(std::move(terms)) {}
  // terms: in_order(), after those of Scale::rank. ranges: of the attributes' stored values, over all rows that the query ranks. table: as for resolve().
  FunctionTerms(std::span<const ScoreTerm> terms, const Snapshot& snapshot,
                std::span<const AttributeStats> ranges, const TableStatistics* table = nullptr);

  bool empty() const { return terms_.empty(); }
  std::span<const Term> terms() const { return terms_; }

  // What no score exceeds in size, from what those of the weights do not; infinite if one could overflow. ranges: of the
  // attributes in a whole table, oriented; empty: the index is all of it.
  double largest(double of_weights, const Snapshot& snapshot, std::span<const AttributeStats> ranges) const;

  // The score of a row that the domains let pass, from that of its weights.
  double add(const Snapshot& snapshot, std::uint64_t row, double score) const;

 private:
  std::vector<Term> terms_;
};

// The terms in the order in which they are added, their columns by name, without those of weight 0. Throws InvalidArgument
// for a term that cannot be, and for one that is there twice.
std::vector<ScoreTerm> in_order(std::vector<ScoreTerm> terms, const Snapshot& snapshot);

// Which rows have values that the terms take, as a filter; of what Scale::rank makes of weights nothing. terms: as of FunctionTerms.
Filter domains_of(std::span<const ScoreTerm> terms, const Snapshot& snapshot, Missing missing);

// Reads the terms of Index::terms. Throws InvalidArgument.
std::vector<ScoreTerm> parse_terms(std::string_view text, const Snapshot& snapshot);

}  // namespace culmen
