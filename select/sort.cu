#include "select/sort.cuh"

namespace culmen::select {

CULMEN_INSTANTIATE_METHOD(CULMEN_RANKS, select_by_sort);

}  // namespace culmen::select
