// Direct paths between devices.
#pragma once

namespace culmen::cuda {

// Lets `device` read and write the memory of `other` directly, if there is a path between them; without, copies go
// through the host. Throws CudaError.
void open_path(int device, int other);

}  // namespace culmen::cuda
