#include "index/leaf_codes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/leaf_codes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "index/slot_arena.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE hn::Vec<hn::ScalableTag<double>> ValuesToCode(const double* values) {
  return hn::LoadU(hn::ScalableTag<double>(), values);
}
HWY_INLINE hn::Vec<hn::ScalableTag<double>> ValuesToCode(const float* values) {
  const hn::ScalableTag<double> d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), values));
}

// Adds codes, as code_of() has them, to words at bit `shift`.
template <typename T>
HWY_INLINE void AddCodes(const T* values, std::size_t count, double minimum, double steps_per_value,
                         int shift, std::uint16_t* words) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> i32;
  const hn::Rebind<std::uint16_t, decltype(d)> u16;
  const auto least = hn::Set(d, minimum), per_value = hn::Set(d, steps_per_value);
  const auto last = hn::Set(d, kCodeIntervals - 1.0);
  std::size_t w = 0;
  for (; w + hn::Lanes(d) <= count; w += hn::Lanes(d)) {
    const auto steps = hn::Mul(hn::Sub(ValuesToCode(values + w), least), per_value);
    const auto within = hn::IfThenElse(hn::Lt(last, steps), last, steps);
    const auto codes = hn::DemoteTo(i32, hn::IfThenElseZero(hn::Gt(steps, hn::Zero(d)), within));
    const auto of_word = hn::DemoteTo(u16, hn::ShiftLeftSame(codes, shift));
    hn::StoreU(hn::Or(hn::LoadU(u16, words + w), of_word), u16, words + w);
  }
  for (; w < count; ++w)
    words[w] = static_cast<std::uint16_t>(
        words[w] | code_of(static_cast<double>(values[w]), minimum, steps_per_value) << shift);
}

template <typename T>
HWY_INLINE void WriteColumn(const T* column, std::size_t num_rows, double minimum, double step,
                            std::uint16_t* words, std::size_t num_words) {
  std::fill(words, words + num_words, std::uint16_t{0});
  if (!std::isfinite(step)) return;  // readers skip the codes of such a leaf
  // A word has the codes of rows that are num_words apart.
  int shift = 0;
  for (std::size_t first = 0; first < num_rows; first += num_words, shift += 4)
    AddCodes(column + first, std::min(num_words, num_rows - first), minimum, 1 / step, shift, words);
}

// zone_map: [kZoneVectors][num_attributes]; codes: [num_attributes][num_code_words]
template <typename T>
HWY_INLINE void WriteColumns(const LeafShape& shape, const T* values, const T* zone_map, std::size_t num_rows,
                             std::uint16_t* codes) {
  const std::size_t num_words = num_code_words(shape.leaf_rows);
  for (std::size_t i = 0; i < shape.num_attributes; ++i) {
    const auto zone_vector = [&](Extreme which) {
      return static_cast<double>(zone_map[static_cast<std::size_t>(which) * shape.num_attributes + i]);
    };
    const double minimum = zone_vector(Extreme::minimum);
    WriteColumn(values + i * shape.leaf_rows, num_rows, minimum,
                code_step(minimum, zone_vector(Extreme::maximum)), codes + i * num_words, num_words);
  }
}

void WriteCodes(const LeafShape& shape, const std::byte* values, const std::byte* zone_map,
                std::size_t num_rows, std::uint16_t* codes) {
  const auto write = [&]<typename T>(T) HWY_ATTR {
    WriteColumns(shape, reinterpret_cast<const T*>(values), reinterpret_cast<const T*>(zone_map), num_rows,
                 codes);
  };
  shape.value_bytes == sizeof(float) ? write(float{}) : write(double{});
}

}  // namespace culmen::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace culmen {

HWY_EXPORT(WriteCodes);

void write_leaf_codes(SlotArena& arena, std::size_t leaf, std::size_t num_rows) {
  HWY_DYNAMIC_DISPATCH(WriteCodes)
  (arena.shape(), arena.values(leaf), arena.zone_map(leaf), num_rows, arena.codes(leaf));
}

bool are_leaf_codes(const SlotArena& arena, std::size_t leaf, std::size_t num_rows) {
  std::vector<std::uint16_t> codes(arena.shape().code_words());
  HWY_DYNAMIC_DISPATCH(WriteCodes)
  (arena.shape(), arena.values(leaf), arena.zone_map(leaf), num_rows, codes.data());
  return std::equal(codes.begin(), codes.end(), arena.codes(leaf));
}

}  // namespace culmen
#endif  // HWY_ONCE
