#include "select/sort.cuh"

#include "bench/select/methods.cuh"

namespace culmen::select {

CULMEN_INSTANTIATE_METHOD(CULMEN_RANKS, select_by_sort);

}  // namespace culmen::select
