// The values of a version in codes of 8 bits, for passes that many questions share (cpu/byte_pass.h).
//
// With m the middle and s the step of an attribute, and g the scale of a leaf, at most 1, a value is m + s g (c + e), c its
// code from -127 to 127, e what the code loses, at most 1/2. Codes are written 128 too high, so that they are unsigned.
//
// From 16 attributes on rows are also kept one after the other, if there is room: a row's values in its leaf are on a cache
// line each.
//
// In wide tables
// * leaves are in the order of their lengths (index/bound_layout.h), the longest first, so that a pass can end early;
// * steps are sqrt(range / usual weight), so that codes and weights of attributes that matter little are equally small: with
//   steps of the range alone, such a weight would round to 0, and the loss count with full codes.
//
// Cost: a byte for each value; with the rows their values again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "cpu/simd/byte_products.h"
#include "cpu/simd/kernels.h"
#include "index/snapshot.h"

namespace culmen::cpu {

inline constexpr double kByteRounding =
    0x1p-38;  // covers that of any sum over attributes, relative to their sizes

struct AttributeCode {
  double middle;
  double range;
  double step;
  double size;  // of the largest value
};

// A leaf's scale and 1 / scale, and the largest norms of codes and of what codes lose, over its rows.
struct LeafNorms {
  double scale = 1, inverse = 1;
  double of_codes = 0;
  double of_losses = 0;
};

class ByteTable {
 public:
  // Whether the values have codes: none missing, ranges that do not overflow, not too many for the memory.
  static bool can_hold(const Snapshot& snapshot);
  // usual_weights: sizes of the weights of questions to come, [num_attributes]; empty: unknown. All threads of the caller's
  // arena.
  explicit ByteTable(const Snapshot& snapshot, std::span<const double> usual_weights = {});

  // Whether codes for questions of these usual weights would be hardly better than these are.
  bool suit(std::span<const double> usual_weights) const;

  std::size_t num_leaves() const { return leaves_.size(); }
  std::uint32_t slot(std::size_t i) const { return leaves_[i]; }
  std::size_t num_quads() const { return num_quads_; }
  const std::vector<AttributeCode>& attributes() const { return attributes_; }
  const LeafNorms& norms(std::size_t i) const { return norms_[i]; }
  // At least the length of every row of the leaves from i on. Infinite unless the table is wide.
  double length(std::size_t i) const { return lengths_.empty() ? kNoLength : lengths_[i]; }
  bool has_lengths() const { return !lengths_.empty(); }
  int length_row() const { return length_row_; }
  // The values of a row of leaf i, and how far one is from the next.
  template <typename T>
  const T* values(const Snapshot& snapshot, std::size_t i, std::uint32_t row) const {
    if (rows_ == nullptr) return snapshot.leaf_values<T>(leaves_[i]) + row;
    return reinterpret_cast<const T*>(rows_.get()) + (i * leaf_rows_ + row) * attributes_.size();
  }
  bool has_rows() const { return rows_ != nullptr; }
  std::size_t values_stride() const { return rows_ == nullptr ? leaf_rows_ : 1; }
  std::size_t leaf_bytes() const { return num_quads_ * leaf_rows_ * sizeof(std::uint32_t); }
  // From vector `first` on, as many as a kernel takes, of the leaf's first num_vectors.
  simd::ByteRows rows(std::size_t i, std::size_t first, std::size_t num_vectors) const;

 private:
  template <typename T>
  void write_leaf(const Snapshot& snapshot, std::size_t i);
  template <typename T>
  double scale_of(const Snapshot& snapshot, std::size_t i) const;
  void order_by_length(const Snapshot& snapshot);
  template <typename T>
  void write_rows(const Snapshot& snapshot, std::size_t i);
  std::uint32_t* words_of(std::size_t i) { return words_.get() + i * num_quads_ * leaf_rows_; }

  static constexpr double kNoLength = std::numeric_limits<double>::infinity();

  std::vector<std::uint32_t> leaves_;
  std::vector<double> lengths_;  // of a wide table, descending
  int length_row_ = -1;
  std::vector<AttributeCode> attributes_;
  std::size_t num_quads_, leaf_rows_;
  // [leaf][quad][row] with 4 codes each; written up to the leaf's last vector of rows.
  std::unique_ptr<std::uint32_t[]> words_;
  std::unique_ptr<std::byte[]> rows_;  // [leaf][row][attribute] as stored; or null
  std::vector<LeafNorms> norms_;
};

}  // namespace culmen::cpu
