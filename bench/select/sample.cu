#include "select/sample.cuh"

#include "bench/select/methods.cuh"

namespace culmen::select {

CULMEN_INSTANTIATE_METHOD(CULMEN_NO_RANKS, select_by_sample);

}  // namespace culmen::select
