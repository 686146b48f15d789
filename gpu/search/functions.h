// Goes through packed functions: what they add to the score of a row, and at most to a bound of some rows; and which rows the
// page of a query has. Plain C++, for the device and for tests on the host.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "gpu/mirror/attribute_bounds.h"
#include "gpu/search/packed_functions.h"
#include "gpu/search/predicate.h"
#include "index/attribute_stats.h"
#include "index/score.h"

namespace culmen::gpu {

// The score of a row of a leaf from that of its weights, with the bits of FunctionTerms::add.
template <typename T>
CULMEN_HOST_DEVICE double add_functions(const PackedFunctions& functions, const TestedLeaf<T>& leaf,
                                        std::uint32_t row, double score) {
  for (std::uint32_t i = 0; i < functions.num_functions; ++i) {
    const PackedFunction& function = functions.functions()[i];
    if (function.kind == PackedFunction::Kind::number) {
      const NumberFunction& number = function.number;
      const auto column = static_cast<std::uint32_t>(number.column);
      const double x = number.is_field ? number.of_key(leaf.fields.key(column, row))
                                       : number.of_stored(static_cast<double>(leaf.rows.value(column, row)));
      score = score_step(score, number.weight, number.value(x));
    } else if (function.kind == PackedFunction::Kind::category) {
      const auto field = static_cast<std::uint32_t>(function.field);
      if (leaf.fields.misses_field(field, row)) continue;
      const double* weight = functions.category(function).weight_of(leaf.fields.key(field, row));
      if (weight != nullptr) score += *weight;
    } else {
      const PackedPredicate* predicate = functions.predicate(function);
      if (predicate == nullptr || leaf.passes(*predicate, row)) score += function.weight;
    }
  }
  return score_finish(score);
}

template <typename T>
CULMEN_HOST_DEVICE bool is_in_full_group(const PackedFunctions& functions, const TestedLeaf<T>& leaf,
                                         std::uint32_t row) {
  const PackedPage& page = functions.page;
  const auto column = static_cast<std::uint32_t>(page.column);
  std::int64_t key = 0;
  if (page.groups == PackedPage::Groups::of_attribute) {
    if (leaf.fields.misses_attribute(column, row)) return page.misses_too != 0;
    const double value = static_cast<double>(leaf.rows.value(column, row)) + 0.0;  // not -0
    key = __builtin_bit_cast(std::int64_t, value);
  } else {
    if (leaf.fields.misses_field(column, row)) return page.misses_too != 0;
    key = leaf.fields.key(column, row);
  }
  const std::int64_t* full = functions.full_groups();
  std::uint32_t first = 0, end = page.num_full;
  while (first < end) {
    const std::uint32_t middle = (first + end) / 2;
    if (full[middle] < key) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first < page.num_full && full[first] == key;
}

// Whether a row is behind the query's earlier pages, and of a group that is not full.
template <typename T>
CULMEN_HOST_DEVICE bool is_on_page(const PackedFunctions& functions, const TestedLeaf<T>& leaf,
                                   std::uint32_t row, double score) {
  const PackedPage& page = functions.page;
  if (!(score < page.after_score || (score == page.after_score && leaf.rows.id(row) > page.after_id)))
    return false;
  const bool may_be_full = page.num_full > 0 || page.misses_too != 0;
  return !may_be_full || !is_in_full_group(functions, leaf, row);
}

// The values of an attribute in some rows.
struct ValueRange {
  double first, last;
};

// A zone is what is known of some rows: range(attribute), the ValueRange of their stored values; field(column), a
// ColumnSummary; may_pass(predicate), whether one of them may; and bound(row), what is stored of them in a bounds row.

CULMEN_HOST_DEVICE inline double limited(double value, const NumberFunction& number) {
  return value < number.minimum ? number.minimum : number.maximum < value ? number.maximum : value;
}

template <typename Zone>
CULMEN_HOST_DEVICE double highest_of(const NumberFunction& number, const Zone& zone) {
  if (number.is_field) {
    const ColumnSummary keys = zone.field(number.column);
    return number.highest_of_keys(keys.minimum, keys.maximum);
  }
  const ValueRange range = zone.range(number.column);
  return number.highest_of_stored(limited(range.first, number), limited(range.last, number));
}

// Adds what each of the functions adds at most to the score of one of the rows. As a chain like the score's, whose steps are
// monotone, even after rounding (Rule A, index/score.h).
template <typename Zone>
CULMEN_HOST_DEVICE double add_highest(const PackedFunctions& functions, const PackedFunction* list,
                                      std::uint32_t count, const Zone& zone, double bound) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const PackedFunction& function = list[i];
    if (function.kind == PackedFunction::Kind::number) {
      bound = score_step(bound, function.number.weight, highest_of(function.number, zone));
    } else if (function.kind == PackedFunction::Kind::category) {
      bound = score_step(bound, functions.category(function).highest(zone.field(function.field)), 1);
    } else if (function.weight > 0) {  // that a row fails is not known here
      const PackedPredicate* predicate = functions.predicate(function);
      if (predicate == nullptr || zone.may_pass(*predicate)) bound = score_step(bound, function.weight, 1);
    }
  }
  return bound;
}

