// Leaf codes: each value of a leaf quantized to 4 bits, relative to the leaf's own range of the attribute:
//
//   minimum + step * code  <=  value  <=  minimum + step * (code + 1),      step = (maximum - minimum) / 16
//
// up to rounding, by at most 2^-50 times the larger of |minimum| and |maximum|. A row's codes bound its score, and a
// scan skips nearly every row after reading an eighth of its float32 values (VA-file: Weber, Schek and Blott, VLDB
// 1998). Codes follow from values and zone map, so files and mirrors have none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace culmen {

class SlotArena;

inline constexpr int kCodeIntervals = 16;

// The number of products of codes that are summed in 16 bits before the sum is widened to 32.
inline constexpr std::size_t kCodeTermsAtOnce = 16;
// The largest sum of kCodeTermsAtOnce weights before each is rounded up.
inline constexpr int kLargestCodeWeights = 32767 / (kCodeIntervals - 1) - static_cast<int>(kCodeTermsAtOnce);

// A word has the codes of 4 rows: row r is in word r % num_code_words, at bit 4 * (r / num_code_words).
// Rows are padded to a multiple of kRowsOfCodeWords, and so words to a multiple of 8.
inline constexpr std::size_t kRowsOfCodeWords = 32;
inline std::size_t num_code_words(std::size_t leaf_rows) {
  return (leaf_rows + kRowsOfCodeWords - 1) / kRowsOfCodeWords * (kRowsOfCodeWords / 4);
}

// Readers may load this many words at once: there is memory after the last leaf's.
inline constexpr std::size_t kCodeWordsReadAtOnce = 32;

// Above 0 even if the range is too small for a sixteenth; infinite if the range overflows.
inline constexpr double kMinCodeStep = 0x1p-1000;
CULMEN_HOST_DEVICE inline double code_step(double minimum, double maximum) {
  return (maximum - minimum) * (1.0 / kCodeIntervals) + kMinCodeStep;
}

// steps_per_value: 1 / step; dividing each value would take twice as long. verify also sees damaged values, which may be NaN
// or below the minimum.
CULMEN_HOST_DEVICE inline std::int32_t code_of(double value, double minimum, double steps_per_value) {
  const double steps = (value - minimum) * steps_per_value;
  constexpr double kLast = kCodeIntervals - 1.0;
  return static_cast<std::int32_t>(steps > 0 ? (kLast < steps ? kLast : steps) : 0.0);
}

// Writes the codes of a leaf from its values and zone map.
void write_leaf_codes(SlotArena& arena, std::size_t leaf, std::size_t num_rows);

// Returns true if the leaf has the codes that write_leaf_codes would write.
bool are_leaf_codes(const SlotArena& arena, std::size_t leaf, std::size_t num_rows);

}  // namespace culmen
