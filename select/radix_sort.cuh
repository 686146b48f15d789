// Sorts ranks by CUB, best first.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include "select/workspace.h"

namespace culmen::select {

// A stable sort by the bits from first_bit on. Returns the one of the two arrays that has the result.
template <typename Rank>
Rank* radix_sort(Rank* ranks, Rank* others, std::size_t size, int first_bit, Workspace& workspace,
                 cudaStream_t stream) {
  cub::DoubleBuffer<Rank> keys(ranks, others);
  std::size_t num_bytes = 0;
  const auto sort = [&](void* scratch) {
    cuda::check(cub::DeviceRadixSort::SortKeysDescending(scratch, num_bytes, keys, size, first_bit,
                                                         static_cast<int>(8 * sizeof(Rank)), stream));
  };
  sort(nullptr);
  cuda::grow(workspace.scratch, num_bytes, cuda::Memory::device);
  sort(workspace.scratch.data());
  return keys.Current();
}

}  // namespace culmen::select
