#include "cpu/function_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "cpu/leaf_zone.h"
#include "cpu/node_children.h"
#include "index/read_session.h"
#include "index/snapshot_fields.h"

namespace culmen {
namespace {

ColumnSummary summary_of_child(const ChildZones& zones, std::uint32_t child) {
  const bool some_missing = (zones.gaps.some_missing >> child & 1) != 0;
  return {zones.minimum[child], zones.maximum[child], zones.set[child], some_missing,
          zones.minimum[child] <= zones.maximum[child]};
}

// In which range the stored values of an attribute are, below each child.
struct ChildRanges {
  ChildRanges(const Snapshot& snapshot, NodeRef node, std::int32_t attribute) {
    const BoundUnit& unit = snapshot.units[static_cast<std::size_t>(attribute)];
    read(node, snapshot.layout.minimum_row(attribute), first);
    read(node, snapshot.layout.maximum_row(attribute), last);
    for (double& value : first) value = unit.value_outwards(value, false);
    for (double& value : last) value = unit.value_outwards(value, true);
  }

  Frontier::Bounds first{}, last{};

 private:
  static void read(NodeRef node, std::int32_t row, Frontier::Bounds& bounds) {
    BoundTerms alone;
    alone.push_back({row, 1});
    simd::child_bounds(node.bounds(), 0, alone, bounds.data());
  }
};

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
      const ChildRanges ranges(snapshot_, node_, term.column);
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
    if (term.is_field) {
      const ColumnSummary keys = zone_.field(term.column);
      return highest_.push_back(term.weight, term.highest_of_keys(keys.minimum, keys.maximum));
    }
    highest_.push_back(term.weight,
                       term.highest_of_stored(zone_.minimum(term.column), zone_.maximum(term.column)));
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

void add_highest_of_children(const JointAttribute& joint, const Snapshot& snapshot, std::size_t slot,
                             Frontier::Bounds& bounds) {
  const NodeRef node = snapshot.node(slot);
  const ChildRanges ranges(snapshot, node, joint.attribute());
  for (std::uint32_t c = 0; c < node.header().num_children; ++c)
    bounds[c] += joint.highest(ranges.first[c], ranges.last[c]);
}

}  // namespace culmen