// base + the sum of the terms.
template <typename Zone>
CULMEN_HOST_DEVICE double sum_of(double base, const PackedBoundTerm* terms, std::uint32_t count,
                                 const Zone& zone) {
  for (std::uint32_t i = 0; i < count; ++i)
    base = std::fma(terms[i].coefficient, static_cast<double>(zone.bound(terms[i].row)), base);
  return base;
}

// The first bound of JointTerms; infinity if there is none.
template <typename Zone>
CULMEN_HOST_DEVICE double joint_bound(const PackedFunctions& functions, const Zone& zone) {
  if (functions.num_joint_attributes == 0) return HUGE_VAL;
  double bound = sum_of(functions.joint_base, functions.joint_terms(), functions.num_joint_terms, zone);
  if (functions.capped_joint_base < HUGE_VAL)  // if one is NaN, fmin returns the other
    bound = std::fmin(bound, sum_of(functions.capped_joint_base, functions.capped_joint_terms(),
                                    functions.num_capped_joint_terms, zone));
  bound = add_highest(functions, functions.joint_functions(), functions.num_joint_functions, zone, bound);
  for (std::uint32_t i = 0; i < functions.num_joint_attributes; ++i) {
    const PackedJoint& joint = functions.joint_attributes()[i];
    const ValueRange range = zone.range(joint.attribute);
    bound += joint.highest_of(range.first, range.last);
  }
  return bound;
}

// A bound of the scores of some rows, from that of their weights. A bound of -infinity, of rows that do not pass, stays.
template <typename Zone>
CULMEN_HOST_DEVICE double bound_with_functions(const PackedFunctions& functions, double of_weights,
                                               const Zone& zone) {
  if (of_weights == -HUGE_VAL) return of_weights;
  const double apart =
      add_highest(functions, functions.functions(), functions.num_functions, zone, of_weights);
  const double bound = std::fmin(apart, joint_bound(functions, zone));
  return bound == bound ? bound : HUGE_VAL;  // not NaN
}

// From the stored bounds of a zone.
template <typename Zone>
CULMEN_HOST_DEVICE ValueRange stored_range(const AttributeBounds& attribute, const Zone& zone) {
  const auto minimum = static_cast<double>(zone.bound(attribute.minimum_row)),
             maximum = static_cast<double>(zone.bound(attribute.maximum_row));
  return {value_outwards(attribute.origin, attribute.unit, minimum, false),
          value_outwards(attribute.origin, attribute.unit, maximum, true)};
}

// The rows below a child of a node.
struct ChildZone {
  const AttributeBounds* attributes;
  TestedChild child;

  CULMEN_HOST_DEVICE float bound(std::int32_t row) const { return child.bound(row); }
  CULMEN_HOST_DEVICE ValueRange range(std::int32_t attribute) const {
    return stored_range(attributes[attribute], *this);
  }
  CULMEN_HOST_DEVICE ColumnSummary field(std::int32_t column) const { return child.field(column); }
  CULMEN_HOST_DEVICE bool may_pass(const PackedPredicate& predicate) const {
    return child.may_pass(predicate);
  }
};

// The rows below a node, by its children. Column: what is stored of the node, by bounds row.
template <typename Column>
struct NodeZone {
  Column column;
  const AttributeBounds* attributes;
  TestedChild first_child;

  CULMEN_HOST_DEVICE float bound(std::int32_t row) const { return column[row]; }
  CULMEN_HOST_DEVICE ValueRange range(std::int32_t attribute) const {
    return stored_range(attributes[attribute], *this);
  }
  CULMEN_HOST_DEVICE ColumnSummary field(std::int32_t of) const {
    ColumnSummary all = first_child.field(of);
    for (int c = 1; c < num_children(); ++c) {
      const ColumnSummary one = child(c).field(of);
      all.minimum = one.minimum < all.minimum ? one.minimum : all.minimum;
      all.maximum = one.maximum > all.maximum ? one.maximum : all.maximum;
      all.set |= one.set;
      all.some_missing = all.some_missing || one.some_missing;
      all.some_present = all.some_present || one.some_present;
    }
    return all;
  }
  CULMEN_HOST_DEVICE bool may_pass(const PackedPredicate& predicate) const {
    for (int c = 0; c < num_children(); ++c)
      if (child(c).may_pass(predicate)) return true;
    return false;
  }

 private:
  CULMEN_HOST_DEVICE int num_children() const {  // no more than there can be, also in a damaged tree
    const std::uint32_t count = first_child.node.header().num_children;
    return static_cast<int>(count < kFanOut ? count : kFanOut);
  }
  CULMEN_HOST_DEVICE TestedChild child(int c) const {
    TestedChild one = first_child;
    one.child = c;
    return one;
  }
};

}  // namespace culmen::gpu
