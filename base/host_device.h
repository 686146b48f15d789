// CULMEN_HOST_DEVICE: marks a function that is compiled for host and device.
#pragma once

#ifdef __CUDACC__
#define CULMEN_HOST_DEVICE __host__ __device__
#else
#define CULMEN_HOST_DEVICE
#endif
