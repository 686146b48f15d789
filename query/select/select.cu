#include "query/select/select.h"

#include <algorithm>

#include "culmen/error.h"
#include "query/cuda/limits.h"
#include "query/select/methods.cuh"
#include "query/select/radix_sort.cuh"

namespace culmen::select {
namespace {

// From this part of all rows on a sort of everything is the better way: its passes do not grow with k.
constexpr std::uint32_t kSortedShare = 4;

Method fastest(std::uint32_t num_rows, std::uint32_t k) {
  return k > kBlockSorted && k > num_rows / kSortedShare ? Method::sort : Method::sample;
}

// Returns the ranks if they are still to be written as rows, best first.
template <typename Source>
const typename Source::Rank* run(Method method, const Source& source,
                                 const Selection<typename Source::Rank>& selection) {
  switch (method) {
    case Method::fastest:
      return run(fastest(selection.num_rows, selection.k), source, selection);
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
  if (writes_rows(selection.k)) return nullptr;
  auto* ranks = selection.taken.ranks;
  return radix_sort(ranks, ranks + selection.k, selection.k, 0, selection.workspace, selection.stream);
}

template <typename Source>
__global__ void __launch_bounds__(kThreads)
    write_rows(const Source source, const typename Source::Rank* ranks, std::uint32_t num_ranks,
               std::uint32_t k, SelectedRow* rows) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < k) write_row(source, i < num_ranks ? ranks[i] : 0, rows[i]);
}

template <typename Source>
const SelectedRow* select_from(Method method, const Source& source, std::uint32_t num_rows, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream) {
  using Rank = typename Source::Rank;
  require_rows(num_rows, k);
  cuda::grow(workspace.counters, sizeof(Counters), cuda::Memory::device);
  cuda::grow(workspace.taken, std::size_t{2} * std::max(k, kBlockSorted) * sizeof(Rank),
             cuda::Memory::device);
  cuda::grow(workspace.rows, k, cuda::Memory::device);
  auto* counters = reinterpret_cast<Counters*>(workspace.counters.data());
  const Taken<Rank> taken = {reinterpret_cast<Rank*>(workspace.taken.data()), workspace.rows.data()};
  cuda::check(cudaMemsetAsync(counters, 0, sizeof(Counters), stream));
  if (!writes_rows(k)) cuda::check(cudaMemsetAsync(taken.ranks, 0, k * sizeof(Rank), stream));
  const Rank* best = run(method, source, Selection<Rank>{k, num_rows, counters, taken, workspace, stream});
  if (best != nullptr)
    cuda::launch(write_rows<Source>, {.num_blocks = (k - 1) / kThreads + 1, .num_threads = kThreads}, stream,
                 source, best, std::min(k, num_rows), k, workspace.rows.data());
  return workspace.rows.data();
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

// How many blocks a cooperative kernel may have on the current device.
unsigned num_blocks_of_grid() {
  int device = 0;
  cuda::check(cudaGetDevice(&device));
  return cuda::num_multiprocessors_of(device) * kBlocksPerMultiprocessor;
}

const SelectedRow* select_best(Method method, const KeyColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream) {
  return std::visit(
      [&](const auto& source) { return select_from(method, source, columns.num_rows, k, workspace, stream); },
      source_of(columns));
}

const SelectedRow* select_best(Method method, const ScoredColumns& columns, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream) {
  return select_from(method, source_of(columns), columns.num_rows, k, workspace, stream);
}

}  // namespace culmen::select
