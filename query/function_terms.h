// FunctionTerms: the terms of a score besides weight times value (culmen/score_term.h), checked and bound to the columns
// of an index, in the order in which they are added. cpu/function_bounds.h bounds them.
#pragma once

#include <algorithm>
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
#include "query/predicate.h"

namespace culmen {

// A function of numbers.
struct NumberTerm {
  TermFunction function;
  double weight;
  double origin, scale;
  bool is_field;
  std::int32_t column;      // the attribute or field
  bool negated = false;     // the attribute is stored with the other sign
  bool is_floating = true;  // the keys of the field are those of doubles
  double ticks = 1;         // of a unit of x: 1 / ticks is the unit of integer keys, and of an attribute
  double minimum = 0, maximum = 0;              // of the attribute as stored, over all rows that are ranked
  std::shared_ptr<const RankCurve> curve = {};  // of TermFunction::rank

  double of_stored(double value) const { return (negated ? -value : value) / ticks; }
  double of_key(std::int64_t key) const;
  double value(double x) const;

  // Some rows have numbers from `first` to `last`, first <= last: the one that raises a score most.
  double best_of(double first, double last) const;

  // How far other values there may lie beyond that of best_of(), in the direction that raises a score: so far as the
  // function is not monotone in its last bits.
  struct Margin {
    double part;  // of the value's size
    double least;
  };
  Margin margin() const;
  // The value of best_of() and its margin.
  double highest(double first, double last) const;
  // Of rows whose stored values are in that range.
  double best_of_stored(double first, double last) const;
  double highest_of_stored(double first, double last) const;

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
  std::vector<std::pair<std::int64_t, double>> weights;  // by key; no two are equal

  // The weight of that key or the next one.
  auto first_from(std::int64_t key) const {
    return std::ranges::lower_bound(weights, key, {}, &std::pair<std::int64_t, double>::first);
  }
  // Null: the key is none of them, or the row of the leaf has none of the values.
  const double* weight_of(std::int64_t key) const {
    const auto at = first_from(key);
    return at != weights.end() && at->first == key ? &at->second : nullptr;
  }
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
