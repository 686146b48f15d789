#include "gpu/search/resident.h"

#include <cuda/atomic>

#include "gpu/cuda/launch.h"
#include "gpu/search/bounded_search.cuh"

namespace culmen::gpu {
namespace {

using OnDevice = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>;
using WithHost = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_system>;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// By the first block: waits for a question, and lets all blocks read it. Or lets them leave, once it is time.
class Doorkeeper {
 public:
  __device__ explicit Doorkeeper(const ResidentRef& resident)
      : resident_(resident), end_(nanoseconds() + kResidence) {}

  __device__ void wait_for(std::uint64_t number) const {
    // Until the search before has ended, its question must stay the newest that was given.
    if (threadIdx.x == 0 && number != resident_.first)
      while (OnDevice(resident_.state->ended).load(::cuda::memory_order_acquire) + 1 < number) {
      }
    for (;;) {
      // Before questions that are there: a host that never stops asking must not keep the device from others.
      const bool is_time = threadIdx.x == 0 && (nanoseconds() > end_ || is_told_to_leave());
      if (__syncthreads_and(take_words(static_cast<std::uint32_t>(number)) && !is_time)) {
        if (threadIdx.x == 0) OnDevice(resident_.state->given).store(number, ::cuda::memory_order_release);
        return;
      }
      if (__syncthreads_or(is_time)) return let_leave();
    }
  }

 private:
  __device__ bool is_told_to_leave() const {
    return WithHost(resident_.mailbox->to_leave).load(::cuda::memory_order_relaxed) == resident_.launch;
  }

  // Returns whether all words of the thread have arrived.
  __device__ bool take_words(std::uint32_t number) const {
    bool have_all = true;
    for (std::uint32_t i = threadIdx.x; i < resident_.num_words; i += blockDim.x) {
      const std::uint64_t word = WithHost(resident_.mailbox->words[i]).load(::cuda::memory_order_relaxed);
      have_all = have_all && static_cast<std::uint32_t>(word) == number;
      resident_.state->question[i] = static_cast<std::uint32_t>(word >> 32);
    }
    return have_all;
  }

  __device__ void let_leave() const {
    if (threadIdx.x != 0) return;
    OnDevice(resident_.state->left).store(resident_.launch, ::cuda::memory_order_release);
    WithHost(resident_.mailbox->has_left).store(resident_.launch, ::cuda::memory_order_release);
  }

  const ResidentRef& resident_;
  std::uint64_t end_;
};

// By every block: returns whether there is a question; otherwise it is time to leave. All threads get the same answer.
__device__ bool is_given(const ResidentRef& resident, std::uint64_t number) {
  bool is_to_leave = false;
  if (threadIdx.x == 0)
    while (OnDevice(resident.state->given).load(::cuda::memory_order_acquire) < number && !is_to_leave)
      is_to_leave = OnDevice(resident.state->left).load(::cuda::memory_order_acquire) == resident.launch;
  return __syncthreads_or(is_to_leave) == 0;
}

// To shared memory; past the first-level cache, where the question before may still be.
__device__ void take_question(const ResidentRef& resident, BlockShared& shared) {
  auto* to = reinterpret_cast<std::uint32_t*>(shared.query);
  for (std::uint32_t i = threadIdx.x; i < resident.num_words; i += blockDim.x)
    to[i] = __ldcg(resident.state->question + i);
  clear_counters(shared);
  __syncthreads();
}

template <typename T>
__global__ void __launch_bounds__(kSearchThreads, 1)
    serve(const MirrorRef mirror, const ResidentRef resident, const GridRoom room) {
  extern __shared__ double dynamic_shared[];
  __shared__ BoundedShared shared;
  const auto& state = *reinterpret_cast<const SearchStateRef*>(shared.block.query);
  const QueryRef query = {shared.block.query + sizeof(SearchStateRef)};
  const Doorkeeper doorkeeper(resident);
  for (std::uint64_t number = resident.first;; ++number) {
    if (blockIdx.x == 0) doorkeeper.wait_for(number);
    if (!is_given(resident, number)) return;
    take_question(resident, shared.block);
    search_by_bounds<T, false>(mirror, state, room, query, shared, dynamic_shared);
    __syncthreads();  // the search's memory is used again
    if (threadIdx.x == 0 && shared.block.is_last)
      OnDevice(resident.state->ended).store(number, ::cuda::memory_order_release);
  }
}

}  // namespace

template <typename T>
void launch_resident(const MirrorRef& mirror, const ResidentRef& resident, const GridPlan& plan,
                     cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = plan.num_blocks,
                             .num_threads = kSearchThreads,
                             .shared_bytes = plan.shared_bytes,
                             .cooperative = true};
  cuda::launch(serve<T>, shape, stream, mirror, resident, plan.room);
}

template void launch_resident<float>(const MirrorRef&, const ResidentRef&, const GridPlan&, cudaStream_t);
template void launch_resident<double>(const MirrorRef&, const ResidentRef&, const GridPlan&, cudaStream_t);

}  // namespace culmen::gpu
