#include "query/predicate.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "index/field_key.h"
#include "index/node_zone_map.h"
#include "index/text_rows.h"
#include "query/bound_plan.h"
#include "query/filter_column.h"

namespace culmen {
namespace {

using Kind = Predicate::Kind;

using Keys = Intervals<std::int64_t>;

void check(const Condition& condition, const FilterColumn& column, const Snapshot& snapshot) {
  std::string fault = fault_of_comparison(column, condition.comparison, snapshot);
  for (std::size_t i = 0; fault.empty() && i < condition.values.size(); ++i)
    fault = fault_of_literal(column, condition.values[i], snapshot);
  if (!fault.empty()) throw InvalidArgument(fault);
}

template <typename T>
Intervals<T> numbers_of(const Condition& condition, const ColumnFormat& format) {
  std::vector<Limits<T>> literals;
  for (const Literal& literal : condition.values) literals.push_back(limits_of<T>(literal, format));
  return numbers_that_satisfy<T>(condition.comparison, literals);
}

// Where a number is among the ids of IdType::uint64.
Limits<std::int64_t> limits_among_uint64(const Literal& literal) {
  using Domain = IntervalDomain<std::int64_t>;
  const auto point = [](std::uint64_t number) -> Limits<std::int64_t> {
    return {id_of_uint64(number), id_of_uint64(number)};
  };
  if (const auto* large = std::get_if<LargeInteger>(&literal)) return point(large->value);
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) {
    if (*integer >= 0) return point(static_cast<std::uint64_t>(*integer));
    return {{}, Domain::kLowest};
  }
  const double number = std::get<double>(literal);
  if (number < 0) return {{}, Domain::kLowest};
  if (number >= 0x1p64) return {Domain::kHighest, {}};
  return {id_of_uint64(static_cast<std::uint64_t>(number)),
          id_of_uint64(static_cast<std::uint64_t>(std::ceil(number)))};  // no fraction is so near to 2^64
}

Keys uint64_ids_of(const Condition& condition) {
  std::vector<Limits<std::int64_t>> literals;
  for (const Literal& literal : condition.values) literals.push_back(limits_among_uint64(literal));
  return numbers_that_satisfy<std::int64_t>(condition.comparison, literals);
}

// The same set, as keys of numbers.
Keys keys_of(const Intervals<double>& numbers) {
  Keys keys;
  for (const Interval<double>& interval : numbers) {
    const bool has_start = interval.minimum != IntervalDomain<double>::kLowest;
    const bool has_end = interval.maximum != IntervalDomain<double>::kHighest;
    keys.push_back({has_start ? key_of_double(interval.minimum) : IntervalDomain<std::int64_t>::kLowest,
                    has_end ? key_of_double(interval.maximum) : IntervalDomain<std::int64_t>::kHighest});
  }
  return keys;
}

// The texts of a filter column, by their codes. A text that no row has is not in the dictionary.
class DictionaryTexts {
 public:
  explicit DictionaryTexts(const Dictionary& texts) : texts_(texts) {}

  std::optional<std::int64_t> find(const std::string& text) const { return texts_.find(text); }
  // Without `last` itself; none: to the end.
  Keys between(const std::string& first, const std::optional<std::string>& last) const {
    Keys keys;
    for (const CodeRange& range : texts_.codes_between(first, last))
      keys.push_back({range.first, range.last});
    return keys;
  }

 private:
  const Dictionary& texts_;
};

// Ids that are texts, by their numbers.
class IdTexts {
 public:
  explicit IdTexts(const TextRows& rows) : rows_(rows) {}

  std::optional<std::int64_t> find(const std::string& text) const {
    const TextPlace place = rows_.find(text);
    return place.is_there ? std::optional(place.id) : std::nullopt;
  }
  Keys between(const std::string& first, const std::optional<std::string>& last) const {
    const std::int64_t below = rows_.before(first);
    const std::int64_t highest = last ? rows_.before(*last) : IntervalDomain<std::int64_t>::kHighest;
    if (highest <= below) return {};
    return {{below + 1, highest}};
  }

 private:
  const TextRows& rows_;
};

// The keys of texts that satisfy comparisons with a text.
template <typename Texts>
class TextComparison {
 public:
  TextComparison(const Condition& condition, const Texts& texts) : condition_(condition), texts_(texts) {}

