// What is known of an index as a whole, beside its tree: in one place, so that it is copied whole from
// version to version, to the manifest and back. A new fact needs a line here and, if it is kept in files, one
// in each of to_text and parse_manifest (index/storage/manifest.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/uuid.h"
#include "culmen/schema.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/partitioner.h"
#include "index/slot_arena.h"

namespace culmen {

// What a load finds out from the rows; the next load finds it out anew.
struct RowMetadata {
  std::uint64_t num_rows = 0;
  std::vector<AttributeStats> stats;  // [num_attributes]
  std::vector<BoundUnit> units;       // [num_attributes]
  bool exact_sums = false;  // sums of unit values are exact in binary64: bounds carry no error bound
  std::shared_ptr<const Partitioner> partitioner;

  RowMetadata& row_metadata() { return *this; }
  const RowMetadata& row_metadata() const { return *this; }
};

struct IndexMetadata : RowMetadata {
  // What it is a table of.
  std::vector<Attribute> attributes;
  ValueType value_type = ValueType::float32;  // float32 or float64, never automatic
  bool has_labels = false;
  int leaf_rows = 0;
  BoundLayout layout{0};  // for so many attributes

  // Says which index this is a version of: given when it is saved to a directory, and kept through all of its
  // changes there. Versions of one uuid follow each other; those of two have nothing to do with each other.
  Uuid index_uuid = {};
  std::uint64_t version = 1;
  std::int64_t next_id = 0;  // above all ids that were ever given out, unless it is the largest there is
  std::uint64_t rounded_values = 0;  // of those that were ever given

  IndexMetadata& metadata() { return *this; }
  const IndexMetadata& metadata() const { return *this; }

  int num_attributes() const { return static_cast<int>(attributes.size()); }
  std::size_t value_bytes() const {
    return value_type == ValueType::float32 ? sizeof(float) : sizeof(double);
  }
  LeafShape leaf_shape() const {
    return {attributes.size(), static_cast<std::size_t>(leaf_rows), value_bytes(), has_labels};
  }
};

}  // namespace culmen
