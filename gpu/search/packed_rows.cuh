// The scores of a leaf's rows whose values are packed: a warp decodes them into registers, column by column.
#pragma once

#include <iterator>

#include "gpu/mirror/packed_leaf.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/warp.cuh"
#include "index/score.h"

namespace culmen::gpu {

// Rows of a leaf that a warp scores at once: as many as the usual leaf has.
inline constexpr int kRowsPerLane = 3;
inline constexpr int kRowsAtOnce = kRowsPerLane * kWarpSize;

[[maybe_unused]] static __constant__ double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21};
[[maybe_unused]] static __constant__ double kReciprocals[] = {
    1 / 1e0,  1 / 1e1,  1 / 1e2,  1 / 1e3,  1 / 1e4,  1 / 1e5,  1 / 1e6,  1 / 1e7,
    1 / 1e8,  1 / 1e9,  1 / 1e10, 1 / 1e11, 1 / 1e12, 1 / 1e13, 1 / 1e14, 1 / 1e15,
    1 / 1e16, 1 / 1e17, 1 / 1e18, 1 / 1e19, 1 / 1e20, 1 / 1e21};
static_assert(std::size(kPowers) == kMostPackedExponent + 1 && std::size(kReciprocals) == std::size(kPowers));

inline constexpr int kSector = 32;  // bytes that come from memory together

__device__ inline void prefetch(const std::byte* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
}

// The columns of a leaf that a query weights, up to 32 of them, as a warp decodes them: each lane has the head of one.
template <typename V>
class ColumnsOfWarp {
 public:
  using Rows = std::uint32_t[kRowsPerLane];

  // Loads the heads of the columns of terms first .. first + count - 1, and then prefetches all of their
  // bytes: else a warp would wait for memory once for each column.
  __device__ ColumnsOfWarp(const PackedLeaf& leaf, QueryRef query, int first, int count,
                           std::uint32_t num_rows, int lane)
      : leaf_(leaf) {
    const int num_columns =
        1 << (32 - __clz(count - 1));  // a power of two; several lanes have the same column
    const int mine = min(lane % num_columns, count - 1);
    head_ = leaf.head(kFirstAttribute + static_cast<std::uint32_t>(query.terms()[first + mine].attribute));
    const PackedWords words = leaf.words(head_);
    const auto* end = reinterpret_cast<const std::byte*>(words.numbers() + (num_rows * head_.bits + 63) / 64);
    const auto* begin = reinterpret_cast<const std::byte*>(words.first);
    for (const std::byte* sector = begin + lane / num_columns * kSector; sector < end;
         sector += kWarpSize / num_columns * kSector)
      prefetch(sector);
  }

  // The values of the column of the i-th term.
  __device__ void decode(int i, const Rows& rows, V (&values)[kRowsPerLane]) const {
    const ColumnHead head = head_of(i);
    const PackedWords words = leaf_.words(head);
    if (head.bits > 32) {
      decode_wide(head, words, rows, values);
    } else {
      decode_narrow(head, words, rows, values);
    }
    for (std::uint32_t e = 0; e < words.num_exceptions; ++e) {
      const std::uint32_t row = words.exception_rows()[e];
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j)
        if (rows[j] == row) values[j] = static_cast<V>(words.exceptions()[e]);
    }
  }

 private:
  __device__ ColumnHead head_of(int lane) const {
    const unsigned form =
        head_.bits | static_cast<unsigned>(head_.exponent) << 8 | unsigned{head_.num_exceptions} << 16;
    const unsigned of_lane = __shfl_sync(kFullWarp, form, lane);
    return {__shfl_sync(kFullWarp, static_cast<unsigned long long>(head_.base), lane),
            __shfl_sync(kFullWarp, head_.first_word, lane), static_cast<std::uint8_t>(of_lane),
            static_cast<std::uint8_t>(of_lane >> 8), static_cast<std::uint16_t>(of_lane >> 16)};
  }

  // Numbers of up to 32 bits.
  __device__ static void decode_narrow(const ColumnHead& head, const PackedWords& words, const Rows& rows,
                                       V (&values)[kRowsPerLane]) {
    const auto* numbers = reinterpret_cast<const std::uint32_t*>(words.numbers());
    const auto mask = static_cast<std::uint32_t>(encoding::low_bits(head.bits));
    std::uint32_t packed[kRowsPerLane];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      const std::uint32_t at = rows[j] * head.bits;
      packed[j] = __funnelshift_r(__ldg(numbers + at / 32), __ldg(numbers + at / 32 + 1), at) & mask;
    }
    if (head.exponent == encoding::kBits) {
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j)
        values[j] = encoding::from_ordered_bits<V>(head.base + packed[j]);
      return;
    }
    constexpr int kHigh = 0x43300000;  // 2^52 + a number of 32 bits is a double that has them at its end
    const double base = encoding::double_of(head.base) - 0x1p52;
    const double power = kPowers[head.exponent], reciprocal = kReciprocals[head.exponent];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j)
      values[j] = static_cast<V>(
          quotient(__hiloint2double(kHigh, static_cast<int>(packed[j])) + base, power, reciprocal));
  }

  __device__ static void decode_wide(const ColumnHead& head, const PackedWords& words, const Rows& rows,
                                     V (&values)[kRowsPerLane]) {
    const std::uint64_t* numbers = words.numbers();
    const std::uint64_t mask = encoding::low_bits(head.bits);
    std::uint64_t packed[kRowsPerLane];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      const std::uint32_t at = rows[j] * head.bits;
      packed[j] =
          head.base + packed_number(__ldg(numbers + at / 64), __ldg(numbers + at / 64 + 1), at % 64, mask);
    }
    const bool is_bits = head.exponent == encoding::kBits;
    const double power = kPowers[is_bits ? 0 : head.exponent],
                 reciprocal = kReciprocals[is_bits ? 0 : head.exponent];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j)
      values[j] = is_bits ? encoding::from_ordered_bits<V>(packed[j])
                          : static_cast<V>(quotient(encoding::double_of(packed[j]), power, reciprocal));
  }

  PackedLeaf leaf_;
  ColumnHead head_;
};

// By a warp: the scores of rows of a leaf, each lane its own, of values of type V.
template <typename V>
__device__ void score_packed_rows(const PackedLeaf& leaf, QueryRef query, std::uint32_t num_rows,
                                  const std::uint32_t (&rows)[kRowsPerLane], int lane,
                                  double (&score)[kRowsPerLane]) {
#pragma unroll
  for (double& one : score) one = query.header().offset;
  const int num_terms = query.header().num_terms;
  for (int first = 0; first < num_terms; first += kWarpSize) {
    const int count = min(num_terms - first, kWarpSize);
    const ColumnsOfWarp<V> columns(leaf, query, first, count, num_rows, lane);
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      V values[kRowsPerLane];
      columns.decode(i, rows, values);
      const double weight = query.terms()[first + i].weight;
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j)
        score[j] = score_step(score[j], weight, static_cast<double>(values[j]));
    }
  }
#pragma unroll
  for (double& one : score) one = score_finish(one);
}

}  // namespace culmen::gpu
