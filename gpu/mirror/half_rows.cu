#include "gpu/mirror/half_rows.h"

#include "gpu/cuda/half.cuh"
#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kWarps = 8;
// Numbers of a row that a lane writes at once.
constexpr std::uint32_t kAtOnce = 8;

struct Squares {
  double norm = 0, loss = 0, length = 0;

  __device__ void add(const Squares& other) {
    norm += other.norm;
    loss += other.loss;
    length += other.length;
  }
};

// A thread block for each leaf; a lane for each row.
template <typename T>
__global__ void __launch_bounds__(kLanes* kWarps)
    write_half_rows(const std::uint32_t* slots, const SlotRows from, const LeafHeader* leaves,
                    const HalfRows to) {
  __shared__ Squares of_warps[kWarps][kLanes];
  const std::uint32_t leaf = slots[blockIdx.x], lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const auto num_attributes = static_cast<std::uint32_t>(from.num_attributes);
  const auto leaf_rows = static_cast<std::uint32_t>(from.leaf_rows);
  const std::uint32_t num_rows = min(leaves[leaf].num_rows, leaf_rows);
  const LeafColumns<T> columns = from.columns<T>(leaf);
  Half* rows = to.rows + std::size_t{leaf} * leaf_rows * to.stride;
  HalfLeaf largest = {};
  for (std::uint32_t first = 0; first < num_rows; first += kLanes) {
    const std::uint32_t row = min(first + lane, num_rows - 1);
    Squares squares;
    for (std::uint32_t a = warp * kAtOnce; a < to.stride; a += kWarps * kAtOnce) {
      alignas(16) __half numbers[kAtOnce];
#pragma unroll
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        numbers[i] = __float2half_rn(0);
        if (a + i >= num_attributes) continue;
        const HalfUnit unit = to.units[a + i];
        const double above = static_cast<double>(columns.value(a + i, row)) - unit.origin;
        const double number = above * unit.inverse, in_largest = above / to.largest_unit;
        numbers[i] = __float2half_rn(static_cast<float>(number));
        const double lost = number - static_cast<double>(__half2float(numbers[i]));
        squares.add({number * number, lost * lost, in_largest * in_largest});
      }
      if (first + lane < num_rows)
        *reinterpret_cast<uint4*>(rows + std::size_t{row} * to.stride + a) =
            *reinterpret_cast<const uint4*>(numbers);
    }
    of_warps[warp][lane] = squares;
    __syncthreads();
    if (warp == 0) {
      for (unsigned w = 1; w < kWarps; ++w) squares.add(of_warps[w][lane]);
      largest = {fmaxf(largest.norm, length_above(squares.norm)),
                 fmaxf(largest.loss, length_above(squares.loss)),
                 fmaxf(largest.length, length_above(squares.length)), 0};
    }
    __syncthreads();
  }
  if (warp != 0) return;
  for (unsigned offset = kLanes / 2; offset > 0; offset /= 2) {
    const auto with = [offset](float mine) { return fmaxf(mine, __shfl_xor_sync(0xffffffff, mine, offset)); };
    largest = {with(largest.norm), with(largest.loss), with(largest.length), 0};
  }
  if (lane == 0) to.leaves[leaf] = largest;
}

}  // namespace

template <typename T>
void launch_write_half_rows(const std::uint32_t* slots, std::uint32_t num_leaves, const SlotRows& from,
                            const LeafHeader* leaves, const HalfRows& to, cudaStream_t stream) {
  if (num_leaves == 0) return;
  cuda::launch(write_half_rows<T>, {.num_blocks = num_leaves, .num_threads = kLanes * kWarps}, stream, slots,
               from, leaves, to);
}

template void launch_write_half_rows<float>(const std::uint32_t*, std::uint32_t, const SlotRows&,
                                            const LeafHeader*, const HalfRows&, cudaStream_t);
template void launch_write_half_rows<double>(const std::uint32_t*, std::uint32_t, const SlotRows&,
                                             const LeafHeader*, const HalfRows&, cudaStream_t);
template void launch_write_half_rows<Packed<float>>(const std::uint32_t*, std::uint32_t, const SlotRows&,
                                                    const LeafHeader*, const HalfRows&, cudaStream_t);
template void launch_write_half_rows<Packed<double>>(const std::uint32_t*, std::uint32_t, const SlotRows&,
                                                     const LeafHeader*, const HalfRows&, cudaStream_t);

}  // namespace culmen::gpu
