// CULMEN_HOST_DEVICE: marks a function that host and device run alike.
#pragma once

#ifdef __CUDACC__
#define CULMEN_HOST_DEVICE __host__ __device__
#else
#define CULMEN_HOST_DEVICE
#endif
