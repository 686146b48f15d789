// k-selection on a GPU: the k best of many 64-bit keys, best first, equal keys by smaller id. Other methods, for keys
// of all kinds, are in bench/select.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "select/source.h"
#include "select/workspace.h"

namespace culmen::select {

// Enqueues the selection of the k best rows, and returns where they will be on the device, best first. If there are
// fewer than k rows, the rest have the id kNoRow. At least one row; k >= 1. Throws OutOfDeviceMemory and CudaError.
const SelectedRow* select_fastest(const Keys64Ids& source, std::uint32_t k, Workspace& workspace,
                                  cudaStream_t stream);

}  // namespace culmen::select
