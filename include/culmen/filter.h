// Filters: which rows may be in an answer, as a tree of conditions on attributes, filter columns and ids.
//
//   const culmen::Filter cheap_or_good = culmen::col("price") <= 200 || culmen::col("city") == "Prague";
//   index.search({.weights = weights, .k = 10, .where = cheap_or_good && !culmen::id_col().between(1, 99)});
//
// Index::filter reads the same from text, "(price <= 200 or city = 'Prague') and not id between 1 and 99". Comparisons
// are exact and follow SQL's three-valued logic (docs/contract.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/id_set.h"

namespace culmen {

// A column of the index: an attribute by its position (from 0), an attribute or a filter column by its name.
using AttributeRef = std::variant<int, std::string>;

// An integer that an int64 may not hold: 2^63 and more.
struct LargeInteger {
  std::uint64_t value = 0;

  friend bool operator==(const LargeInteger&, const LargeInteger&) = default;
};

// What a filter compares with. Integers are not rounded: ids, and timestamps in nanoseconds, exceed what a double holds
// exactly. Texts compare with texts, by bytes, and as '2025-06-01' or '2025-06-01 12:30:00' with dates and timestamps,
// which no number is compared with; a date is its midnight. Booleans compare with 0 and 1. A zone, 'Z' or '+02:00', is for columns that have one; without it, the text is in UTC.
using Literal = std::variant<double, std::int64_t, std::string, LargeInteger>;

class Filter;

// What a condition compares: an attribute, a filter column, or the id of a row.
class Column {
 public:
  // "id", and the name of the id column, is the id if no attribute or filter column is called so.
  explicit Column(AttributeRef attribute) : attribute_(std::move(attribute)) {}
  static Column id() { return Column(); }

  const std::optional<AttributeRef>& attribute() const { return attribute_; }  // nullopt: the id

  [[nodiscard]] Filter between(Literal minimum, Literal maximum) const;  // both ends included
  [[nodiscard]] Filter in(std::vector<Literal> values) const;            // of no values: no row
  [[nodiscard]] Filter starts_with(std::string prefix) const;            // of texts: like 'prefix%'
  [[nodiscard]] Filter is_null() const;
  [[nodiscard]] Filter is_not_null() const;

 private:
  Column() = default;

  std::optional<AttributeRef> attribute_;
};

inline Column col(AttributeRef attribute) {
  return Column(std::move(attribute));
}
inline Column id_col() {
  return Column::id();
}

enum class Comparison : std::uint8_t {
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  between,
  in,
  starts_with,
  is_null,
  is_not_null,
};

struct Condition {
  Column column;
  Comparison comparison;
  std::vector<Literal> values;  // one; two of `between`; any number of `in`; none of is_null and is_not_null
};

// A row passes if minimum <= value <= maximum; an infinite end is no limit.
struct Range {
  AttributeRef attribute = 0;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
};

// Immutable and cheap to copy: copies share the tree.
class Filter {
 public:
  enum class Kind : std::uint8_t { everything, condition, id_set, all_of, any_of, negation };
  // Of conditions in conjunctions, disjunctions and negations in each other. Deeper trees throw InvalidArgument.
  static constexpr int kMaxDepth = 100;

  Filter() = default;  // every row passes
  explicit Filter(Condition condition);
  Filter(const Range& range);  // NOLINT(google-explicit-constructor): a range is a filter
  Filter(std::initializer_list<Range>
             ranges);  // their conjunction: .where = {{.attribute = "price", .maximum = 200}}

  static Filter all_of(const std::vector<Filter>& filters);  // of none: everything
  static Filter any_of(const std::vector<Filter>& filters);  // of none: no row
  static Filter ids_in(IdSet ids);                           // rows whose ids are in the set

  Kind kind() const;
  const Condition& condition() const;        // of a condition
  const IdSet& ids() const;                  // of Kind::id_set
  const std::vector<Filter>& parts() const;  // of the other kinds
  std::size_t num_conditions() const;        // a set of ids is one

  // As Index::filter reads it, which makes an equal filter of it. Attributes given by position appear as "attribute 3",
  // infinite limits as "inf"; text has no words for them, nor for an empty `in`. Sets of
  // ids appear as "id in {12345 ids}", which it does not read.
  [[nodiscard]] std::string text() const;

  friend Filter operator&&(const Filter& a, const Filter& b);
  friend Filter operator||(const Filter& a, const Filter& b);
  friend Filter operator!(const Filter& filter);
  // The same conditions in the same order, and not merely the same rows.
  friend bool operator==(const Filter& a, const Filter& b);

 private:
  struct Node;
  explicit Filter(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Filter combined(Kind kind, const std::vector<Filter>& filters);

  std::shared_ptr<const Node> node_;  // null: everything
};

// The column may be on either side.
[[nodiscard]] Filter operator==(const Column& column, Literal value);
[[nodiscard]] Filter operator!=(const Column& column, Literal value);
[[nodiscard]] Filter operator<(const Column& column, Literal value);
[[nodiscard]] Filter operator<=(const Column& column, Literal value);
[[nodiscard]] Filter operator>(const Column& column, Literal value);
[[nodiscard]] Filter operator>=(const Column& column, Literal value);
[[nodiscard]] Filter operator==(Literal value, const Column& column);
[[nodiscard]] Filter operator!=(Literal value, const Column& column);
[[nodiscard]] Filter operator<(Literal value, const Column& column);
[[nodiscard]] Filter operator<=(Literal value, const Column& column);
[[nodiscard]] Filter operator>(Literal value, const Column& column);
[[nodiscard]] Filter operator>=(Literal value, const Column& column);

}  // namespace culmen
