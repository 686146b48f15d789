#include "query/id_bitmap.h"

#include <roaring/roaring.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "query/roaring_format.h"

namespace culmen {
namespace {

// Smaller groups are not worth a bitmap.
constexpr std::uint64_t kMinOfGroup = 64;

roaring_bitmap_t* allocated(roaring_bitmap_t* bitmap) {
  if (bitmap == nullptr) throw std::bad_alloc();
  return bitmap;
}

std::uint32_t low_of(std::int64_t id) {
  return static_cast<std::uint32_t>(id);
}

std::int64_t id_of(std::int32_t high, std::uint32_t low) {
  return static_cast<std::int64_t>(high) * (std::int64_t{1} << 32) + low;
}

// Of ids that lie close to each other: a bit for each number in between sorts them, and reads each id twice.
std::vector<std::int64_t> sorted_by_bits(std::span<const std::int64_t> ids, std::int64_t minimum,
                                         std::uint64_t distance) {
  std::vector<std::uint64_t> words(distance / 64 + 1);
  const auto base = static_cast<std::uint64_t>(minimum);
  for (const std::int64_t id : ids) {
    const std::uint64_t bit = static_cast<std::uint64_t>(id) - base;
    words[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  std::vector<std::int64_t> sorted;
  sorted.reserve(ids.size());
  for (std::size_t w = 0; w < words.size(); ++w)
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
      sorted.push_back(
          static_cast<std::int64_t>(base + 64 * w + static_cast<std::uint64_t>(std::countr_zero(left))));
  return sorted;
}

std::vector<std::int64_t> sorted_ids(std::span<const std::int64_t> ids) {
  constexpr std::uint64_t kBitsOfId = 64;  // as many as an id itself takes
  const auto [minimum, maximum] = std::ranges::minmax(ids);
  const std::uint64_t distance = static_cast<std::uint64_t>(maximum) - static_cast<std::uint64_t>(minimum);
  if (distance / kBitsOfId < ids.size()) return sorted_by_bits(ids, minimum, distance);
  std::vector<std::int64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  return sorted;
}

// Of ascending ids of one group.
roaring_bitmap_t* roaring_of(std::span<const std::int64_t> ids) {
  std::vector<std::uint32_t> lows(ids.size());
  std::ranges::transform(ids, lows.begin(), low_of);
  return allocated(roaring_bitmap_of_ptr(lows.size(), lows.data()));
}

// The last of the numbers in a row that start with `first`.
std::uint32_t last_in_row(const roaring_bitmap_t* lows, std::uint32_t first) {
  std::uint64_t last = first, step = 1;
  const auto has_step = [&] {
    return last + step <= std::numeric_limits<std::uint32_t>::max() &&
           roaring_bitmap_contains_range(lows, last + 1, last + step + 1);
  };
  for (; has_step(); step *= 2) last += step;
  for (; step > 0; step /= 2)
    if (has_step()) last += step;
  return static_cast<std::uint32_t>(last);
}

// The end of the first group in ascending ids.
std::size_t end_of_group(std::span<const std::int64_t> ids) {
  const std::int32_t high = IdBitmap::group_of(ids.front());
  if (IdBitmap::group_of(ids.back()) == high) return ids.size();
  return static_cast<std::size_t>(
      std::ranges::find_if(ids, [high](std::int64_t id) { return IdBitmap::group_of(id) != high; }) -
      ids.begin());
}

}  // namespace

struct IdBitmap::FreeRoaring {
  void operator()(roaring_bitmap_t* bitmap) const { roaring_bitmap_free(bitmap); }
};

struct IdBitmap::Group {
  Group(std::int32_t group, roaring_bitmap_t* bitmap) : high(group), lows(bitmap) {}

  std::size_t num_bytes() const { return sizeof high + roaring_bitmap_portable_size_in_bytes(lows.get()); }
  // Returns where they end.
  std::byte* write_bytes(std::byte* out) const {
    std::memcpy(out, &high, sizeof high);
    out += sizeof high;
    return out + roaring_bitmap_portable_serialize(lows.get(), reinterpret_cast<char*>(out));
  }

  std::int32_t high;
  std::unique_ptr<roaring_bitmap_t, FreeRoaring> lows;
};

// Answers whether ids are in the set. Ids one after the other mostly have the same upper bits.
class IdBitmap::Membership {
 public:
  explicit Membership(const IdBitmap& set) : set_(set), group_(set.groups_.data()) {}

  bool contains(std::int64_t id) {
    if (id < set_.minimum_ || id > set_.maximum_ || set_.size_ == 0) return false;
    const std::int32_t high = group_of(id);
    if (!set_.groups_.empty()) {
      if (group_->high != high) seek(high);
      if (group_->high == high) return roaring_bitmap_contains(group_->lows.get(), low_of(id));
    }
    return std::ranges::binary_search(set_.scattered_, id);
  }

 private:
  void seek(std::int32_t high) {
    const auto found = std::ranges::lower_bound(set_.groups_, high, {}, &Group::high);
    if (found != set_.groups_.end()) group_ = &*found;
  }

  const IdBitmap& set_;
  const Group* group_;
};

IdBitmap::IdBitmap(std::span<const std::int64_t> ids) {
  std::vector<std::int64_t> sorted;
  if (!std::ranges::is_sorted(ids)) {
    sorted = sorted_ids(ids);
    ids = sorted;
  }
  while (!ids.empty()) {
    const std::size_t end = end_of_group(ids);
    if (end < kMinOfGroup) {
      scatter(ids.first(end));
    } else {
      add({group_of(ids.front()), roaring_of(ids.first(end))});
    }
    ids = ids.subspan(end);
  }
  finish();
}

IdBitmap::IdBitmap(std::span<const IdRange> ranges) {
  for (std::size_t i = 0; i < ranges.size();) {
    Group group{group_of(ranges[i].first), allocated(roaring_bitmap_create())};
    for (; i < ranges.size() && group_of(ranges[i].first) == group.high; ++i)
      roaring_bitmap_add_range_closed(group.lows.get(), low_of(ranges[i].first), low_of(ranges[i].last));
    add(std::move(group));
  }
  finish();
}

IdBitmap::IdBitmap(std::span<const std::byte> bytes) {
  std::vector<RoaringPiece> pieces = checked_roaring_pieces(bytes);
  // Numbers of 2^63 and more are negative ids, and come first.
  const auto negative = std::ranges::partition_point(
      pieces, [](const RoaringPiece& piece) { return static_cast<std::int32_t>(piece.high) >= 0; });
  std::rotate(pieces.begin(), negative, pieces.end());
  for (const RoaringPiece& piece : pieces)
    add({static_cast<std::int32_t>(piece.high),
         allocated(roaring_bitmap_portable_deserialize_safe(reinterpret_cast<const char*>(piece.bytes.data()),
                                                            piece.bytes.size()))});
  finish();
}

IdBitmap::IdBitmap(const IdBitmap& other, Part part) {
  const auto add_flipped = [&](bool negative) {
    other.for_each_group([&](const Group& group) {
      if ((group.high < 0) != negative) return;
      add({group.high ^ std::numeric_limits<std::int32_t>::min(),
           allocated(roaring_bitmap_copy(group.lows.get()))});
    });
  };
  if (part != Part::negative) add_flipped(false);  // these are negative then, and come first
  if (part != Part::not_negative) add_flipped(true);
  finish();
}

IdBitmap::~IdBitmap() = default;

// In ascending order.
void IdBitmap::add(Group group) {
  const std::uint64_t count = roaring_bitmap_get_cardinality(group.lows.get());
  size_ += count;
  if (count >= kMinOfGroup) {
    roaring_bitmap_run_optimize(group.lows.get());
    roaring_bitmap_shrink_to_fit(group.lows.get());
    groups_.push_back(std::move(group));
    return;
  }
  std::vector<std::uint32_t> lows(count);
  roaring_bitmap_to_uint32_array(group.lows.get(), lows.data());
  for (const std::uint32_t low : lows) scattered_.push_back(id_of(group.high, low));
}

// Ascending ids of a small group, each any number of times.
void IdBitmap::scatter(std::span<const std::int64_t> ids) {
  for (const std::int64_t id : ids) {
    if (!scattered_.empty() && scattered_.back() == id) continue;
    scattered_.push_back(id);
    ++size_;
  }
}

void IdBitmap::finish() {
  if (size_ == 0) return;
  minimum_ = std::numeric_limits<std::int64_t>::max();
  maximum_ = std::numeric_limits<std::int64_t>::min();
  const auto reach = [this](std::int64_t first, std::int64_t last) {
    minimum_ = std::min(minimum_, first);
    maximum_ = std::max(maximum_, last);
  };
  if (!scattered_.empty()) reach(scattered_.front(), scattered_.back());
  for (const Group& group : groups_)
    reach(id_of(group.high, roaring_bitmap_minimum(group.lows.get())),
          id_of(group.high, roaring_bitmap_maximum(group.lows.get())));
  // In a bitmap each of few ids among 65,536 is searched for. Of more ids the hint, then over 2 MB, would leave the caches.
  constexpr std::uint64_t kMostHinted = 1 << 20;
  if (size_ > kMostHinted && !groups_.empty()) return;
  hint_ = KeyBits(size_);
  for (const std::int64_t id : scattered_) hint_.add(id);
  if (groups_.empty()) return;
  for (const std::int64_t id : ids()) hint_.add(id);
}

bool IdBitmap::contains(std::int64_t id) const {
  return Membership(*this).contains(id);
}

void IdBitmap::write_mask(std::span<const std::int64_t> ids, std::uint64_t* mask) const {
  Membership membership(*this);
  if (!hint_.empty())
    return hint_.write_mask(ids, mask, [&](std::int64_t id) { return membership.contains(id); });
  for (std::size_t begin = 0; begin < ids.size(); begin += 64) {
    const std::size_t count = std::min<std::size_t>(64, ids.size() - begin);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) word |= std::uint64_t{membership.contains(ids[begin + i])} << i;
    mask[begin / 64] = word;
  }
}

template <typename Visit>
void IdBitmap::for_each_group(const Visit& visit) const {
  std::span<const std::int64_t> scattered = scattered_;
  const auto visit_scattered = [&](const Group* before) {
    while (!scattered.empty() && (before == nullptr || group_of(scattered.front()) < before->high)) {
      const std::size_t end = end_of_group(scattered);
      visit(Group{group_of(scattered.front()), roaring_of(scattered.first(end))});
      scattered = scattered.subspan(end);
    }
  };
  for (const Group& group : groups_) {
    visit_scattered(&group);
    visit(group);
  }
  visit_scattered(nullptr);
}

std::vector<std::int64_t> IdBitmap::ids() const {
  std::vector<std::int64_t> ids;
  ids.reserve(size_);
  std::vector<std::uint32_t> lows;
  for_each_group([&](const Group& group) {
    lows.resize(roaring_bitmap_get_cardinality(group.lows.get()));
    roaring_bitmap_to_uint32_array(group.lows.get(), lows.data());
    for (const std::uint32_t low : lows) ids.push_back(id_of(group.high, low));
  });
  return ids;
}

Intervals<std::int64_t> IdBitmap::intervals() const {
  Intervals<std::int64_t> found;
  for_each_group([&found](const Group& group) {
    roaring_uint32_iterator_t at;
    roaring_init_iterator(group.lows.get(), &at);
    while (at.has_value) {
      const std::uint32_t last = last_in_row(group.lows.get(), at.current_value);
      const Interval<std::int64_t> row = {id_of(group.high, at.current_value), id_of(group.high, last)};
      if (!found.empty() && found.back().maximum == row.minimum - 1) {  // goes on from the group before
        found.back().maximum = row.maximum;
      } else {
        found.push_back(row);
      }
      if (last == std::numeric_limits<std::uint32_t>::max()) break;
      roaring_move_uint32_iterator_equalorlarger(&at, last + 1);
    }
  });
  return found;
}

// Negative ids are the largest numbers of the format.
std::vector<std::byte> IdBitmap::to_bytes() const {
  std::uint64_t num_groups = 0;
  std::size_t num_bytes = sizeof num_groups, num_negative_bytes = 0;
  for_each_group([&](const Group& group) {
    ++num_groups;
    num_bytes += group.num_bytes();
    if (group.high < 0) num_negative_bytes += group.num_bytes();
  });
  std::vector<std::byte> bytes(num_bytes);
  std::memcpy(bytes.data(), &num_groups, sizeof num_groups);
  std::byte* out = bytes.data() + sizeof num_groups;
  std::byte* out_of_negative = bytes.data() + num_bytes - num_negative_bytes;
  for_each_group([&](const Group& group) {
    std::byte*& end = group.high < 0 ? out_of_negative : out;
    end = group.write_bytes(end);
  });
  return bytes;
}

bool IdBitmap::operator==(const IdBitmap& other) const {
  return size_ == other.size_ && scattered_ == other.scattered_ &&
         std::ranges::equal(groups_, other.groups_, [](const Group& a, const Group& b) {
           return a.high == b.high && roaring_bitmap_equals(a.lows.get(), b.lows.get());
         });
}

}  // namespace culmen
