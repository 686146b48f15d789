#include "culmen/id_set.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "query/id_bitmap.h"

namespace culmen {
namespace {

// Ascending and disjoint.
std::vector<IdRange> merged(std::vector<IdRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const IdRange& a, const IdRange& b) { return a.first < b.first; });
  std::vector<IdRange> result;
  for (const IdRange& range : ranges) {
    if (range.first > range.last)
      throw InvalidArgument("no id is in the range from " + std::to_string(range.first) + " to " +
                            std::to_string(range.last));
    if (result.empty() || range.first > result.back().last) {
      result.push_back(range);
    } else {
      result.back().last = std::max(result.back().last, range.last);
    }
  }
  return result;
}

void check_size(std::span<const IdRange> ranges) {
  std::uint64_t left = IdSet::kMaxIdsOfRanges;
  for (const IdRange& range : ranges) {
    const std::uint64_t distance =
        static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
    if (distance >= left)
      throw InvalidArgument(
          "ranges of more than 2^36 ids are too much for a set: test the id itself, as in id "
          "between " +
          std::to_string(range.first) + " and " + std::to_string(range.last));
    left -= distance + 1;
  }
}

// Cut where a group of IdBitmap ends.
std::vector<IdRange> cut(std::span<const IdRange> ranges) {
  std::vector<IdRange> result;
  for (IdRange rest : ranges) {
    for (; IdBitmap::group_of(rest.first) != IdBitmap::group_of(rest.last);
         rest.first = result.back().last + 1)
      result.push_back({rest.first, rest.first | std::numeric_limits<std::uint32_t>::max()});
    result.push_back(rest);
  }
  return result;
}

}  // namespace

IdSet::IdSet(std::span<const std::int64_t> ids) : IdSet(std::make_shared<const IdBitmap>(ids)) {}

IdSet::IdSet(std::shared_ptr<const IdBitmap> bitmap) : bitmap_(std::move(bitmap)) {}

IdSet IdSet::of_ranges(std::span<const IdRange> ranges) {
  const std::vector<IdRange> disjoint = merged({ranges.begin(), ranges.end()});
  check_size(disjoint);
  const std::vector<IdRange> of_groups = cut(disjoint);
  return IdSet(std::make_shared<const IdBitmap>(std::span<const IdRange>(of_groups)));
}

IdSet IdSet::from_bytes(std::span<const std::byte> bytes) {
  return IdSet(std::make_shared<const IdBitmap>(bytes));
}

const IdBitmap& IdSet::bitmap() const {
  static const IdBitmap empty{std::span<const std::int64_t>()};
  return bitmap_ == nullptr ? empty : *bitmap_;
}

std::vector<std::byte> IdSet::to_bytes() const {
  return bitmap().to_bytes();
}

std::uint64_t IdSet::size() const {
  return bitmap().size();
}

bool IdSet::contains(std::int64_t id) const {
  return bitmap().contains(id);
}

std::vector<std::int64_t> IdSet::ids() const {
  return bitmap().ids();
}

bool operator==(const IdSet& a, const IdSet& b) {
  return a.bitmap_ == b.bitmap_ || a.bitmap() == b.bitmap();
}

}  // namespace culmen
