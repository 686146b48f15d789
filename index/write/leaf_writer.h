// LeafWriter: writes a leaf into a free slot, from rows of older leaves and of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "index/leaf_bounds.h"
#include "index/snapshot.h"
#include "index/write/batch_rows.h"

namespace culmen {

// `count` consecutive rows from `first` on, of the leaf in `slot` or of the batch.
struct Run {
  std::uint32_t slot;  // or kOfBatch
  std::uint32_t first;
  std::uint32_t count;
};
inline constexpr std::uint32_t kOfBatch = 0xffffffff;

// Extends the last run if the new one continues it.
inline void append(std::vector<Run>& runs, const Run& run) {
  if (!runs.empty() && runs.back().slot == run.slot && runs.back().first + runs.back().count == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

// One per thread.
class LeafWriter {
 public:
  // `snapshot`: the version that is being made.
  LeafWriter(Snapshot& snapshot, const BatchRows& rows);

  // Writes the whole leaf. Its bounds belong to the parent node.
  void write(std::uint32_t slot, std::uint32_t partition, std::span<const Run> runs);

  // The bounds of the rows [first, first + count) of a leaf.
  void bound(std::uint32_t slot, std::uint32_t first, std::uint32_t count, std::span<float> rows);
  // Codes the bounds of all children of a node again, from the rows of these leaves.
  void recode(NodeAccess<std::byte> node);

 private:
  const std::byte* column(const Run& run, std::size_t attribute) const;
  void copy_rows(std::uint32_t slot, std::span<const Run> runs);
  void copy_labels(std::uint32_t slot, std::span<const Run> runs);
  void copy_fields(std::uint32_t slot, std::span<const Run> runs);
  void copy_texts(std::uint32_t slot, std::span<const Run> runs);
  [[noreturn]] void refuse(std::uint32_t slot, std::size_t row, const std::string& problem) const;
  template <typename T>
  void write_zone_map(std::uint32_t slot);

  Snapshot& snapshot_;
  SlotArena& arena_;
  const SlotArena& leaves_;  // the same, to read
  const BatchRows& rows_;
  LeafBounds bounds_;
  LeafFieldsBuilder fields_;
  LeafTextsBuilder texts_;
};

}  // namespace culmen
