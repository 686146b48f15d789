// Reads rows of a snapshot as users gave them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "culmen/search.h"
#include "index/read_session.h"
#include "index/score.h"
#include "index/snapshot.h"

namespace culmen {

// A field of a row at a position of a leaf.
inline FieldValue read_field_value(const Snapshot& snapshot, std::size_t field, std::size_t leaf,
                                   std::size_t position) {
  const LeafFields fields = snapshot.leaf_fields(leaf);
  const Field& of = snapshot.fields[field];
  if (fields.misses_field(field, position)) return {};
  if (is_stored_text(of)) return std::string(snapshot.leaf_texts(leaf).text(field, position));
  const std::int64_t key = fields.key(field, position);
  if (of.is_text()) return std::string((*snapshot.dictionaries[field])[static_cast<std::uint32_t>(key)]);
  if (of.format.type == ColumnType::floating) return double_of_key(key);
  return key;
}

// An attribute as it was given; NaN if the row misses it. `row`: its position in the snapshot.
inline double read_attribute(const Snapshot& snapshot, std::uint64_t row, std::size_t attribute) {
  const auto stride = static_cast<std::uint64_t>(snapshot.leaf_rows);
  if (snapshot.leaf_fields(row / stride).misses_attribute(attribute, row % stride))
    return std::numeric_limits<double>::quiet_NaN();
  return oriented(snapshot.value(row, static_cast<int>(attribute)),
                  snapshot.attributes[attribute].preference);
}

inline Row read_row(const Snapshot& snapshot, std::uint64_t row) {
  const ReadSession session(snapshot);
  Row result = {.id = snapshot.id(row), .values = {}, .label = std::string(snapshot.label(row))};
  const auto stride = static_cast<std::uint64_t>(snapshot.leaf_rows);
  for (std::size_t i = 0; i < snapshot.attributes.size(); ++i)
    result.values.push_back(read_attribute(snapshot, row, i));
  for (std::size_t f = 0; f < snapshot.fields.size(); ++f)
    result.fields.push_back(read_field_value(snapshot, f, row / stride, row % stride));
  return result;
}

}  // namespace culmen
