// Chunks of rows for tests of partitioners.
#pragma once

#include <algorithm>
#include <vector>

#include "index/attribute_stats.h"
#include "index/row_chunk.h"
#include "tests/generators.h"

namespace culmen::test {

inline RowChunk random_chunk(Random& random, std::size_t rows, std::size_t attributes) {
  RowChunk chunk(rows, attributes);
  for (std::size_t i = 0; i < attributes; ++i)
    for (double& value : chunk.attribute(i)) value = random.uniform(-3, 5);
  return chunk;
}

inline RowChunk some_of(const RowChunk& all, std::size_t first, std::size_t rows) {
  RowChunk some(rows, all.num_attributes());
  for (std::size_t i = 0; i < all.num_attributes(); ++i)
    std::ranges::copy(all.attribute(i).subspan(first, rows), some.attribute(i).begin());
  return some;
}

inline std::vector<AttributeStats> stats_of(const RowChunk& chunk) {
  std::vector<AttributeStats> stats;
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i) {
    const auto [minimum, maximum] = std::ranges::minmax(chunk.attribute(i));
    stats.push_back({minimum, maximum, -1074});
  }
  return stats;
}

}  // namespace culmen::test
