// The second filter of a sweep: tensor cores multiply tiles of rows and tiles of queries in half precision, to find
// the rows that may reach a query's k-th score bound.
#pragma once

#include <cuda_fp16.h>

#include "gpu/search/sweep_memory.cuh"

namespace culmen::gpu {

// By all threads of a block.
template <typename T, int kSteps>
class SweepTiles {
 public:
  __device__ SweepTiles(const MirrorRef& mirror, const SweepMemory<ValueOf<T>>& memory,
                        std::uint32_t num_attributes, std::uint32_t chunk)
      : mirror_(mirror), memory_(memory), num_attributes_(num_attributes), chunk_(chunk) {
    // Padding is multiplied, too: it must be a number.
    for (std::uint32_t i = threadIdx.x; i < 2 * kRowsAtOnce * kStride; i += kSweepThreads)
      memory_.row_tiles[i] = 0;
    for (std::uint32_t i = threadIdx.x; i < chunk_ * kStride; i += kSweepThreads) memory_.query_tile[i] = 0;
  }

  // For the first `count` queries of the list.
  __device__ void write_query_tile(std::uint32_t count) const {
    const Share mine = share_of(count);
    const std::uint32_t i = mine.group * kWarpSize + lane_, q = memory_.listed[min(i, count - 1)];
    const float factor = memory_.bounds[q].factor;
    const auto number = [&](std::uint32_t a) {
      return a < num_attributes_ && factor != 0  // extents may be infinite
                 ? memory_.weights[a * chunk_ + q] * (memory_.sides[a].extent * factor)
                 : 0.0F;
    };
    for (std::uint32_t a = mine.first * 2; a < num_attributes_; a += mine.step * 2)
      *reinterpret_cast<__half2*>(memory_.query_tile + i * kStride + a) =
          __floats2half2_rn(number(a), number(a + 1));
  }

  // For each row that may reach the k-th score bound of a listed query, a lane calls offer(Offer). `count` queries
  // are listed. Of the two tiles of rows one is written while warps still multiply by the other.
  template <typename Use>
  __device__ void for_each_offer(std::uint32_t count, Use&& offer) {
    const Share mine = share_of(count);
    std::uint32_t tile = 0;
    Columns columns;
    bool has_columns = false;
    for (std::uint32_t l = 0; l < sweep_leaves().count; ++l)
      for (std::uint32_t first = 0; first < sweep_leaves().num_rows[l]; first += kRowsAtOnce) {
        const std::uint32_t num_rows =
            min(static_cast<std::uint32_t>(kRowsAtOnce), sweep_leaves().num_rows[l] - first);
        __half* rows = memory_.row_tiles + tile * kRowsAtOnce * kStride;
        write_row_tile(sweep_leaves().slots[l], first, num_rows, rows);
        __syncthreads();  // and the queries' tile is written
        if (!has_columns) take_columns(mine.group, count, columns);
        has_columns = true;
        multiply(l, first, num_rows, mine, columns, rows, offer);
        tile ^= 1;
      }
  }

 private:
  static constexpr std::uint32_t kStride = kTileStride<kSteps>;
  static constexpr std::uint32_t kTileRows = 16, kTileQueries = 8, kTilesAtOnce = kWarpSize / kTileQueries;
  static constexpr unsigned kSign = 0x80000000;

  // Each warp takes a group of 32 listed queries. If there are more warps than groups, the warps of a group share the
  // rows (or attributes): each takes the first-th part, and then every step-th.
  struct Share {
    std::uint32_t group, first, step;
  };
  __device__ Share share_of(std::uint32_t count) const {
    const std::uint32_t groups = (count + kWarpSize - 1) / kWarpSize, shares = kSweepWarps / groups,
                        share = warp_ / groups;
    return {warp_ % groups, share < shares ? share : 1 << 16, shares};  // a share too many: no work
  }

  // The lane's part of its warp's queries: what their sums start from, and their numbers.
  struct Columns {
    float starts[kTilesAtOnce][4];
    HalfFragment numbers[kSteps][kTilesAtOnce / 2];
  };

