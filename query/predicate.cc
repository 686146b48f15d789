#include "query/predicate.h"

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "query/bound_plan.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using Kind = Predicate::Kind;

void check_values(const Condition& condition) {
  for (const Literal& literal : condition.values)
    if (const double* value = std::get_if<double>(&literal); value != nullptr && std::isnan(*value))
      throw InvalidArgument("a filter compares with NaN");
}

// Values of Preference::low are stored negated.
Intervals<double> negated(const Intervals<double>& intervals) {
  Intervals<double> result;
  for (auto i = intervals.rbegin(); i != intervals.rend(); ++i) result.push_back({-i->maximum, -i->minimum});
  return result;
}

class FilterCompiler {
 public:
  explicit FilterCompiler(const Snapshot& snapshot) : snapshot_(snapshot) {}

  Predicate compile(const Filter& filter, bool negate) const {
    switch (filter.kind()) {
      case Filter::Kind::everything:
        return {.kind = negate ? Kind::nothing : Kind::everything};
      case Filter::Kind::condition:
        return test(filter.condition(), negate);
      case Filter::Kind::negation:
        return compile(filter.parts().front(), !negate);
      case Filter::Kind::all_of:
        return combine(filter.parts(), negate ? Kind::any_of : Kind::all_of, negate);
      case Filter::Kind::any_of:
        break;
    }
    return combine(filter.parts(), negate ? Kind::all_of : Kind::any_of, negate);
  }

  // Decides tests that hold, or fail, for every value in the index, and works out bounds of the others.
  Predicate finish(Predicate predicate) const {
    if (predicate.kind == Kind::attribute) {
      finish_attribute(predicate);
    } else if (!predicate.parts.empty()) {
      Predicate result = neutral(predicate.kind);
      for (Predicate& part : predicate.parts) add(result, predicate.kind, finish(std::move(part)));
      return result;
    }
    return predicate;
  }

 private:
  static Predicate neutral(Kind kind) {
    return {.kind = kind == Kind::all_of ? Kind::everything : Kind::nothing};
  }

  Predicate test(const Condition& condition, bool negate) const {
    check_values(condition);
    const std::optional<int> attribute = attribute_of(condition.column, snapshot_);
    Predicate predicate;
    if (attribute) {
      const auto i = static_cast<std::size_t>(*attribute);
      predicate.kind = Kind::attribute;
      predicate.attribute = *attribute;
      predicate.values = numbers_that_satisfy<double>(condition);
      if (negate) predicate.values = complement(predicate.values);
      if (snapshot_.attributes[i].preference == Preference::low) predicate.values = negated(predicate.values);
    } else {
      predicate.kind = Kind::id;
      predicate.ids = numbers_that_satisfy<std::int64_t>(condition);
      if (negate) predicate.ids = complement(predicate.ids);
    }
    return simplified(std::move(predicate));
  }

  // Tests that no number, or every number, passes.
  static Predicate simplified(Predicate predicate) {
    if (predicate.kind == Kind::attribute && predicate.values.empty()) return {.kind = Kind::nothing};
    if (predicate.kind == Kind::attribute && predicate.values == all_numbers<double>()) return {};
    if (predicate.kind == Kind::id && predicate.ids.empty()) return {.kind = Kind::nothing};
    if (predicate.kind == Kind::id && predicate.ids == all_numbers<std::int64_t>()) return {};
    return predicate;
  }

  // By halves: each merge of two sets reads both, and thousands of conditions may be on one column.
  Predicate combine(std::span<const Filter> parts, Kind kind, bool negate) const {
    if (parts.size() == 1) return compile(parts.front(), negate);
    const std::size_t half = parts.size() / 2;
    Predicate result = combine(parts.first(half), kind, negate);
    add(result, kind, combine(parts.subspan(half), kind, negate));
    return result;
  }

  // result = result and part, or result or part.
  static void add(Predicate& result, Kind kind, Predicate part) {
    const Kind neutral_kind = neutral(kind).kind;
    const Kind deciding = neutral_kind == Kind::everything ? Kind::nothing : Kind::everything;
    if (result.kind == deciding || part.kind == neutral_kind) return;
    if (part.kind == deciding || result.kind == neutral_kind) {
      result = std::move(part);
      return;
    }
    if (result.kind != kind) {
      Predicate first = std::exchange(result, {.kind = kind});
      result.parts.push_back(std::move(first));
    }
    std::vector<Predicate> parts;
    if (part.kind == kind) {
      parts = std::move(part.parts);
    } else {
      parts.push_back(std::move(part));
    }
    for (Predicate& each : parts) {
      if (!merge(result.parts, kind, each)) {
        result = {.kind = deciding};
        return;
      }
    }
    unwrap(result, kind);
  }

