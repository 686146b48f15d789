// Change: a batch as the tree applies it and the log stores it: all its steps folded into ids to remove, then rows to
// insert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/schema.h"
#include "index/slot_arena.h"
#include "index/write/field_change.h"

namespace culmen {

// One stored value.
inline double stored_number(const std::byte* at, std::size_t value_bytes) {
  return value_bytes == sizeof(float) ? static_cast<double>(*reinterpret_cast<const float*>(at))
                                      : *reinterpret_cast<const double*>(at);
}

struct Change {
  std::vector<std::int64_t> removed;  // in the index; each once
  std::vector<std::int64_t> ids;      // of the inserted rows; not in the index once `removed` are erased
  // [num_attributes][num_rows] of the stored type, oriented; missing values are NaN.
  std::vector<std::byte> values;
  std::vector<FieldChange> fields;        // [num_fields]; may be empty if no rows are inserted
  std::vector<std::uint64_t> label_ends;  // [num_rows] in label_text; empty without labels
  std::vector<char> label_text;
  std::uint64_t rounded_values = 0;  // of the values above
  std::int64_t next_id = 0;          // of the index after the batch

  std::size_t num_rows() const { return ids.size(); }
  // A batch that erases all of its own rows still uses up their ids, which are not assigned twice.
  bool changes_nothing(std::int64_t next_id_before) const {
    return removed.empty() && ids.empty() && next_id == next_id_before;
  }
  const std::byte* value(std::size_t row, std::size_t attribute, std::size_t value_bytes) const {
    return values.data() + (attribute * num_rows() + row) * value_bytes;
  }
  double number(std::size_t row, std::size_t attribute, std::size_t value_bytes) const {
    return stored_number(value(row, attribute, value_bytes), value_bytes);
  }
  std::string_view label(std::size_t row) const {
    if (label_ends.empty()) return {};
    return text_between(label_ends, label_text, row);
  }
};

// The body of a batch in the log (docs/format.md).
std::vector<std::byte> encode(const Change& change);

// Ids are assigned from next_id on without checking that they are free. Throws FormatError if the change gives them a next id
// that is used, or one below `next_id_before`.
void require_next_id_above_all(const Change& change, std::int64_t next_id_before);

// Throws FormatError if the bytes are not a change of an index of this shape with these fields: lengths that do not add
// up, or a value that its column cannot have. ChangeFold checks the ids.
Change decode(std::span<const std::byte> body, const LeafShape& shape, std::span<const Field> fields = {});

}  // namespace culmen