  __device__ void take_columns(std::uint32_t group, std::uint32_t count, Columns& columns) const {
#pragma unroll
    for (std::uint32_t n = 0; n < kTilesAtOnce; ++n)
#pragma unroll
      for (std::uint32_t c = 0; c < 4; ++c) {
        const std::uint32_t i = group * kWarpSize + column(n, c % 2);
        columns.starts[n][c] =
            i < count ? -memory_.bounds[memory_.listed[i]].least : -0x1p30F;  // never reached
      }
    const __half* numbers = memory_.query_tile + group * kWarpSize * kStride;
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (std::uint32_t n = 0; n < kTilesAtOnce / 2; ++n)
        columns.numbers[step][n].load(numbers +
                                      (n * 2 * kTileQueries + lane_ % 8 + lane_ / 16 * 8) * kStride +
                                      lane_ / 8 % 2 * 8 + step * kHalfStep);
  }

  __device__ void write_row_tile(std::uint32_t leaf, std::uint32_t first, std::uint32_t num_rows,
                                 __half* rows) const {
    const LeafColumns<T> columns = mirror_.columns<T>(leaf);
    for (std::uint32_t a = warp_ * 2; a < num_attributes_; a += kSweepWarps * 2) {
      const std::uint32_t b = min(a + 1, num_attributes_ - 1);  // if beyond the last, multiplied by 0
      const ValueOf<T> minima[2] = {memory_.minima[a], memory_.minima[b]};
      const float per_value[2] = {memory_.sides[a].per_value, memory_.sides[b].per_value};
#pragma unroll
      for (std::uint32_t part = 0; part < kRowsPerLane; ++part) {
        const std::uint32_t row = part * kWarpSize + lane_, position = min(row, num_rows - 1);
        const auto above = static_cast<float>(columns.value(a, first + position) - minima[0]);
        const auto next = static_cast<float>(columns.value(b, first + position) - minima[1]);
        *reinterpret_cast<__half2*>(rows + row * kStride + a) =
            __floats2half2_rn(fmaf(above, per_value[0], -0.5F), fmaf(next, per_value[1], -0.5F));
      }
    }
  }

  template <typename Use>
  __device__ void multiply(std::uint32_t l, std::uint32_t first, std::uint32_t num_rows, const Share& mine,
                           const Columns& columns, const __half* rows, Use&& offer) const {
    for (std::uint32_t row = mine.first * kTileRows; row < num_rows; row += mine.step * kTileRows) {
      __syncwarp();
      float sums[kTilesAtOnce][4];
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        HalfFragment numbers;
        numbers.load(rows + (row + lane_ % kTileRows) * kStride + lane_ / kTileRows * 8 + step * kHalfStep);
#pragma unroll
        for (std::uint32_t n = 0; n < kTilesAtOnce; ++n) {
          const std::uint32_t* of_query = columns.numbers[step][n / 2].words + n % 2 * 2;
          if (step == 0) {
            multiply_add(sums[n], numbers, of_query[0], of_query[1], columns.starts[n]);
          } else {
            multiply_add(sums[n], numbers, of_query[0], of_query[1], sums[n]);
          }
        }
      }
      unsigned below = 0xffffffff;
#pragma unroll
      for (std::uint32_t i = 0; i < kTilesAtOnce * 4; ++i) below &= __float_as_uint(sums[i / 4][i % 4]);
      if ((below & kSign) == 0) offer_all(l, first + row, num_rows - row, mine.group, sums, offer);
    }
  }

  // Offers the rows of those of the lane's sums that are not below 0.
  template <typename Use>
  __device__ void offer_all(std::uint32_t l, std::uint32_t first, std::uint32_t num_rows, std::uint32_t group,
                            const float (&sums)[kTilesAtOnce][4], Use&& offer) const {
#pragma unroll
    for (std::uint32_t i = 0; i < kTilesAtOnce * 4; ++i) {
      const std::uint32_t row = lane_ / 4 + i % 4 / 2 * 8, listed = group * kWarpSize + column(i / 4, i % 2);
      if ((__float_as_uint(sums[i / 4][i % 4]) & kSign) == 0 && row < num_rows &&
          listed < sweep_leaves().num_listed)
        offer(
            Offer{sweep_leaves().slots[l], static_cast<std::uint16_t>(first + row), memory_.listed[listed]});
    }
  }

  // The column, in the warp's group, of the lane's sums c and c + 2 of tile n.
  __device__ std::uint32_t column(std::uint32_t n, std::uint32_t c) const {
    return n * kTileQueries + lane_ % 4 * 2 + c;
  }

  const MirrorRef& mirror_;
  const SweepMemory<ValueOf<T>>& memory_;
  std::uint32_t num_attributes_, chunk_;
  std::uint32_t lane_ = threadIdx.x % kWarpSize, warp_ = threadIdx.x / kWarpSize;
};

}  // namespace culmen::gpu
