#include "cpu/function_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/leaf_zone.h"
#include "cpu/node_children.h"
#include "cpu/simd/kernels.h"
#include "index/read_session.h"
#include "index/snapshot_fields.h"

namespace culmen {
namespace {

ColumnSummary summary_of_child(const ChildZones& zones, std::uint32_t child) {
  const bool some_missing = (zones.gaps.some_missing >> child & 1) != 0;
  return {zones.minimum[child], zones.maximum[child], zones.set[child], some_missing,
          zones.minimum[child] <= zones.maximum[child]};
}

simd::ChildRanges ranges_of_children(const Snapshot& snapshot, NodeRef node, std::int32_t attribute) {
  simd::ChildRanges ranges;  // NOLINT(cppcoreguidelines-pro-type-member-init): written as a whole
  simd::child_ranges(node.bounds()[snapshot.layout.minimum_row(attribute)],
                     node.bounds()[snapshot.layout.maximum_row(attribute)],
                     snapshot.units[static_cast<std::size_t>(attribute)], ranges);
  return ranges;
}

class OfChildren {
 public:
  OfChildren(const Snapshot& snapshot, std::size_t slot, Frontier::Bounds& bounds)
      : snapshot_(snapshot),
        slot_(slot),
        node_(snapshot.node(slot)),
        num_children_(node_.header().num_children),
        bounds_(bounds) {}

  void operator()(const NumberTerm& term) {
    Frontier::Bounds best = {};
    if (term.is_field) {
      const ChildZones& zones = zones_of(term.column);
      for (std::uint32_t c = 0; c < num_children_; ++c)
        if (zones.minimum[c] <= zones.maximum[c])  // else no row has a value, nor passes the term's domain
          best[c] = term.best_of(term.of_key(zones.minimum[c]), term.of_key(zones.maximum[c]));
    } else {
      const simd::ChildRanges ranges = ranges_of_children(snapshot_, node_, term.column);
      for (std::uint32_t c = 0; c < num_children_; ++c)
        best[c] = term.best_of_stored(std::clamp(ranges.first[c], term.minimum, term.maximum),
                                      std::clamp(ranges.last[c], term.minimum, term.maximum));
    }
    simd::add_values(term, term.margin(), best.data(), num_children_, bounds_.data());
  }

  void operator()(const ConditionTerm& term) {
    if (term.weight < 0) return;  // that a row fails is not known here
    const Frontier::Children children = children_that_may_pass(term.predicate, snapshot_, slot_);
    for (std::uint32_t c = 0; c < num_children_; ++c)
      if ((children >> c & 1) != 0) add(c, term.weight, 1);
  }

  void operator()(const CategoryTerm& term) {
    const ChildZones& zones = zones_of(term.field);
    for (std::uint32_t c = 0; c < num_children_; ++c)
      add(c, term.by_key().highest(summary_of_child(zones, c)), 1);
  }

 private:
  void add(std::uint32_t child, double weight, double value) {
    bounds_[child] = score_step(bounds_[child], weight, value);
  }

  const ChildZones& zones_of(std::int32_t field) const {
    return snapshot_.arena->child_zones(slot_).zones(static_cast<std::size_t>(field));
  }

  const Snapshot& snapshot_;
  std::size_t slot_;
  NodeRef node_;
  std::uint32_t num_children_;
  Frontier::Bounds& bounds_;
};

template <typename T>
class OfLeaf {
 public:
  OfLeaf(const Snapshot& snapshot, std::size_t leaf, HighestTerms& highest)
      : zone_(snapshot, leaf), highest_(highest) {}

  void operator()(const NumberTerm& term) {
    double best = 0;
    if (term.is_field) {
      const ColumnSummary keys = zone_.field(term.column);
      if (keys.minimum > keys.maximum) return highest_.push_back(term.weight, 0);  // as highest_of_keys()
      best = term.best_of(term.of_key(keys.minimum), term.of_key(keys.maximum));
    } else {
      best = term.best_of_stored(zone_.minimum(term.column), zone_.maximum(term.column));
    }
    highest_.push_back(term.weight, term.with_margin(simd::value_of(term, best)));
  }
  void operator()(const ConditionTerm& term) {
    const Verdict verdict = verdict_of(term.predicate, zone_);
    const bool adds = term.weight > 0 ? verdict != Verdict::none : verdict == Verdict::all;
    if (adds) highest_.push_back(term.weight, 1);
  }
  void operator()(const CategoryTerm& term) {
    highest_.push_back(term.by_key().highest(zone_.field(term.field)), 1);
  }

