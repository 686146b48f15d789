#include "gpu/mirror/code_words.h"

#include "gpu/cuda/launch.h"
#include "index/bound_layout.h"
#include "index/leaf_codes.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;
constexpr auto kWordCodes = static_cast<std::uint32_t>(kCodesOfWord);

// A thread block for each leaf.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    write_codes(const std::uint32_t* slots, const SlotRows rows, const ValueOf<T>* zone_map,
                const LeafHeader* leaves, const CodeWords to) {
  const std::uint32_t leaf = slots[blockIdx.x];
  const auto num_attributes = static_cast<std::uint32_t>(rows.num_attributes);
  const std::uint32_t num_rows = min(leaves[leaf].num_rows, static_cast<std::uint32_t>(rows.leaf_rows));
  const LeafColumns<T> from = rows.columns<T>(leaf);
  const ValueOf<T>* zones = zone_map + std::size_t{leaf} * kZoneVectors * num_attributes;
  const ValueOf<T>* maxima = zones + static_cast<std::uint32_t>(Extreme::maximum) * num_attributes;
  const ValueOf<T>* minima = zones + static_cast<std::uint32_t>(Extreme::minimum) * num_attributes;
  std::uint32_t* words = to.words + std::size_t{leaf} * to.num_words * to.stride;
  for (std::uint32_t w = 0; w < to.num_words; ++w)
    for (std::uint32_t row = threadIdx.x; row < to.stride; row += kThreads) {
      const std::uint32_t of_row = min(row, num_rows - 1);
      std::uint32_t word = 0;
      for (std::uint32_t a = w * kWordCodes; a < min(num_attributes, (w + 1) * kWordCodes); ++a) {
        const auto minimum = static_cast<double>(minima[a]);
        const double steps_per_value = 1 / code_step(minimum, static_cast<double>(maxima[a]));
        const std::int32_t code =
            code_of(static_cast<double>(from.value(a, of_row)), minimum, steps_per_value);
        word |= static_cast<std::uint32_t>(code) << (4 * (a % kWordCodes));
      }
      words[w * to.stride + row] = word;
    }
}

}  // namespace

template <typename T>
void launch_write_codes(const std::uint32_t* slots, std::uint32_t num_leaves, const SlotRows& rows,
                        const ValueOf<T>* zone_map, const LeafHeader* leaves, const CodeWords& to,
                        cudaStream_t stream) {
  if (num_leaves == 0) return;
  cuda::launch(write_codes<T>, {.num_blocks = num_leaves, .num_threads = kThreads}, stream, slots, rows,
               zone_map, leaves, to);
}

template void launch_write_codes<float>(const std::uint32_t*, std::uint32_t, const SlotRows&, const float*,
                                        const LeafHeader*, const CodeWords&, cudaStream_t);
template void launch_write_codes<double>(const std::uint32_t*, std::uint32_t, const SlotRows&, const double*,
                                         const LeafHeader*, const CodeWords&, cudaStream_t);
template void launch_write_codes<Packed<float>>(const std::uint32_t*, std::uint32_t, const SlotRows&,
                                                const float*, const LeafHeader*, const CodeWords&,
                                                cudaStream_t);
template void launch_write_codes<Packed<double>>(const std::uint32_t*, std::uint32_t, const SlotRows&,
                                                 const double*, const LeafHeader*, const CodeWords&,
                                                 cudaStream_t);

}  // namespace culmen::gpu
