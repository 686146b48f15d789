// The metadata of an index as a whole, apart from its tree. One struct, so that it is copied whole from version to
// version, to the manifest and back. A new field needs a line here and, if it is stored, one where manifests are
// written and one where they are parsed (index/storage/).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "culmen/schema.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/dictionary.h"
#include "index/field_key.h"
#include "index/partitioner.h"
#include "index/quantiles.h"
#include "index/slot_arena.h"

namespace culmen {

// What a load derives from the rows. The next load derives it again.
struct RowMetadata {
  std::uint64_t num_rows = 0;
  std::vector<AttributeStats> stats;  // [num_attributes]
  std::vector<BoundUnit> units;       // [num_attributes]
  // [num_attributes] The stored values of rows that miss an attribute: finite, oriented. Determined by the first load
  // that has rows, and kept by later ones.
  std::vector<double> stand_ins;
  std::vector<std::shared_ptr<const Dictionary>>
      dictionaries;         // [num_fields] of filter columns of text; others null
  bool exact_sums = false;  // sums of unit values are exact in binary64: bounds carry no error bound
  std::shared_ptr<const Partitioner> partitioner;

  RowMetadata& row_metadata() { return *this; }
  const RowMetadata& row_metadata() const { return *this; }
};

struct IndexMetadata : RowMetadata {
  // The table's schema.
  std::vector<Attribute> attributes;
  std::vector<Field> fields;
  std::string id_name, label_name;  // of the columns; may be empty
  IdType id_type = IdType::int64;
  ValueType value_type = ValueType::float32;  // float32 or float64, never automatic
  bool has_labels = false;
  int leaf_rows = 0;
  BoundLayout layout{0};  // [num_attributes]
  // Of the rows of the build, or of the table that they are a part of; no change moves them. Null: the build had no rows, or
  // the files are of a program that kept none.
  std::shared_ptr<const Quantiles> quantiles;

  // Identifies the index that this is a version of: assigned when it is saved to a directory, and kept through all
  // changes there. Versions are comparable only within one uuid.
  Uuid index_uuid = {};
  std::uint64_t version = 1;
  std::int64_t next_id = 0;          // above all ids so far, unless one of them is the largest possible
  std::uint64_t rounded_values = 0;  // of all values that were ever inserted

  IndexMetadata& metadata() { return *this; }
  const IndexMetadata& metadata() const { return *this; }

  // Of a column as partitioners number them: attributes, then fields (Partitioner::cluster).
  const std::string& column_name(std::uint32_t column) const {
    return column < attributes.size() ? attributes[column].name : fields[column - attributes.size()].name;
  }
  // Of the column that the index is clustered by; empty: none.
  std::string cluster_name() const {
    const std::optional<std::uint32_t> column = partitioner->cluster();
    return column ? column_name(*column) : std::string();
  }
  int num_attributes() const { return static_cast<int>(attributes.size()); }
  std::size_t value_bytes() const {
    return value_type == ValueType::float32 ? sizeof(float) : sizeof(double);
  }
  LeafShape leaf_shape() const {
    return {attributes.size(), static_cast<std::size_t>(leaf_rows),        value_bytes(), has_labels,
            fields.size(),     std::ranges::any_of(fields, is_stored_text)};
  }
};

}  // namespace culmen
