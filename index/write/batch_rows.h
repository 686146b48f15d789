// BatchRows: the rows of a batch as leaves store them, with stand-ins where values are missing and codes for texts.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "index/leaf_fields.h"
#include "index/leaf_texts.h"
#include "index/snapshot.h"
#include "index/write/change.h"

namespace culmen {

class BatchRows {
 public:
  // Adds the batch's new texts to the dictionaries of `snapshot`, the version that is being made, which has rows. The
  // change and the fields of the version must outlive this.
  BatchRows(const Change& change, Snapshot& snapshot);
  BatchRows(const BatchRows&) = delete;
  BatchRows& operator=(const BatchRows&) = delete;

  const Change& change() const { return change_; }
  std::size_t num_rows() const { return change_.num_rows(); }
  // As Change has them, but with stand-ins.
  const std::byte* value(std::size_t row, std::size_t attribute) const {
    return values_ + (attribute * num_rows() + row) * value_bytes_;
  }
  double number(std::size_t row, std::size_t attribute) const {
    return stored_number(value(row, attribute), value_bytes_);
  }

  bool have_gaps() const { return !filled_.empty(); }
  bool misses(std::size_t row, std::size_t attribute) const {
    return have_gaps() && std::isnan(change_.number(row, attribute, value_bytes_));
  }

  // In a column that partitions are cut by (Partitioner::cluster).
  double cut_value(std::size_t row, std::uint32_t column) const;

  // Copies gaps and fields to a row of a leaf, but for stored texts.
  void copy_row(std::size_t row, LeafFieldsBuilder& leaf, std::size_t row_of_leaf) const;
  void copy_texts(std::size_t row, LeafTextsBuilder& leaf, std::size_t row_of_leaf) const;

 private:
  template <typename T>
  void fill(std::span<const double> stand_ins);

  std::int64_t key(std::size_t row, std::size_t field) const;  // not missing, not a stored text

  const Change& change_;
  const std::vector<Field>& fields_;
  const std::size_t num_attributes_, value_bytes_;
  std::vector<std::byte> filled_;  // empty: no value is missing
  const std::byte* values_;
  std::vector<std::vector<std::int64_t>> codes_;  // [num_fields] of each text of a filter column
};

}  // namespace culmen
