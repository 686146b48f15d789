// LeafWriter: fills a free slot with the rows of a leaf, taken from older leaves and from a batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/block_bounds.h"
#include "index/snapshot.h"
#include "index/write/change.h"

namespace culmen {

// Rows one after the other: `count` from `first` on, of the leaf in `slot`, or of the batch.
struct Run {
  std::uint32_t slot;  // kOfBatch: of the batch
  std::uint32_t first;
  std::uint32_t count;
};
inline constexpr std::uint32_t kOfBatch = 0xffffffff;

// What the later leaves of a partition reach: attribute-wise extremes and the smallest id. The paper's
// threshold tuple is `highest`.
struct SuffixExtremes {
  std::vector<double> highest, lowest;
  std::int64_t min_id = kNoId;

  explicit SuffixExtremes(std::size_t num_attributes);
  void include_leaf(const Snapshot& snapshot, std::uint32_t slot);       // the leaf's own corners
  void include_suffix_of(const Snapshot& snapshot, std::uint32_t slot);  // what the leaf says of later ones
};

// One per thread.
class LeafWriter {
 public:
  // `snapshot`: the version that is being made.
  LeafWriter(Snapshot& snapshot, const Change& change);

  // Writes everything but bounds, which stand in the parent. `suffix`: of the leaves after this one.
  void write(std::uint32_t slot, std::uint32_t partition, std::span<const Run> runs,
             const SuffixExtremes& suffix);

  // The bounds of the rows [first, first + count) of a leaf.
  void bound(std::uint32_t slot, std::uint32_t first, std::uint32_t count, std::span<float> rows);

 private:
  const std::byte* column(const Run& run, std::size_t attribute) const;
  void copy_rows(std::uint32_t slot, std::span<const Run> runs);
  void copy_labels(std::uint32_t slot, std::span<const Run> runs);
  template <typename T>
  void write_corners(std::uint32_t slot, const SuffixExtremes& suffix);

  Snapshot& snapshot_;
  Blocks& blocks_;
  const Change& change_;
  BlockBounds bounds_;
};

}  // namespace culmen
