// BestCandidates: selects and sorts the best of a search's candidates on the device, if they are too many for the
// search's own kernel.
#pragma once

#include "gpu/search/search_state.h"
#include "select/workspace.h"

namespace culmen::gpu {

// More candidates cannot be selected from.
inline constexpr std::size_t kMaxCandidates = 0xfffffff0;

class BestCandidates {
 public:
  // Enqueues the selection; 1 <= k <= count <= kMaxCandidates. Returns where the k best will be, best first, until
  // the next call. Throws OutOfDeviceMemory and CudaError.
  const Candidate* choose(const Candidate* candidates, std::size_t count, std::size_t k, cudaStream_t stream);
  void trim() { *this = {}; }

 private:
  select::Workspace workspace_;
  cuda::Buffer<Candidate> best_;
};

}  // namespace culmen::gpu
