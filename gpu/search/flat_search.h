// FlatSearch: batches of weights on the host, which have all else in common, and their answers in flat arrays on the
// host. Weights and answers cross the bus as they are; the device plans the queries (async_search.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "culmen/search.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/async_search.h"
#include "gpu/search/idle_pool.h"
#include "query/watch.h"

namespace culmen::gpu {

class FlatSearch {
 public:
  FlatSearch(int device, const AsyncSearch& async);
  ~FlatSearch();

  // Returns the arrays for answers, with room for k or more for each query. Called once, when the device is at work: to
  // allocate and fill them takes a while.
  using Answers = std::function<AnswerArrays()>;

  // The batch is not scaled, k is 1 .. kMaxDeviceK, and the version has that many rows. Writes the answers of the batch's
  // queries from query `first` of the arrays on. Returns a query that Index::search would refuse, if there is one; answers
  // of others may be missing then. On the current device. Throws InvalidArgument for the filter and min_score,
  // OutOfDeviceMemory or CudaError, and what answers() throws. Looks at `watch`, if it is not null, for each part of the batch. shared_bounds: as in BatchRef, of all queries.
  std::optional<std::size_t> search(const MirrorView& view, const QueryBatch& batch, std::size_t k,
                                    std::size_t first, const Answers& answers, double* shared_bounds,
                                    Watch* watch) const;

 private:
  class Space;

  int device_;
  const AsyncSearch& async_;
  mutable IdlePool<Space> spaces_;
};

}  // namespace culmen::gpu