  // Adds a part, merged with a test of the same column. Returns false if that decides all.
  static bool merge(std::vector<Predicate>& parts, Kind kind, Predicate& part) {
    const bool is_test = part.kind == Kind::attribute || part.kind == Kind::id;
    const auto same = !is_test ? parts.end() : std::ranges::find_if(parts, [&](const Predicate& other) {
      return other.kind == part.kind && other.attribute == part.attribute;
    });
    if (same == parts.end()) {
      parts.push_back(std::move(part));
      return true;
    }
    const bool is_conjunction = kind == Kind::all_of;
    same->values =
        is_conjunction ? intersection(same->values, part.values) : set_union(same->values, part.values);
    same->ids = is_conjunction ? intersection(same->ids, part.ids) : set_union(same->ids, part.ids);
    const Kind merged = simplified(*same).kind;
    if (merged == Kind::nothing || merged == Kind::everything) return false;
    return true;
  }

  static void unwrap(Predicate& result, Kind kind) {
    if (result.kind != kind || result.parts.size() != 1) return;
    Predicate only = std::move(result.parts.front());
    result = std::move(only);
  }

  void finish_attribute(Predicate& predicate) const {
    const auto i = static_cast<std::size_t>(predicate.attribute);
    const AttributeStats& stats = snapshot_.stats[i];
    const Verdict verdict = verdict_of(predicate.values, stats.minimum, stats.maximum);
    if (verdict != Verdict::some) {
      predicate = {.kind = verdict == Verdict::all ? Kind::everything : Kind::nothing};
      return;
    }
    std::erase_if(predicate.values, [&](const Interval<double>& interval) {
      return interval.maximum < stats.minimum || interval.minimum > stats.maximum;
    });
    predicate.maximum_row = snapshot_.layout.maximum_row(predicate.attribute);
    predicate.minimum_row = snapshot_.layout.minimum_row(predicate.attribute);
    for (const Interval<double>& interval : predicate.values) {
      const RangeBound bound =
          make_range_bound({predicate.attribute, interval.minimum, interval.maximum}, snapshot_);
      predicate.bounds.push_back({bound.lowest, bound.highest});
    }
  }

  const Snapshot& snapshot_;
};

using Ranges = std::vector<RangePredicate>;

// Ranges of a disjunction: of attributes that every part limits, as far as any of them reaches.
void widen(Ranges& ranges, const Ranges& others) {
  std::erase_if(ranges, [&](RangePredicate& range) {
    const auto same = std::ranges::find(others, range.attribute, &RangePredicate::attribute);
    if (same == others.end()) return true;
    range.minimum = std::min(range.minimum, same->minimum);
    range.maximum = std::max(range.maximum, same->maximum);
    return false;
  });
}

void narrow(Ranges& ranges, const Ranges& others) {
  for (const RangePredicate& other : others) {
    const auto same = std::ranges::find(ranges, other.attribute, &RangePredicate::attribute);
    if (same == ranges.end()) {
      ranges.push_back(other);
    } else {
      same->minimum = std::max(same->minimum, other.minimum);
      same->maximum = std::min(same->maximum, other.maximum);
    }
  }
}

bool is_range(const Predicate& predicate) {
  return predicate.kind == Kind::attribute && predicate.values.size() == 1;
}

}  // namespace

std::size_t Predicate::num_tests() const {
  if (kind == Kind::attribute || kind == Kind::id) return 1;
  std::size_t count = 0;
  for (const Predicate& part : parts) count += part.num_tests();
  return count;
}

bool Predicate::is_ranges() const {
  if (kind == Kind::all_of) return std::ranges::all_of(parts, is_range);
  return is_everything() || is_nothing() || is_range(*this);
}

Predicate compile_filter(const Filter& filter, const Snapshot& snapshot) {
  const FilterCompiler compiler(snapshot);
  return compiler.finish(compiler.compile(filter, false));
}

std::vector<RangePredicate> implied_ranges(const Predicate& predicate) {
  switch (predicate.kind) {
    case Kind::nothing:  // no number is in this range
      return {{0, IntervalDomain<double>::kHighest, IntervalDomain<double>::kLowest}};
    case Kind::attribute:
      return {{predicate.attribute, predicate.values.front().minimum, predicate.values.back().maximum}};
    case Kind::everything:
    case Kind::id:
      return {};
    default:
      break;
  }
  Ranges ranges = implied_ranges(predicate.parts.front());
  for (std::size_t i = 1; i < predicate.parts.size(); ++i)
    (predicate.kind == Kind::all_of ? narrow : widen)(ranges, implied_ranges(predicate.parts[i]));
  return ranges;
}

}  // namespace culmen
