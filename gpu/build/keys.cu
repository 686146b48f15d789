#include "gpu/build/chunk_values.cuh"
#include "gpu/build/key_rule.h"
#include "gpu/build/scaled_row.cuh"
#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;

// value(i): attribute i as stored.
template <typename Value>
__device__ std::uint32_t find_partition(const ScaledRow& scaled, const Value& value, std::uint64_t row,
                                        const KeyRule& rule) {
  // The product does not overflow: such a table would exceed any memory.
  if (rule.is_random) return static_cast<std::uint32_t>(row * rule.num_partitions / rule.num_rows);
  std::uint32_t partition = 0;
  for (std::uint32_t n = 0; n < rule.num_levels; ++n) {
    const PartitionLevel& level = rule.levels[n];
    const bool has_own = level.coordinate == kOwnCoordinate;
    const Coordinate own =
        has_own ? rule.own_coordinates[level.first_cut + level.cuts_of(partition)] : Coordinate{0};
    const Quotient at =
        quotient_at(level, own, rule.scale, value, [&]() -> const ScaledRow& { return scaled; });
    partition = refined(partition, level, rule.cuts + level.first_cut, at.upper, at.lower);
  }
  return partition;
}

// The lanes of a warp with the same partition use one atomic: in tables full of ties there are many.
__device__ void count(std::uint64_t* counts, std::uint32_t partition) {
  const unsigned alike = __match_any_sync(__activemask(), partition);
  if (__ffs(static_cast<int>(alike)) - 1 == static_cast<int>(threadIdx.x % 32))
    atomicAdd(reinterpret_cast<unsigned long long*>(counts) + partition,
              static_cast<unsigned long long>(__popc(alike)));
}

// A thread for each row.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    write_keys(const __grid_constant__ TableChunk chunk, const __grid_constant__ KeyRule rule, OrderKey* keys,
               std::uint64_t* counts) {
  const std::uint32_t row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= chunk.num_rows) return;
  ScaledRow scaled;
  const auto value = [&](int i) { return stored_value<T>(chunk.columns[i], row); };
  read_row(chunk.num_columns, rule.scale, value, scaled);
  const std::uint32_t partition = find_partition(scaled, value, chunk.first_row + row, rule);
  const auto width = static_cast<double>(chunk.num_columns);
  const double first = rule.is_by_sum ? mean_in_order(scaled.whole, width) : scaled.largest;
  keys[row] = key_in(partition, pack_order(first, scaled.sum / width));
  if (counts != nullptr) count(counts, partition);
}

}  // namespace

template <typename T>
void launch_keys(const TableChunk& chunk, const KeyRule& rule, OrderKey* keys, std::uint64_t* counts,
                 cudaStream_t stream) {
  const unsigned num_blocks = (chunk.num_rows + kThreads - 1) / kThreads;
  cuda::launch(write_keys<T>, {.num_blocks = num_blocks, .num_threads = kThreads}, stream, chunk, rule, keys,
               counts);
}

template void launch_keys<float>(const TableChunk&, const KeyRule&, OrderKey*, std::uint64_t*, cudaStream_t);
template void launch_keys<double>(const TableChunk&, const KeyRule&, OrderKey*, std::uint64_t*, cudaStream_t);

}  // namespace culmen::gpu
