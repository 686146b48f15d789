// k-selection on the GPU: the k best of many keys, best first, equal keys by smaller id. Every method finds
// the same rows.
//
//   sample    a floor from a sample, one pass that keeps what reaches it, then radix select among the few
//             that did (the idea of SampleSelect, Ribizel and Anzt 2020, with an exact end). Reads the input
//             once, whatever its order
//   radix8,   radix select (Alabi et al. 2012; all passes in one kernel as in AIR Top-K, Zhang et al. 2023),
//   radix11   by digits of 8 or 11 bits: reads the input once a digit until what is left is exact
//   bucket    bucket select (Alabi et al. 2012): 2,048 even buckets between minimum and maximum, again and
//             again
//   bitonic   bitonic top-k (Shanbhag, Pirk, Madden 2018): sorted runs of k, of each two the better half
//   heaps     a heap of k for each thread, then radix select among them: for small k only
//   sort      radix sort of everything (CUB), the baseline
//   network   a bitonic sorting network over everything, one pass over memory a step (Govindaraju et al.
//             2005, without rasterisation), the historical baseline
//   fastest   sample, or sort where k is a large part of everything
//
// Memory on the card: `sample` some MB, radix and bucket 24 or 32 bytes for each of the k, the others up to
// twice the ranks of all rows (16 or 32 bytes a row).
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "query/cuda/buffer.h"
#include "query/select/rank.h"

namespace culmen::select {

enum class Method : std::uint8_t { fastest, sample, radix8, radix11, bucket, bitonic, heaps, sort, network };
inline constexpr std::array kAllMethods = {Method::fastest, Method::sample, Method::radix8,
                                           Method::radix11, Method::bucket, Method::bitonic,
                                           Method::heaps,   Method::sort,   Method::network};
std::string_view method_name(Method method);

// Arrays on the card, all of num_rows < 2^32 - 1 values.
struct KeyColumns {
  KeyType type = KeyType::float32;
  const void* keys = nullptr;
  // Keys that decide between equal first ones, or null. Both then have 32 bits.
  KeyType second_type = KeyType::float32;
  const void* second_keys = nullptr;
  const std::int64_t* ids = nullptr;  // all different, none the largest there is; null: a row's own number
  std::uint32_t num_rows = 0;
};

inline constexpr int kMaxScoredColumns = 16;

// Keys made on the fly: score = fma(weights[c], values[c][row], ...) in float64, in the order of the columns.
struct ScoredColumns {
  const float* values[kMaxScoredColumns] = {};
  double weights[kMaxScoredColumns] = {};
  int num_columns = 0;
  // Only rows with lowest <= filter[row] <= highest; null: all.
  const float* filter = nullptr;
  float lowest = 0, highest = 0;
  std::uint32_t num_rows = 0;
};

// The bits of a key fill the lower part. -0 comes back as 0, NaN with all bits but the sign.
struct SelectedRow {
  std::uint64_t key;
  std::uint64_t second_key;
  std::int64_t id;
};

// What a selection needs on the card; it grows and stays. One selection at a time, on one stream.
struct Workspace {
  cuda::Buffer<std::byte> counters, ranks, more_ranks, taken, scratch;
  cuda::Buffer<SelectedRow> rows;
};

// Enqueues the selection of the k best rows and returns where they will be on the card: best first; if filter
// or num_rows leave fewer than k, the places behind them have id kNoRow. Throws InvalidArgument (k or
// num_rows is 0, a type of the wrong size), OutOfDeviceMemory and CudaError. `scratch` of the workspace may
// be asked of the allocator, so the first call of a size takes longer.
inline constexpr std::int64_t kNoRow = 0x7fffffffffffffff;
const SelectedRow* select_best(Method method, const KeyColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream);
const SelectedRow* select_best(Method method, const ScoredColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream);

}  // namespace culmen::select
