// k-selection on the GPU: the k best of many keys, best first, equal keys by smaller id. Every method finds
// the same rows.
//
//   sample    a k-th score bound from a sample, one pass that keeps what reaches it, then radix select among the few
//             that did (the idea of SampleSelect, Ribizel and Anzt 2020, with an exact end). Reads the input
//             once, whatever its order
//   radix8,   radix select (Alabi et al. 2012; all passes in one kernel as in AIR Top-K, Zhang et al. 2023),
//   radix11   by digits of 8 or 11 bits: reads the input once a digit until what is left is exact
//   bucket    bucket select (Alabi et al. 2012): 2,048 even buckets between minimum and maximum, again and
//             again
//   bitonic   bitonic top-k (Shanbhag, Pirk, Madden 2018): sorted runs of k, of each two the better half;
//             in registers for k up to 2,048 (4,096 if ranks have 64 bits)
//   heaps     a heap of k for each thread, then radix select among them: for small k only
//   sort      radix sort of everything (CUB), the baseline
//   network   a bitonic sorting network over everything, one pass over memory a step (Govindaraju et al.
//             2005, without rasterisation), the historical baseline
//   fastest   sample, or sort where k is a large part of everything
//
// Memory on the card: `sample` some MB, `bitonic` too for k up to 2,048, radix and bucket 24 or 32 bytes for
// each of the k, the others up to twice the ranks of all rows (16 or 32 bytes a row).
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "bench/select/columns.h"
#include "select/workspace.h"

namespace culmen::select {

enum class Method : std::uint8_t { fastest, sample, radix8, radix11, bucket, bitonic, heaps, sort, network };
inline constexpr std::array kAllMethods = {Method::fastest, Method::sample, Method::radix8,
                                           Method::radix11, Method::bucket, Method::bitonic,
                                           Method::heaps,   Method::sort,   Method::network};
std::string_view method_name(Method method);

// Enqueues the selection of the k best rows and returns where they will be on the card: best first; if filter
// or num_rows leave fewer than k, the places behind them have id kNoRow. Throws InvalidArgument (k or
// num_rows is 0, a type of the wrong size), OutOfDeviceMemory and CudaError. `scratch` of the workspace may
// be asked of the allocator, so the first call of a size takes longer.
const SelectedRow* select_best(Method method, const KeyColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream);
const SelectedRow* select_best(Method method, const ScoredColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream);

}  // namespace culmen::select
