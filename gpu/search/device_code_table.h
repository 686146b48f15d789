// The codes of all rows of a tree in device memory (cpu/code_table.h). A search of the host asks it in one launch.
#pragma once

#include <memory>

#include "cpu/code_table.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// Reads every leaf, in the caller's arena, and copies its codes to the device. Throws OutOfDeviceMemory, CudaError, or what
// reading throws.
std::unique_ptr<cpu::CodeTable> make_code_table(const Snapshot& tree, int device);

}  // namespace culmen::gpu
