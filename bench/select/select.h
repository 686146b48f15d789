// k-selection on the GPU: the k best of many keys, best first, equal keys by smaller id. All methods find the same rows.
//
//   sample    a bound on the k-th key from a sample, one pass that keeps the rows that reach it, then radix select among
//             these (the idea of SampleSelect, Ribizel and Anzt 2020, made exact). Reads the input once, in any order
//   radix8,   radix select (Alabi et al. 2012; all passes in one kernel as in AIR Top-K, Zhang et al. 2023), by digits
//   radix11   of 8 or 11 bits: reads the input once per digit
//   bucket    bucket select (Alabi et al. 2012): 2,048 equal buckets between minimum and maximum, repeated within the
//             bucket of the k-th
//   bitonic   bitonic top-k (Shanbhag, Pirk, Madden 2018): sorts runs of k and keeps the better half of each pair; in
//             registers for k up to 2,048 (4,096 if ranks have 64 bits)
//   heaps     a heap of k per thread, then radix select among all heaps: for small k only
//   sort      radix sort of all rows (CUB), the baseline
//   network   a bitonic sorting network over all rows, one pass over memory per step (Govindaraju et al. 2005, without
//             rasterisation), the historical baseline
//   fastest   sort if k is a large part of all rows, otherwise sample
//
// Device memory: some MB for `sample`, and for `bitonic` with k up to 2,048; 24 or 32 bytes times k for radix and bucket;
// for the others up to twice the ranks of all rows (16 or 32 bytes per row).
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

// Enqueues the selection of the k best rows and returns the device address of the result: best first, padded with the
// id kNoRow if fewer than k rows pass the filter. Throws InvalidArgument (k or num_rows is 0, a type of the wrong size),
// OutOfDeviceMemory and CudaError. The first call of a size may allocate the workspace's scratch memory.
const SelectedRow* select_best(Method method, const KeyColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream);
const SelectedRow* select_best(Method method, const ScoredColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream);

}  // namespace culmen::select
