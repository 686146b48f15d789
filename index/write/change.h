// Change: a batch as the tree applies it and the log stores it: all its steps folded into ids to remove, then rows to
// insert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/slot_arena.h"

namespace culmen {

// One field of a batch's rows.
struct FieldChange {
  std::vector<std::int64_t> keys;        // [num_rows]; 0 where missing; empty for stored texts
  std::vector<std::uint64_t> text_ends;  // [num_rows] in text; only for stored texts
  std::vector<char> text;
  std::vector<std::uint8_t> missing;   // [num_rows] 0 or 1; empty: none is missing
  std::vector<std::string> new_texts;  // of a dictionary, in the order of their codes
};

struct Change {
  std::vector<std::int64_t> removed;  // in the index; each once
  std::vector<std::int64_t> ids;      // of the inserted rows; not in the index once `removed` are erased
  // [num_attributes][num_rows] of the stored type, oriented; missing values are NaN.
  std::vector<std::byte> values;
  std::vector<FieldChange> fields;        // [num_fields]
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
    const std::byte* at = value(row, attribute, value_bytes);
    return value_bytes == sizeof(float) ? static_cast<double>(*reinterpret_cast<const float*>(at))
                                        : *reinterpret_cast<const double*>(at);
  }
  std::string_view label(std::size_t row) const {
    if (label_ends.empty()) return {};
    const std::uint64_t start = row == 0 ? 0 : label_ends[row - 1];
    return {label_text.data() + start, static_cast<std::size_t>(label_ends[row] - start)};
  }
};

// The body of a batch in the log (docs/format.md).
std::vector<std::byte> encode(const Change& change);

// Throws FormatError if the bytes are not a change of an index of this shape: lengths that do not add up, or a value
// that is not finite. ChangeFold checks the ids.
Change decode(std::span<const std::byte> body, const LeafShape& shape);

}  // namespace culmen
