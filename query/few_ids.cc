#include "query/few_ids.h"

#include <algorithm>
#include <utility>

#include "index/field_key.h"

namespace culmen {
namespace {

FewIds ids_within(const Intervals<std::int64_t>& intervals, std::size_t most) {
  std::vector<std::int64_t> ids;
  for (const Interval<std::int64_t>& interval : intervals) {
    const std::uint64_t distance = key_distance(interval.minimum, interval.maximum);
    if (ids.size() + distance >= most) return {};
    for (std::uint64_t i = 0; i <= distance; ++i)
      ids.push_back(interval.minimum + static_cast<std::int64_t>(i));
  }
  return ids;
}

// A row passes all parts: one of them may leave few ids.
FewIds fewest_of(const std::vector<Predicate>& parts, std::size_t most) {
  FewIds fewest;
  for (const Predicate& part : parts) {
    FewIds ids = few_ids_of(part, most);
    if (ids && (!fewest || ids->size() < fewest->size())) fewest = std::move(ids);
  }
  return fewest;
}

FewIds union_of(const std::vector<Predicate>& parts, std::size_t most) {
  std::vector<std::int64_t> all;
  for (const Predicate& part : parts) {
    const FewIds ids = few_ids_of(part, most);
    if (!ids) return {};
    all.insert(all.end(), ids->begin(), ids->end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() > most) return {};
  }
  return all;
}

// The ids before, between and after the intervals.
std::optional<std::size_t> num_ids_outside(const Intervals<std::int64_t>& intervals, std::size_t most) {
  std::uint64_t inside = 0;  // less one for each interval
  for (const Interval<std::int64_t>& interval : intervals)
    inside += key_distance(interval.minimum, interval.maximum);
  // Of 2^64 ids: unsigned arithmetic wraps to the number of the others.
  const std::uint64_t outside = 0 - inside - intervals.size();
  if (intervals.empty() || outside > most) return {};
  return static_cast<std::size_t>(outside);
}

}  // namespace

std::optional<std::size_t> num_excluded_ids(const Predicate& predicate, std::size_t most) {
  switch (predicate.kind) {
    case Predicate::Kind::everything:
      return 0;
    case Predicate::Kind::id:
      return num_ids_outside(predicate.keys, most);
    case Predicate::Kind::id_set:
      if (!predicate.passes_others || predicate.ids.size() > most) return {};
      return static_cast<std::size_t>(predicate.ids.size());
    case Predicate::Kind::all_of: {
      std::size_t all = 0;
      for (const Predicate& part : predicate.parts) {
        const std::optional<std::size_t> of_part = num_excluded_ids(part, most);
        if (!of_part) return {};
        all += *of_part;
      }
      if (all > most) return {};
      return all;
    }
    default:
      return {};
  }
}

FewIds few_ids_of(const Predicate& predicate, std::size_t most) {
  switch (predicate.kind) {
    case Predicate::Kind::id:
      return ids_within(predicate.keys, most);
    case Predicate::Kind::id_set:
      if (predicate.passes_others || predicate.ids.size() > most) return {};
      return predicate.ids.bitmap().ids();
    case Predicate::Kind::all_of:
      return fewest_of(predicate.parts, most);
    case Predicate::Kind::any_of:
      return union_of(predicate.parts, most);
    default:
      return {};
  }
}

FewIds few_ids_of(const ResolvedQuery& query) {
  // The best k of m ids are among the best k/m of the rows at the earliest, and a search reads far more than these.
  constexpr std::size_t kMostOfEachHit = 32, kMost = 256;
  return few_ids_of(query.filter, query.k < kMost / kMostOfEachHit ? kMostOfEachHit * query.k : kMost);
}

}  // namespace culmen
