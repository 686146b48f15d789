// SuffixExtremes: what the later leaves of a partition reach, attribute by attribute, and the smallest id among them.
// The paper's threshold tuple is `highest`. A leaf's own may be looser, never tighter.
#pragma once

#include <cstdint>
#include <vector>

#include "index/snapshot.h"
#include "index/write/change.h"

namespace culmen {

struct SuffixExtremes {
  std::vector<double> highest, lowest;
  std::int64_t min_id = kNoId;

  explicit SuffixExtremes(std::size_t num_attributes);  // there is no later leaf

  void include(const SuffixExtremes& other);
  void include_row(const Change& change, std::size_t row, std::size_t value_bytes);
  void include_leaf(const Snapshot& snapshot, std::uint32_t slot);       // the leaf's own corners
  void include_suffix_of(const Snapshot& snapshot, std::uint32_t slot);  // what the leaf says of later ones

  bool is_covered_by_suffix_of(const Snapshot& snapshot, std::uint32_t slot) const;

  // Reaches half as far again beyond the leaf's own rows, where more than the leaf says is to be covered. A column that
  // always rises, or falls, then makes a leaf be written anew as often as its distance has grown by half, and not with
  // every row.
  void leave_room_beyond(const Snapshot& snapshot, std::uint32_t slot);
};

}  // namespace culmen
