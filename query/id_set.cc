#include "culmen/id_set.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "query/id_bitmap.h"
#include "query/text_ids.h"

namespace culmen {
namespace {

// Ascending and disjoint.
std::vector<IdRange> merged(std::vector<IdRange> ranges, IdType type) {
  std::sort(ranges.begin(), ranges.end(),
            [](const IdRange& a, const IdRange& b) { return a.first < b.first; });
  std::vector<IdRange> result;
  for (const IdRange& range : ranges) {
    if (range.first > range.last)
      throw InvalidArgument("no id is in the range from " + id_text(range.first, type) + " to " +
                            id_text(range.last, type));
    if (result.empty() || range.first > result.back().last) {
      result.push_back(range);
    } else {
      result.back().last = std::max(result.back().last, range.last);
    }
  }
  return result;
}

void check_size(std::span<const IdRange> ranges, IdType type) {
  std::uint64_t left = IdSet::kMaxIdsOfRanges;
  for (const IdRange& range : ranges) {
    const std::uint64_t distance =
        static_cast<std::uint64_t>(range.last) - static_cast<std::uint64_t>(range.first);
    if (distance >= left)
      throw InvalidArgument(
          "ranges of more than 2^36 ids are too much for a set: test the id itself, as in id "
          "between " +
          id_text(range.first, type) + " and " + id_text(range.last, type));
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

void require_numbers(IdType type) {
  if (type == IdType::text)
    throw InvalidArgument("ids that are texts are no numbers: make the set of the texts themselves");
}

}  // namespace

IdSet::IdSet(std::span<const std::int64_t> ids, IdType type)
    : IdSet(std::make_shared<const IdBitmap>(ids), type) {
  require_numbers(type);
}

IdSet::IdSet(std::span<const std::string_view> texts)
    : texts_(std::make_shared<const TextIds>(texts)), type_(IdType::text) {}

IdSet IdSet::of_stand_ins(std::span<const std::int64_t> numbers) {
  return {std::make_shared<const IdBitmap>(numbers), IdType::text};
}

IdSet IdSet::stand_ins_in(const Snapshot& version) const {
  return texts_ == nullptr ? *this : IdSet(texts_->numbers_in(version), IdType::text);
}

IdSet::IdSet(std::shared_ptr<const IdBitmap> bitmap, IdType type) : bitmap_(std::move(bitmap)), type_(type) {}

IdSet IdSet::of_ranges(std::span<const IdRange> ranges, IdType type) {
  require_numbers(type);
  const std::vector<IdRange> disjoint = merged({ranges.begin(), ranges.end()}, type);
  check_size(disjoint, type);
  const std::vector<IdRange> of_groups = cut(disjoint);
  return IdSet(std::make_shared<const IdBitmap>(std::span<const IdRange>(of_groups)), type);
}

// Bytes hold the numbers, with the bits of an int64 or a uint64.
IdSet IdSet::from_bytes(std::span<const std::byte> bytes, IdType type) {
  require_numbers(type);
  auto bitmap = std::make_shared<const IdBitmap>(bytes);
  if (type == IdType::uint64) bitmap = std::make_shared<const IdBitmap>(*bitmap, IdBitmap::Part::all);
  return {std::move(bitmap), type};
}

IdSet IdSet::as(IdType type) const {
  if (type == type_) return *this;
  // Numbers below 2^63, which both types have.
  const IdBitmap::Part shared =
      type_ == IdType::int64 ? IdBitmap::Part::not_negative : IdBitmap::Part::negative;
  return {std::make_shared<const IdBitmap>(bitmap(), shared), type};
}

const IdBitmap& IdSet::bitmap() const {
  static const IdBitmap empty{std::span<const std::int64_t>()};
  return bitmap_ == nullptr ? empty : *bitmap_;
}

std::vector<std::byte> IdSet::to_bytes() const {
  require_numbers(type_);
  if (type_ == IdType::int64) return bitmap().to_bytes();
  return IdBitmap(bitmap(), IdBitmap::Part::all).to_bytes();
}

std::uint64_t IdSet::size() const {
  return texts_ == nullptr ? bitmap().size() : texts_->texts().size();
}

bool IdSet::contains(std::int64_t id) const {
  return bitmap().contains(id);
}

bool IdSet::contains(std::string_view text) const {
  return texts_ != nullptr && texts_->contains(text);
}

std::vector<std::int64_t> IdSet::ids() const {
  return bitmap().ids();
}

std::vector<std::string> IdSet::texts() const {
  return texts_ == nullptr ? std::vector<std::string>() : texts_->texts();
}

bool operator==(const IdSet& a, const IdSet& b) {
  const bool has_same_numbers = a.bitmap_ == b.bitmap_ || a.bitmap() == b.bitmap();
  return a.type_ == b.type_ && has_same_numbers && (a.texts_ == b.texts_ || a.texts() == b.texts());
}

}  // namespace culmen
