// Sets of ids, as compressed bitmaps: which rows may be in an answer, or must not be.
//
//   const culmen::IdSet seen(ids_that_the_user_has_seen);
//   index.search({.weights = weights, .k = 10, .where = !culmen::Filter::ids_in(seen) && culmen::col("price") <= 200});
//
// Immutable and cheap to copy: copies share the bitmap, and so do all filters and queries with it. Build a set once.
// 10 million ids between 0 and 100 million take a third of a second, in ascending order less; hashed ids seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/id_type.h"

namespace culmen {

class IdBitmap;
struct Snapshot;
class TextIds;

// Both ends included.
struct IdRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// A set of numbers, or of texts. One of numbers fits indexes of int64 and of uint64, where numbers that no id can be find no
// row. Searches of an index of the other of the two make a copy of the set each: give it the index's. One of texts is for
// indexes of texts. The first search of a version, or of a shard's, looks all of them up, some 20 looks at rows each; the set
// keeps what it has found while the version lives.
class IdSet {
 public:
  // Of all ranges of a set together. More ids in a row are for a condition: id_col().between(first, last).
  static constexpr std::uint64_t kMaxIdsOfRanges = std::uint64_t{1} << 36;

  IdSet() = default;  // empty
  // In any order, each any number of times, as the type says (culmen/id_type.h). Not of IdType::text: throws InvalidArgument.
  explicit IdSet(std::span<const std::int64_t> ids, IdType type = IdType::int64);
  // Of IdType::text.
  explicit IdSet(std::span<const std::string_view> texts);
  // Ranges in any order, which may overlap. Throws InvalidArgument for a range whose first id exceeds its last one, and
  // for more than kMaxIdsOfRanges.
  static IdSet of_ranges(std::span<const IdRange> ranges, IdType type = IdType::int64);

  // Reads Roaring's portable format for 64 bits, which CRoaring, Java, Go and pyroaring's BitMap64 write. For
  // IdType::int64 a number of 2^63 or more is the negative id with the same bits. Throws FormatError, which names the
  // byte, for all other bytes. These and ranges are of numbers: for IdType::text, InvalidArgument.
  static IdSet from_bytes(std::span<const std::byte> bytes, IdType type = IdType::int64);
  [[nodiscard]] std::vector<std::byte> to_bytes() const;

  [[nodiscard]] IdType type() const { return type_; }
  // The same numbers, but for those that the type lacks.
  [[nodiscard]] IdSet as(IdType type) const;

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] bool contains(std::int64_t id) const;
  [[nodiscard]] bool contains(std::string_view text) const;
  [[nodiscard]] std::vector<std::int64_t> ids() const;   // ascending; none of texts
  [[nodiscard]] std::vector<std::string> texts() const;  // ascending; none of numbers

  // The same ids of the same type.
  friend bool operator==(const IdSet& a, const IdSet& b);

  // For culmen's own code: the numbers of a set of these; numbers that stand in for texts of one version, as a set, and
  // those that stand in for the texts of a set.
  const IdBitmap& bitmap() const;
  static IdSet of_stand_ins(std::span<const std::int64_t> numbers);
  [[nodiscard]] IdSet stand_ins_in(const Snapshot& version) const;

 private:
  IdSet(std::shared_ptr<const IdBitmap> bitmap, IdType type);

  std::shared_ptr<const IdBitmap> bitmap_;  // null: no numbers
  std::shared_ptr<const TextIds> texts_;    // null: no texts
  IdType type_ = IdType::int64;
};

}  // namespace culmen
