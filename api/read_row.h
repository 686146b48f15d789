// Reads rows of a snapshot as users gave them.
#pragma once

#include <cstdint>

#include "culmen/search.h"
#include "index/score.h"
#include "index/snapshot.h"

namespace culmen {

// `row`: its position in the snapshot.
inline Row read_row(const Snapshot& snapshot, std::uint64_t row) {
  Row result = {.id = snapshot.id(row), .values = {}, .label = std::string(snapshot.label(row))};
  for (int i = 0; i < snapshot.num_attributes(); ++i)
    result.values.push_back(
        oriented(snapshot.value(row, i), snapshot.attributes[static_cast<std::size_t>(i)].preference));
  return result;
}

}  // namespace culmen