  Keys keys() const {
    switch (condition_.comparison) {
      case Comparison::equal:
      case Comparison::in:
        return equal_keys();
      case Comparison::not_equal:
        return complement(equal_keys());
      case Comparison::less:
        return texts_.between("", text(0));
      case Comparison::less_equal:
        return texts_.between("", after(text(0)));
      case Comparison::greater:
        return texts_.between(after(text(0)), {});
      case Comparison::greater_equal:
        return texts_.between(text(0), {});
      case Comparison::between:
        return texts_.between(text(0), after(text(1)));
      case Comparison::starts_with:
        return texts_.between(text(0), end_of_prefix(text(0)));
      case Comparison::is_null:
        return {};
      case Comparison::is_not_null:
        break;
    }
    return all_numbers<std::int64_t>();
  }

 private:
  const std::string& text(std::size_t i) const { return std::get<std::string>(condition_.values[i]); }
  // The next text, by bytes.
  static std::string after(const std::string& text) { return text + '\0'; }

  Keys equal_keys() const {
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < condition_.values.size(); ++i)
      if (const std::optional<std::int64_t> key = texts_.find(text(i))) keys.push_back(*key);
    return points(std::move(keys));
  }

  const Condition& condition_;
  const Texts& texts_;
};

// Values of Preference::low are stored negated.
Intervals<double> negated(const Intervals<double>& intervals) {
  Intervals<double> result;
  for (auto i = intervals.rbegin(); i != intervals.rend(); ++i) result.push_back({-i->maximum, -i->minimum});
  return result;
}

