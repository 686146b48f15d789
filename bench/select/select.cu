#include "bench/select/select.h"

#include "bench/select/methods.cuh"
#include "select/selected_rows.cuh"

namespace culmen::select {
namespace {

// Returns the ranks if they are still to be written as rows, best first.
template <typename Source>
const typename Source::Rank* run(Method method, const Source& source,
                                 const Selection<typename Source::Rank>& selection) {
  switch (method) {
    case Method::fastest:
      return run(sort_is_fastest(selection) ? Method::sort : Method::sample, source, selection);
    case Method::bitonic:
      return select_by_bitonic(source, selection);
    case Method::sort:
      return select_by_sort(source, selection);
    case Method::network:
      return select_by_network(source, selection);
    case Method::sample:
      select_by_sample(source, selection);
      break;
    case Method::radix8:
      select_by_radix8(source, selection);
      break;
    case Method::radix11:
      select_by_radix11(source, selection);
      break;
    case Method::bucket:
      select_by_buckets(source, selection);
      break;
    case Method::heaps:
      select_by_heaps(source, selection);
      break;
  }
  return sorted_if_many(selection);
}

}  // namespace

std::string_view method_name(Method method) {
  switch (method) {
    case Method::fastest:
      return "fastest";
    case Method::sample:
      return "sample";
    case Method::radix8:
      return "radix8";
    case Method::radix11:
      return "radix11";
    case Method::bucket:
      return "bucket";
    case Method::bitonic:
      return "bitonic";
    case Method::heaps:
      return "heaps";
    case Method::sort:
      return "sort";
    case Method::network:
      return "network";
  }
  return "";
}

const SelectedRow* select_best(Method method, const KeyColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream) {
  require_rows(columns.num_rows, k);
  return std::visit(
      [&](const auto& source) {
        return select_from(source, columns.num_rows, k, workspace, stream,
                           [&](const auto& selection) { return run(method, source, selection); });
      },
      source_of(columns));
}

const SelectedRow* select_best(Method method, const ScoredColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream) {
  require_rows(columns.num_rows, k);
  const Scores source = source_of(columns);
  return select_from(source, columns.num_rows, k, workspace, stream,
                     [&](const auto& selection) { return run(method, source, selection); });
}

}  // namespace culmen::select
