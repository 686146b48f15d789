// Workspace: the stream and the scratch memory of one search at a time. WorkspacePool: those of an index.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "culmen/search.h"
#include "gpu/cuda/buffer.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/best_candidates.h"
#include "gpu/search/engines.h"
#include "gpu/search/idle_pool.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

// The candidate list of a usual search; more candidates cost a second pass.
inline constexpr std::size_t kUsualCandidates = 1 << 20;

// Looks for the end of a search until the stream is asked for errors once.
inline constexpr unsigned kPollsPerLook = 1 << 16;

inline Hit to_hit(const Candidate& candidate, const MirrorVersion& mirror) {
  return {candidate.id, candidate.score, mirror.host_row(candidate.row)};
}

class Workspace {
 public:
  explicit Workspace(const cuda::Limits& limits);
  ~Workspace();  // waits for what a failed search may have enqueued
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Makes room for a search for the k best, with up to `num_candidates` candidates, that keeps so many bounds outside
  // of shared memory (GridPlan). Throws OutOfDeviceMemory.
  void reserve(std::size_t k, std::size_t num_candidates, std::size_t num_bounds_outside);

  // The query as a kernel's argument, with these parts (PackedHeader::parts). Enqueues their copy to the device, and that of a
  // query that is too large for a parameter or has functions.
  QueryArgument argument(const ResolvedQuery& query, std::span<const std::byte> parts);
  // Enqueues the copy of parts of queries, one after the other, to the device, and returns their address.
  const std::byte* send_parts(std::span<const std::byte> parts);

  // The state of the next search.
  SearchStateRef next(std::uint32_t k, KthBound kth_bound);
  // Waits for the search that next() began. Throws CudaError.
  const ResultHeader& wait();
  // Whether it has ended.
  bool has_ended() const;
  // Whether all that was enqueued has ended. Throws CudaError if something has failed.
  bool is_idle() const;

  // The hits of the search that was waited for.
  const Candidate* hits() const { return hits_.data(); }
  // The k best of its candidates, `count` of which have found room; k <= count.
  std::vector<Candidate> best_candidates(std::size_t count, std::size_t k);
  Candidate kth_candidate(std::size_t count, std::size_t k);

  // A batch's queries on the host and on the device, and its hits and its work in pinned host memory; device memory for
  // its sweep. Throws OutOfDeviceMemory.
  struct Batch {
    cuda::Buffer<std::byte> packed, queries, sweep;
    cuda::Buffer<Candidate> hits;
    cuda::Buffer<ResultHeader> work;
  };
  Batch& reserve_batch(std::size_t query_bytes, std::size_t num_hits, std::size_t num_queries,
                       std::size_t sweep_bytes);

  // Enqueues their clearing.
  BatchCounters* batch_counters() const;
  // Frees what only an unusually large search needs.
  void trim();
  const cuda::Stream& stream() const { return stream_; }

 private:
  std::vector<Candidate> download(const Candidate* from, std::size_t count) const;

  cuda::Stream stream_;
  cuda::Buffer<Counters> counters_;
  cuda::Buffer<std::uint32_t> seed_keys_, seed_counts_;
  cuda::Buffer<SeedRow> seed_rows_;
  cuda::Buffer<double> outside_;
  cuda::Buffer<Candidate> candidates_;
  BestCandidates best_candidates_;
  cuda::Buffer<ResultHeader> result_;
  cuda::Buffer<Candidate> hits_;
  cuda::Buffer<std::byte> query_;  // allocated for the first large one
  cuda::Buffer<std::byte> parts_;
  cuda::Buffer<BatchCounters> batch_counters_;
  Batch batch_;
  std::uint64_t sequence_ = 0;
};

class WorkspacePool {
 public:
  explicit WorkspacePool(const cuda::Limits& limits) : limits_(limits) {}

  std::unique_ptr<Workspace> take();
  // Not after an error: a workspace that a failed search has used must not be used again.
  void give_back(std::unique_ptr<Workspace> workspace);

 private:
  cuda::Limits limits_;
  IdlePool<Workspace> idle_;
};

}  // namespace culmen::gpu