KeyBits bits_of(const Keys& keys) {
  if (keys.size() <= kFewIntervals) return {};
  std::uint64_t num_keys = 0;
  for (const Interval<std::int64_t>& interval : keys) {
    const std::uint64_t distance = key_distance(interval.minimum, interval.maximum);
    if (distance >= KeyBits::kMaxKeys || (num_keys += distance + 1) > KeyBits::kMaxKeys) return {};
  }
  KeyBits bits(num_keys);
  for (const Interval<std::int64_t>& interval : keys)
    for (std::int64_t key = interval.minimum;; ++key) {
      bits.add(key);
      if (key == interval.maximum) break;
    }
  return bits;
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
      case Filter::Kind::id_set:
        return id_set(filter.ids(), negate);
      case Filter::Kind::negation:
        return compile(filter.parts().front(), !negate);
      case Filter::Kind::all_of:
        return combine(filter.parts(), negate ? Kind::any_of : Kind::all_of, negate);
      case Filter::Kind::any_of:
        break;
    }
    return combine(filter.parts(), negate ? Kind::all_of : Kind::any_of, negate);
  }

  // The predicate, and that an attribute is not missing.
  static void require(Predicate& predicate, std::int32_t attribute) {
    add(predicate, Kind::all_of,
        {.kind = Kind::attribute, .column = attribute, .values = all_numbers<double>()});
  }

  // Replaces tests that hold, or fail, for every row of the index, and merges what is left.
  Predicate decide(Predicate predicate) const {
    if (predicate.kind == Kind::attribute) {
      decide_attribute(predicate);
    } else if (predicate.kind == Kind::field) {
      decide_field(predicate);
    } else if (!predicate.parts.empty()) {
      Predicate result = neutral(predicate.kind);
      for (Predicate& part : predicate.parts) add(result, predicate.kind, decide(std::move(part)));
      return result;
    }
    return predicate;
  }

  // Complete.
  Predicate in_none_of(std::span<const GroupKey> groups, const ResolvedGroups& column) const {
    Predicate predicate;
    predicate.kind = column.is_attribute ? Kind::attribute : Kind::field;
    predicate.column = column.column;
    predicate.passes_missing = std::ranges::none_of(groups, &GroupKey::is_missing);
    if (column.is_attribute) {
      predicate.values =
          all_but<double>(groups, [](const GroupKey& key) { return std::bit_cast<double>(key.value); });
    } else {
      predicate.keys = all_but<std::int64_t>(groups, [](const GroupKey& key) { return key.value; });
    }
    predicate = decide(simplified(std::move(predicate)));
    bind(predicate);
    return predicate;
  }

  // Sets what engines need to know of each test. Afterwards tests must not be merged.
  void bind(Predicate& predicate) const {
    if (predicate.kind == Kind::attribute) bind_attribute(predicate);
    if (predicate.kind == Kind::field)
      predicate.may_miss = summary_of_index(snapshot_, predicate.column).some_missing;
    predicate.passes_missing = predicate.passes_missing && predicate.may_miss;
    predicate.key_bits = bits_of(predicate.keys);
    for (Predicate& part : predicate.parts) bind(part);
  }

 private:
  static Predicate neutral(Kind kind) {
    return {.kind = kind == Kind::all_of ? Kind::everything : Kind::nothing};
  }

  Predicate id_set(const IdSet& given, bool negate) const {
    if ((given.type() == IdType::text) != (snapshot_.id_type == IdType::text) && !given.empty())
      throw InvalidArgument("the ids of the set are " + std::string(id_type_name(given.type())) +
                            ", those of the index " + std::string(id_type_name(snapshot_.id_type)));
    const bool has_texts = given.type() == IdType::text && !given.empty();
    const IdSet ids = has_texts ? given.stand_ins_in(snapshot_) : given.as(snapshot_.id_type);
    if (ids.empty()) return {.kind = negate ? Kind::everything : Kind::nothing};
    return {.kind = Kind::id_set, .ids = ids, .passes_others = negate};
  }

  Predicate test(const Condition& condition, bool negate) const {
    const FilterColumn column = filter_column(condition.column, snapshot_);
    check(condition, column, snapshot_);
    Predicate predicate;
    predicate.column = column.position;
    const bool tests_missing =
        condition.comparison == Comparison::is_null || condition.comparison == Comparison::is_not_null;
    predicate.passes_missing = tests_missing && negate == (condition.comparison == Comparison::is_not_null);
    if (column.kind == FilterColumn::Kind::attribute) {
      predicate.kind = Kind::attribute;
      predicate.values = values_of(condition, column, negate);
    } else {
      predicate.kind = column.kind == FilterColumn::Kind::id ? Kind::id : Kind::field;
      predicate.keys = keys_that_satisfy(condition, column);
      if (negate) predicate.keys = complement(predicate.keys);
    }
    return simplified(std::move(predicate));
  }

  Intervals<double> values_of(const Condition& condition, const FilterColumn& column, bool negate) const {
    const Attribute& attribute = snapshot_.attributes[static_cast<std::size_t>(column.position)];
    Intervals<double> values = numbers_of<double>(condition, attribute.format);
    if (negate) values = complement(values);
    return attribute.preference == Preference::low ? negated(values) : values;
  }

  Keys keys_that_satisfy(const Condition& condition, const FilterColumn& column) const {
    if (column.kind == FilterColumn::Kind::id && snapshot_.id_type == IdType::uint64)
      return uint64_ids_of(condition);
    if (column.kind == FilterColumn::Kind::id && snapshot_.id_type == IdType::text)
      return TextComparison(condition, IdTexts(snapshot_.text_rows())).keys();
    const ColumnFormat& format = format_of(column, snapshot_);
    if (format.type == ColumnType::text) {
      const auto& texts = snapshot_.dictionaries[static_cast<std::size_t>(column.position)];
      static const Dictionary none;
      return TextComparison(condition, DictionaryTexts(texts == nullptr ? none : *texts)).keys();
    }
    if (format.type == ColumnType::floating) return keys_of(numbers_of<double>(condition, format));
    return numbers_of<std::int64_t>(condition, format);
  }

  // Numbers that are no values of groups.
  template <typename T, typename ValueOf>
  static Intervals<T> all_but(std::span<const GroupKey> groups, const ValueOf& value_of) {
    std::vector<T> values;
    for (const GroupKey& group : groups)
      if (!group.is_missing) values.push_back(value_of(group));
    return complement(points(std::move(values)));
  }

  // Tests that nothing, or everything, passes.
  static Predicate simplified(Predicate predicate) {
    const bool is_attribute = predicate.kind == Kind::attribute;
    const bool takes_none = is_attribute ? predicate.values.empty() : predicate.keys.empty();
    const bool takes_all = is_attribute ? is_all(predicate.values) : is_all(predicate.keys);
    const bool is_id = predicate.kind == Kind::id;  // never missing
    if (takes_none && (is_id || !predicate.passes_missing)) return {.kind = Kind::nothing};
    if (takes_all && (is_id || predicate.passes_missing)) return {};
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
    const bool is_test = part.parts.empty() && part.kind != Kind::id_set;
    const auto same = !is_test ? parts.end() : std::ranges::find_if(parts, [&](const Predicate& other) {
      return other.kind == part.kind && other.column == part.column;
    });
    if (same == parts.end()) {
      parts.push_back(std::move(part));
      return true;
    }
    if (kind == Kind::all_of) {
      same->values = intersection(same->values, part.values);
      same->keys = intersection(same->keys, part.keys);
      same->passes_missing = same->passes_missing && part.passes_missing;
    } else {
      same->values = set_union(same->values, part.values);
      same->keys = set_union(same->keys, part.keys);
      same->passes_missing = same->passes_missing || part.passes_missing;
    }
    const Kind merged = simplified(*same).kind;
    return merged != Kind::nothing && merged != Kind::everything;
  }

  static void unwrap(Predicate& result, Kind kind) {
    if (result.kind != kind || result.parts.size() != 1) return;
    Predicate only = std::move(result.parts.front());
    result = std::move(only);
  }

  // Replaces a test by its verdict for the whole index. Returns false if that is open.
  static bool is_decided(Predicate& predicate, Verdict verdict) {
    if (verdict == Verdict::some) return false;
    predicate = {.kind = verdict == Verdict::all ? Kind::everything : Kind::nothing};
    return true;
  }

  template <typename T>
  static void trim(Intervals<T>& intervals, T minimum, T maximum) {
    std::erase_if(intervals, [&](const Interval<T>& interval) {
      return interval.maximum < minimum || interval.minimum > maximum;
    });
  }

  void decide_attribute(Predicate& predicate) const {
    const AttributeStats& stats = snapshot_.stats[static_cast<std::size_t>(predicate.column)];
    const ChildGaps gaps = gaps_of_index(snapshot_, predicate.column);
    const Verdict of_present = verdict_of<double>(predicate.values, stats.minimum, stats.maximum);
    if (!is_decided(predicate, with_missing(of_present, gaps.some_present != 0, gaps.some_missing != 0,
                                            predicate.passes_missing)))
      trim(predicate.values, stats.minimum, stats.maximum);
  }

  void decide_field(Predicate& predicate) const {
    const ColumnSummary of = summary_of_index(snapshot_, predicate.column);
    const Verdict of_present = of.some_present ? verdict_of_keys(predicate.keys, of) : Verdict::none;
    if (!is_decided(predicate,
                    with_missing(of_present, of.some_present, of.some_missing, predicate.passes_missing)))
      trim(predicate.keys, of.minimum, of.maximum);
  }

  void bind_attribute(Predicate& predicate) const {
    const auto i = static_cast<std::size_t>(predicate.column);
    predicate.may_miss = gaps_of_index(snapshot_, predicate.column).some_missing != 0 &&
                         contains(predicate.values, snapshot_.stand_ins[i]) != predicate.passes_missing;
    predicate.maximum_row = snapshot_.layout.maximum_row(predicate.column);
    predicate.minimum_row = snapshot_.layout.minimum_row(predicate.column);
    for (const Interval<double>& interval : predicate.values) {
      const RangeBound bound =
          make_range_bound({predicate.column, interval.minimum, interval.maximum}, snapshot_);
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
  return predicate.kind == Kind::attribute && predicate.values.size() == 1 && !predicate.may_miss;
}

}  // namespace

