// The selection that culmen's own searches use: the k best of 64-bit keys on a GPU by Method::fastest. All methods,
// for keys of all kinds, are in select/select.h.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "select/columns.h"
#include "select/workspace.h"

namespace culmen::select {

// As select_best(Method::fastest, ..) does. Throws InvalidArgument also for keys of 32 bits.
const SelectedRow* select_fastest(const KeyColumns& columns, std::uint32_t k, Workspace& workspace,
                                  cudaStream_t stream);

}  // namespace culmen::select
