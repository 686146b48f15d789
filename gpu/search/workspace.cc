#include "gpu/search/workspace.h"

#include <algorithm>
#include <atomic>

#include "culmen/error.h"
#include "gpu/search/pack_functions.h"
#include "gpu/search/pack_query.h"

namespace culmen::gpu {

Workspace::Workspace(const cuda::Limits& limits)
    : counters_(1),
      seed_keys_(num_seeds(limits)),
      seed_counts_(num_seeds(limits)),
      seed_rows_(num_seeds(limits)),
      result_(1, cuda::Memory::pinned),
      batch_counters_(1) {
  *result_.data() = {};
  cuda::check(cudaMemsetAsync(counters_.data(), 0, sizeof(Counters), stream_.get()));
}

Workspace::~Workspace() {
  cudaStreamSynchronize(stream_.get());
}

void Workspace::reserve(std::size_t k, std::size_t num_candidates, std::size_t num_bounds_outside) {
  cuda::grow(hits_, std::min<std::size_t>(k, kMaxSortedHits), cuda::Memory::pinned);
  cuda::grow(candidates_, std::min(num_candidates, kMaxCandidates), cuda::Memory::device);
  cuda::grow(outside_, num_bounds_outside, cuda::Memory::device);
}

const std::byte* Workspace::send_parts(std::span<const std::byte> parts) {
  if (parts.empty()) return nullptr;
  cuda::grow(parts_, parts.size(), cuda::Memory::device);
  cuda::check(
      cudaMemcpyAsync(parts_.data(), parts.data(), parts.size(), cudaMemcpyHostToDevice, stream_.get()));
  return parts_.data();
}

QueryArgument Workspace::argument(const ResolvedQuery& query, std::span<const std::byte> parts) {
  const std::byte* on_device = send_parts(parts);
  QueryArgument argument;  // NOLINT(cppcoreguidelines-pro-type-member-init): pack_query writes what is read
  argument.outside = nullptr;
  if (!needs_functions(query) && packed_bytes_of(query) <= QueryArgument::kInside) {
    pack_query(query, argument.inside, on_device);
    return argument;
  }
  std::vector<std::uint64_t> packed(packed_bytes_of(query) / sizeof(std::uint64_t));  // aligned to 8
  pack_query(query, reinterpret_cast<std::byte*>(packed.data()), on_device);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(packed));
  cuda::grow(query_, std::max(bytes.size(), kMaxSharedQueryBytes), cuda::Memory::device);
  cuda::check(
      cudaMemcpyAsync(query_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_.get()));
  argument.outside = query_.data();
  return argument;
}

Workspace::Batch& Workspace::reserve_batch(std::size_t query_bytes, std::size_t num_hits,
                                           std::size_t num_queries, std::size_t sweep_bytes) {
  cuda::grow(batch_.packed, query_bytes, cuda::Memory::pinned);
  cuda::grow(batch_.queries, query_bytes, cuda::Memory::device);
  cuda::grow(batch_.sweep, sweep_bytes, cuda::Memory::device);
  cuda::grow(batch_.hits, num_hits, cuda::Memory::pinned);
  cuda::grow(batch_.work, num_queries, cuda::Memory::pinned);
  return batch_;
}

void Workspace::trim() {
  if (candidates_.size() <= kUsualCandidates) return;
  candidates_ = {};
  best_candidates_.trim();
}

SearchStateRef Workspace::next(std::uint32_t k, KthBound kth_bound) {
  return {counters_.data(),   seed_keys_.data(),  seed_counts_.data(), seed_rows_.data(),
          outside_.data(),    candidates_.data(), result_.data(),      hits_.data(),
          candidates_.size(), ++sequence_,        kth_bound,           k};
}

// The kernel writes the sequence number last. Polling it saves the microseconds that a synchronisation takes.
bool Workspace::has_ended() const {
  if (*const_cast<const volatile std::uint64_t*>(&result_.data()->sequence) != sequence_) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

bool Workspace::is_idle() const {
  const cudaError_t status = cudaStreamQuery(stream_.get());
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // it is no error, and the caller's next check must not take it for one
    return false;
  }
  cuda::check(status);
  return true;
}

const ResultHeader& Workspace::wait() {
  for (unsigned polls = 1; !has_ended(); ++polls)
    if (polls % kPollsPerLook == 0 && is_idle() && !has_ended())
      throw CudaError("CUDA: a search ended without a result");
  return *result_.data();
}

std::vector<Candidate> Workspace::download(const Candidate* from, std::size_t count) const {
  std::vector<Candidate> candidates(count);
  cuda::check(cudaMemcpyAsync(candidates.data(), from, count * sizeof(Candidate), cudaMemcpyDeviceToHost,
                              stream_.get()));
  stream_.synchronize();
  return candidates;
}

std::vector<Candidate> Workspace::best_candidates(std::size_t count, std::size_t k) {
  return download(best_candidates_.choose(candidates_.data(), count, k, stream_.get()), k);
}

Candidate Workspace::kth_candidate(std::size_t count, std::size_t k) {
  return download(best_candidates_.choose(candidates_.data(), count, k, stream_.get()) + (k - 1), 1).front();
}

BatchCounters* Workspace::batch_counters() const {
  cuda::check(cudaMemsetAsync(batch_counters_.data(), 0, sizeof(BatchCounters), stream_.get()));
  return batch_counters_.data();
}

std::unique_ptr<Workspace> WorkspacePool::take() {
  std::unique_ptr<Workspace> workspace = idle_.take();
  return workspace != nullptr ? std::move(workspace) : std::make_unique<Workspace>(limits_);
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> workspace) {
  workspace->trim();
  idle_.give_back(std::move(workspace));
}

}  // namespace culmen::gpu