std::size_t Predicate::num_tests() const {
  std::size_t count = parts.empty() && !is_everything() && !is_nothing() ? 1 : 0;
  for (const Predicate& part : parts) count += part.num_tests();
  return count;
}

bool Predicate::reads_fields() const {
  return kind == Kind::field || may_miss || std::ranges::any_of(parts, &Predicate::reads_fields);
}

bool Predicate::is_ranges() const {
  if (kind == Kind::all_of) return std::ranges::all_of(parts, is_range);
  return is_everything() || is_nothing() || is_range(*this);
}

bool Predicate::tests_id_sets() const {
  return kind == Kind::id_set || std::ranges::any_of(parts, &Predicate::tests_id_sets);
}

Predicate compile_filter(const Filter& filter, const Snapshot& snapshot,
                         std::span<const std::int32_t> required) {
  const FilterCompiler compiler(snapshot);
  Predicate predicate = compiler.compile(filter, false);
  for (const std::int32_t attribute : required) FilterCompiler::require(predicate, attribute);
  predicate = compiler.decide(std::move(predicate));
  compiler.bind(predicate);
  return predicate;
}

Predicate in_none_of(std::span<const GroupKey> groups, const ResolvedGroups& column,
                     const Snapshot& snapshot) {
  return FilterCompiler(snapshot).in_none_of(groups, column);
}

