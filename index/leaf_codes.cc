#include "index/leaf_codes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "index/slot_arena.h"

namespace culmen {
namespace {

template <typename T>
void write_column(const T* column, std::size_t num_rows, double minimum, double step, std::uint16_t* words,
                  std::size_t num_words) {
  std::fill(words, words + num_words, std::uint16_t{0});
  if (!std::isfinite(step)) return;  // readers skip the codes of such a leaf
  const double steps_per_value = 1 / step;
  // A word has the codes of rows that are num_words apart, so each quarter of the rows can be vectorized.
  for (std::size_t first = 0, shift = 0; first < num_rows; first += num_words, shift += 4) {
    const std::size_t count = std::min(num_words, num_rows - first);
    for (std::size_t w = 0; w < count; ++w)
      words[w] = static_cast<std::uint16_t>(
          words[w] | code_of(static_cast<double>(column[first + w]), minimum, steps_per_value) << shift);
  }
}

// codes: [num_attributes][num_code_words]
template <typename T>
void write_codes(const LeafShape& shape, const T* values, const T* zone_map, std::size_t num_rows,
                 std::uint16_t* codes) {
  const std::size_t num_words = num_code_words(shape.leaf_rows);
  for (std::size_t i = 0; i < shape.num_attributes; ++i) {
    const auto zone_vector = [&](Extreme which) {
      return static_cast<double>(zone_map[static_cast<std::size_t>(which) * shape.num_attributes + i]);
    };
    const double minimum = zone_vector(Extreme::minimum);
    write_column(values + i * shape.leaf_rows, num_rows, minimum,
                 code_step(minimum, zone_vector(Extreme::maximum)), codes + i * num_words, num_words);
  }
}

void write_codes(const LeafShape& shape, const std::byte* values, const std::byte* zone_map,
                 std::size_t num_rows, std::uint16_t* codes) {
  const auto write = [&]<typename T>(T) {
    write_codes(shape, reinterpret_cast<const T*>(values), reinterpret_cast<const T*>(zone_map), num_rows,
                codes);
  };
  shape.value_bytes == sizeof(float) ? write(float{}) : write(double{});
}

}  // namespace

void write_leaf_codes(SlotArena& arena, std::size_t leaf, std::size_t num_rows) {
  write_codes(arena.shape(), arena.values(leaf), arena.zone_map(leaf), num_rows, arena.codes(leaf));
}

bool are_leaf_codes(const SlotArena& arena, std::size_t leaf, std::size_t num_rows) {
  std::vector<std::uint16_t> codes(arena.shape().code_words());
  write_codes(arena.shape(), arena.values(leaf), arena.zone_map(leaf), num_rows, codes.data());
  return std::equal(codes.begin(), codes.end(), arena.codes(leaf));
}

}  // namespace culmen