 private:
  LeafZone<T> zone_;
  HighestTerms& highest_;
};

class OfIndex {
 public:
  OfIndex(const Snapshot& snapshot, HighestTerms& highest) : snapshot_(snapshot), highest_(highest) {}

  void operator()(const NumberTerm& term) {
    if (!term.is_field)
      return highest_.push_back(term.weight, term.highest_of_stored(term.minimum, term.maximum));
    const ColumnSummary keys = summary_of_index(snapshot_, term.column);
    highest_.push_back(term.weight, keys.some_present ? term.highest_of_keys(keys.minimum, keys.maximum) : 0);
  }
  void operator()(const ConditionTerm& term) { highest_.push_back(std::fmax(term.weight, 0.0), 1); }
  void operator()(const CategoryTerm& term) {
    highest_.push_back(
        term.by_key().highest({std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max(), ~std::uint64_t{0}, true, true}),
        1);
  }

 private:
  const Snapshot& snapshot_;
  HighestTerms& highest_;
};

}  // namespace

double HighestTerms::add_to(double score) const {
  for (const Step& step : steps_) score = score_step(score, step.weight, step.value);
  return score_finish(score);
}

double HighestTerms::least_before(double kth_bound) const {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  if (kth_bound == kNothing) return kNothing;
  double sum = 0, size = std::fabs(kth_bound);
  for (const Step& step : steps_) {
    const double most = step.weight * step.value;
    sum += most;
    size += std::fabs(most);
  }
  // A margin for rounding, then the proof: a lower start ends no higher.
  const double least = kth_bound - sum - 0x1p-44 * size - std::numeric_limits<double>::min();
  return add_to(least) < kth_bound ? least : kNothing;
}

template <typename T>
HighestTerms highest_of_leaf(const FunctionTerms& terms, const Snapshot& snapshot, std::size_t leaf) {
  HighestTerms highest;
  OfLeaf<T> add(snapshot, leaf, highest);
  for (const FunctionTerms::Term& term : terms.terms()) std::visit(add, term);
  return highest;
}
template HighestTerms highest_of_leaf<float>(const FunctionTerms&, const Snapshot&, std::size_t);
template HighestTerms highest_of_leaf<double>(const FunctionTerms&, const Snapshot&, std::size_t);

HighestTerms highest_of_index(const FunctionTerms& terms, const Snapshot& snapshot) {
  HighestTerms highest;
  const ReadSession session(snapshot);
  OfIndex add(snapshot, highest);
  for (const FunctionTerms::Term& term : terms.terms()) std::visit(add, term);
  return highest;
}

void add_highest_of_children(const FunctionTerms& terms, const Snapshot& snapshot, std::size_t slot,
                             Frontier::Bounds& bounds) {
  OfChildren add(snapshot, slot, bounds);
  for (const FunctionTerms::Term& term : terms.terms()) std::visit(add, term);
}

namespace {

void add_highest_of_children(const JointAttribute& joint, const Snapshot& snapshot, NodeRef node,
                             Frontier::Bounds& bounds) {
  const simd::ChildRanges ranges = ranges_of_children(snapshot, node, joint.attribute());
  for (std::uint32_t c = 0; c < node.header().num_children; ++c)
    bounds[c] += joint.highest(ranges.first[c], ranges.last[c]);
}

void take_smaller(Frontier::Bounds& bounds, const Frontier::Bounds& others) {
  for (std::size_t c = 0; c < kFanOut; ++c) bounds[c] = others[c] < bounds[c] ? others[c] : bounds[c];
}

}  // namespace

Frontier::Bounds joint_bounds_of_children(const JointTerms& joint, const Snapshot& snapshot,
                                          std::size_t slot) {
  const NodeRef node = snapshot.node(slot);
  // Those in use are written first. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<Frontier::Bounds, kMostTangentBounds> bounds;
  const std::size_t count = joint.bounds.size();
  for (std::size_t b = 0; b < count; ++b) bounds[b] = bounds_of_children(joint.bounds[b].plan, node);
  for (std::size_t t = 0; t < joint.bounds.front().tangents.size(); ++t) {
    const simd::ChildRanges ranges =
        ranges_of_children(snapshot, node, joint.bounds.front().tangents[t].attribute());
    for (std::size_t b = 0; b < count; ++b)
      simd::add_tangent(joint.bounds[b].tangents[t], ranges, bounds[b].data());
  }
  for (std::size_t b = 1; b < count; ++b) take_smaller(bounds[0], bounds[b]);
  add_highest_of_children(joint.functions, snapshot, slot, bounds[0]);
  for (const JointAttribute& attribute : joint.attributes)
    add_highest_of_children(attribute, snapshot, node, bounds[0]);
  return bounds[0];
}

}  // namespace culmen