Predicate both(const Predicate& a, const Predicate& b) {
  if (a.is_everything() || b.is_nothing()) return b;
  if (b.is_everything() || a.is_nothing()) return a;
  return {.kind = Kind::all_of, .parts = {a, b}};
}

std::vector<RangePredicate> implied_ranges(const Predicate& predicate) {
  switch (predicate.kind) {
    case Kind::nothing:  // no number is in this range
      return {{0, IntervalDomain<double>::kHighest, IntervalDomain<double>::kLowest}};
    case Kind::attribute:  // rows that miss the value have a stand-in, which may be any number
      if (predicate.passes_missing) return {};
      return {{predicate.column, predicate.values.front().minimum, predicate.values.back().maximum}};
    case Kind::everything:
    case Kind::field:
    case Kind::id:
    case Kind::id_set:
      return {};
    default:
      break;
  }
  Ranges ranges = implied_ranges(predicate.parts.front());
  for (std::size_t i = 1; i < predicate.parts.size(); ++i)
    (predicate.kind == Kind::all_of ? narrow : widen)(ranges, implied_ranges(predicate.parts[i]));
  return ranges;
}

Verdict verdict_of_keys(std::span<const Interval<std::int64_t>> keys, const ColumnSummary& zone) {
  const Verdict by_range = verdict_of(keys, zone.minimum, zone.maximum);
  if (by_range != Verdict::some) return by_range;
  const std::span<const Interval<std::int64_t>> within = overlapping(keys, zone.minimum, zone.maximum);
  if (within.size() > kMostIntervalsOfZone) return Verdict::some;
  std::uint64_t covered = 0;
  for (const Interval<std::int64_t>& interval : within)
    covered |=
        key_set_bits(std::max(interval.minimum, zone.minimum), std::min(interval.maximum, zone.maximum));
  if ((covered & zone.set) == 0) return Verdict::none;
  const bool tells_apart = key_set_bits(zone.minimum, zone.maximum) != ~std::uint64_t{0};  // one key a bit
  return tells_apart && (zone.set & ~covered) == 0 ? Verdict::all : Verdict::some;
}

bool passes(const Snapshot& snapshot, const Predicate& predicate, std::uint64_t row) {
  const auto leaf_rows = static_cast<std::uint64_t>(snapshot.leaf_rows);
  const auto column = static_cast<std::size_t>(predicate.column);
  const auto part_passes = [&](const Predicate& part) { return passes(snapshot, part, row); };
  switch (predicate.kind) {
    case Kind::everything:
      return true;
    case Kind::nothing:
      return false;
    case Kind::attribute:
      if (predicate.may_miss &&
          snapshot.leaf_fields(row / leaf_rows).misses_attribute(column, row % leaf_rows))
        return predicate.passes_missing;
      return contains(predicate.values, snapshot.value(row, predicate.column));
    case Kind::field: {
      const LeafFields fields = snapshot.leaf_fields(row / leaf_rows);
      if (fields.misses_field(column, row % leaf_rows)) return predicate.passes_missing;
      return contains(predicate.keys, fields.key(column, row % leaf_rows));
    }
    case Kind::id:
      return contains(predicate.keys, snapshot.id(row));
    case Kind::id_set:
      return predicate.ids.contains(snapshot.id(row)) != predicate.passes_others;
    case Kind::all_of:
      return std::ranges::all_of(predicate.parts, part_passes);
    case Kind::any_of:
      break;
  }
  return std::ranges::any_of(predicate.parts, part_passes);
}

}  // namespace culmen
