#include "bench/ladder/bounded/asker.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/floating_point_scope.h"
#include "bench/timing.h"
#include "culmen/error.h"
#include "query/resolve.h"

namespace culmen::bench {
namespace {

using gpu::Candidate;

constexpr double kTimeLimitUs = 2e6;

// Without destructors: freeing memory would wait for the kernel. The driver ends the kernel with the process.
[[noreturn]] void give_up() {
  std::fprintf(stderr, "no answer within %.0f s: a kernel hangs\n", kTimeLimitUs * 1e-6);
  std::_Exit(3);
}

// As Workspace::wait, with a time limit.
void wait(const gpu::SearchStateRef& state, cudaStream_t stream) {
  constexpr unsigned kPollsPerLook = 1 << 16;
  const auto* sequence = const_cast<const volatile std::uint64_t*>(&state.result->sequence);
  const double start = now_us();
  for (unsigned polls = 1; *sequence != state.sequence; ++polls) {
    if (polls % kPollsPerLook != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) {
      cuda::check(status);
      if (*sequence != state.sequence) throw CudaError("CUDA: a search ended without a result");
    } else if (now_us() - start > kTimeLimitUs) {
      give_up();
    }
    cudaGetLastError();  // "not ready" is no error; clears it for the next check
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

std::vector<Hit> to_hits(const Candidate* first, std::size_t count, const gpu::MirrorVersion& mirror) {
  std::vector<Hit> hits(count);
  std::transform(first, first + count, hits.begin(),
                 [&](const Candidate& best) { return gpu::to_hit(best, mirror); });
  return hits;
}

}  // namespace

Asker::Asker(std::shared_ptr<const Snapshot> snapshot)
    : snapshot_(std::move(snapshot)),
      mirror_(std::make_shared<const Published>(snapshot_), {.memory = DeviceMemory::device}),
      view_(mirror_.latest()),
      plan_(gpu::plan_bounded(view_.mirror->ref().num_slots, cuda::limits_of(0))),
      workspace_(cuda::limits_of(0)) {
  if (snapshot_->value_type != ValueType::float32) throw InvalidArgument("the rungs know float32 only");
}

std::optional<std::vector<Hit>> Asker::ask(const Query& query, const gpu::ladder::Launch& launch) {
  const FloatingPointScope floating_point;
  const ResolvedQuery resolved = resolve(query, *snapshot_);
  workspace_.reserve(resolved.k, gpu::kUsualCandidates,
                     plan_.num_bounds_outside(view_.mirror->ref().num_slots));
  const gpu::QueryArgument argument = workspace_.argument(resolved, {});
  state_ = workspace_.next(static_cast<std::uint32_t>(resolved.k), {resolved.min_score, kNoId});
  launch(view_.mirror->ref(), state_, argument, plan_, workspace_.stream().get());
  wait(state_, workspace_.stream().get());
  const gpu::ResultHeader& result = *state_.result;
  if (result.outcome == gpu::Outcome::overflow) return std::nullopt;
  if (result.outcome == gpu::Outcome::sorted) return to_hits(state_.hits, result.num_hits, *view_.mirror);
  const std::vector<Candidate> best = workspace_.best_candidates(result.num_candidates, result.num_hits);
  return to_hits(best.data(), result.num_hits, *view_.mirror);
}

void Asker::forget() {
  std::fill_n(state_.hits, state_.k, Candidate{});
}

}  // namespace culmen::bench
