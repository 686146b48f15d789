#include "query/gpu/workspace.h"

#include <algorithm>
#include <atomic>

#include "culmen/error.h"

namespace culmen::gpu {

Workspace::Workspace(const Grid& grid)
    : counters_(1), published_(num_published(grid)), result_(1, cuda::Memory::pinned) {
  *result_.data() = {};
  clear_counters();
}

void Workspace::reserve(std::size_t k, std::size_t num_candidates) {
  const std::size_t sorted = std::min<std::size_t>(k, kMaxSortedHits);
  if (hits_.size() < sorted) hits_ = cuda::Buffer<Candidate>(sorted, cuda::Memory::pinned);
  if (candidates_.size() < num_candidates) {
    candidates_ = {};  // before the new one is asked for
    candidates_ = cuda::Buffer<Candidate>(num_candidates);
  }
}

SearchStateRef Workspace::next(std::uint32_t k, Floor floor) {
  return {counters_.data(),
          published_.data(),
          candidates_.data(),
          result_.data(),
          hits_.data(),
          candidates_.size(),
          ++sequence_,
          floor,
          k};
}

// The kernel writes the sequence number last. Polling it saves the microseconds that a synchronisation takes.
const ResultHeader& Workspace::wait() {
  constexpr int kPollsPerQuery = 2000;
  const auto* sequence = const_cast<const volatile std::uint64_t*>(&result_.data()->sequence);
  for (int polls = 1; *sequence != sequence_; ++polls) {
    if (polls % kPollsPerQuery != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream_.get());
    if (status == cudaErrorNotReady) continue;
    cuda::check(status);
    if (*sequence != sequence_) throw CudaError("CUDA: a search ended without a result");
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  return *result_.data();
}

std::vector<Candidate> Workspace::download_candidates(std::size_t count) const {
  std::vector<Candidate> candidates(count);
  cuda::check(cudaMemcpyAsync(candidates.data(), candidates_.data(), count * sizeof(Candidate),
                              cudaMemcpyDeviceToHost, stream_.get()));
  stream_.synchronize();
  return candidates;
}

void Workspace::clear_counters() {
  cuda::check(cudaMemsetAsync(counters_.data(), 0, sizeof(Counters), stream_.get()));
}

std::unique_ptr<Workspace> WorkspacePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(idle_.back());
      idle_.pop_back();
      return workspace;
    }
  }
  return std::make_unique<Workspace>(grid_);
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> workspace) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(workspace));
}

}  // namespace culmen::gpu
