// IdBitmap: what an IdSet holds. Ids are grouped by their upper 32 bits, as a signed number, so that the order of groups
// is that of the ids; the lower bits of a group are a Roaring bitmap. Groups of a few ids, as of hashed ids, are kept as
// they are: a bitmap each would take many times their space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/key_bits.h"
#include "culmen/id_set.h"
#include "query/intervals.h"

namespace culmen {

class IdBitmap {
 public:
  // In any order.
  explicit IdBitmap(std::span<const std::int64_t> ids);
  // Ascending, disjoint, and none reaches from one group into the next.
  explicit IdBitmap(std::span<const IdRange> ranges);
  // Roaring's portable format. Throws FormatError.
  explicit IdBitmap(std::span<const std::byte> bytes);
  // The ids of another set, or those of one sign alone, with their top bit flipped.
  enum class Part : std::uint8_t { all, negative, not_negative };
  IdBitmap(const IdBitmap& other, Part part);
  IdBitmap(const IdBitmap&) = delete;
  IdBitmap& operator=(const IdBitmap&) = delete;
  ~IdBitmap();

  // The upper 32 bits.
  static std::int32_t group_of(std::int64_t id) { return static_cast<std::int32_t>(id >> 32); }

  std::uint64_t size() const { return size_; }
  // Of a set that is not empty.
  std::int64_t minimum() const { return minimum_; }
  std::int64_t maximum() const { return maximum_; }

  bool contains(std::int64_t id) const;
  // Sets one bit per id, in words of 64 from the lowest bit on: whether the set contains it.
  void write_mask(std::span<const std::int64_t> ids, std::uint64_t* mask) const;

  std::vector<std::int64_t> ids() const;
  // The same ids. Takes time by the intervals and by the containers of the bitmaps, not by the ids.
  Intervals<std::int64_t> intervals() const;
  std::vector<std::byte> to_bytes() const;
  bool operator==(const IdBitmap& other) const;

 private:
  struct FreeRoaring;
  struct Group;
  class Membership;

  void add(Group group);
  void scatter(std::span<const std::int64_t> ids);
  void finish();
  // Calls visit(group) for each group, ascending, also for those of a few ids.
  template <typename Visit>
  void for_each_group(const Visit& visit) const;

  std::vector<Group> groups_;            // ascending
  std::vector<std::int64_t> scattered_;  // the ids of small groups, ascending
  std::uint64_t size_ = 0;
  std::int64_t minimum_ = 0, maximum_ = 0;
  KeyBits hint_;
};

}  // namespace culmen
