#include "select/fastest.h"

#include "select/sample.cuh"
#include "select/selected_rows.cuh"
#include "select/sort.cuh"

namespace culmen::select {

const SelectedRow* select_fastest(const Keys64Ids& source, std::uint32_t k, Workspace& workspace,
                                  cudaStream_t stream) {
  return select_from(source, source.num_rows, k, workspace, stream,
                     [&](const Selection<Keys64Ids::Rank>& selection) {
                       if (sort_is_fastest(selection)) return select_by_sort(source, selection);
                       select_by_sample(source, selection);
                       return sorted_if_many(selection);
                     });
}

}  // namespace culmen::select
