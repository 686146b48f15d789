// Leaf codes: each value of a leaf in 4 bits, relative to the leaf's own range of its attribute:
//
//   minimum + step * code  <=  value  <=  minimum + step * (code + 1),      step = (maximum - minimum) / 16
//
// but for rounding, by which no side is off by more than 2^-50 times the larger of |minimum| and |maximum|. A row's codes
// bound its score, so that nearly every row is left out with an eighth of its values read (VA-file: Weber, Schek and
// Blott, VLDB 1998). They follow from values and zone map: files and mirrors on a device have none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace culmen {

class SlotArena;

inline constexpr int kCodeIntervals = 16;

// Products of codes are summed up in 16 bits for so many terms, then in 32.
inline constexpr std::size_t kCodeTermsAtOnce = 16;
// What the weights of so many may sum up to, before each is rounded up.
inline constexpr int kLargestCodeWeights = 32767 / (kCodeIntervals - 1) - static_cast<int>(kCodeTermsAtOnce);

// An attribute's codes are words of 4 rows: row r is in word r % num_code_words, at bit 4 * (r / num_code_words).
// A multiple of 8.
inline constexpr std::size_t kRowsOfCodeWords = 32;  // rows come in so many
inline std::size_t num_code_words(std::size_t leaf_rows) {
  return (leaf_rows + kRowsOfCodeWords - 1) / kRowsOfCodeWords * (kRowsOfCodeWords / 4);
}

// Who reads an attribute's words may read as many at once: there is memory behind the last leaf's.
inline constexpr std::size_t kCodeWordsReadAtOnce = 32;

// More than 0, for ranges too small for a 16th; infinite where the range overflows.
inline constexpr double kMinCodeStep = 0x1p-1000;
inline double code_step(double minimum, double maximum) {
  return (maximum - minimum) * (1.0 / kCodeIntervals) + kMinCodeStep;
}

// Of a leaf whose values and zone map are there.
void write_leaf_codes(SlotArena& arena, std::size_t leaf, std::size_t num_rows);

// Whether the leaf has the codes that write_leaf_codes would give it.
bool are_leaf_codes(const SlotArena& arena, std::size_t leaf, std::size_t num_rows);

}  // namespace culmen
