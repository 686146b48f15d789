#include "gpu/search/resident.h"

#include <cuda/atomic>

#include "gpu/cuda/launch.h"
#include "gpu/search/bounded_search.cuh"

namespace culmen::gpu {
namespace {

using ::cuda::thread_scope;
using OnDevice = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>;
using WithHost = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_system>;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

constexpr std::uint32_t kWordsEach =
    (kMaxQuestionWords + kSearchThreads - 1) / kSearchThreads;  // of a thread

// Calls use(i, word) for the thread's words; returns whether all have arrived.
template <thread_scope kScope, typename Use>
__device__ bool look_at_words(std::uint64_t* words, const ResidentRef& resident, std::uint64_t number,
                              Use&& use) {
  bool have_all = true;
#pragma unroll
  for (std::uint32_t j = 0; j < kWordsEach; ++j) {
    const std::uint32_t i = j * kSearchThreads + threadIdx.x;
    if (i >= resident.num_words) break;
    const std::uint64_t word =
        ::cuda::atomic_ref<std::uint64_t, kScope>(words[i]).load(::cuda::memory_order_relaxed);
    have_all = have_all && static_cast<std::uint32_t>(word) == static_cast<std::uint32_t>(number);
    use(j, word);
  }
  return have_all;
}

// By the first block: waits for a question, and lets all blocks read it. Or lets them leave, once it is time.
class Doorkeeper {
 public:
  __device__ explicit Doorkeeper(const ResidentRef& resident)
      : resident_(resident), end_(nanoseconds() + kResidence) {}

  __device__ void wait_for(std::uint64_t number) const {
    constexpr unsigned kLooksPerClock = 16;  // which costs a barrier
    // Until the search before has ended, its question must stay the newest that was given.
    if (threadIdx.x == 0 && number != resident_.first)
      while (OnDevice(resident_.state->ended).load(::cuda::memory_order_acquire) + 1 < number) {
      }
    std::uint64_t words[kWordsEach];
    for (unsigned looks = 0;; ++looks) {
      // At first before a question that is there: a host that never stops asking must not keep the device from others.
      if (looks % kLooksPerClock == 0 && __syncthreads_or(threadIdx.x == 0 && is_time(looks)))
        return let_leave();
      const bool have_all = look_at_words<::cuda::thread_scope_system>(
          resident_.mailbox->words, resident_, number,
          [&](std::uint32_t j, std::uint64_t word) { words[j] = word; });
      if (__syncthreads_and(have_all)) break;
    }
#pragma unroll
    for (std::uint32_t j = 0; j < kWordsEach; ++j) {
      const std::uint32_t i = j * kSearchThreads + threadIdx.x;
      if (i < resident_.num_words)
        OnDevice(resident_.state->words[i]).store(words[j], ::cuda::memory_order_relaxed);
    }
  }

 private:
  // The host's word is a read over the bus, which the first look at a question must not wait for.
  __device__ bool is_time(unsigned looks) const {
    return nanoseconds() > end_ ||
           (looks > 0 &&
            WithHost(resident_.mailbox->to_leave).load(::cuda::memory_order_relaxed) == resident_.launch);
  }

  __device__ void let_leave() const {
    if (threadIdx.x != 0) return;
    OnDevice(resident_.state->left).store(resident_.launch, ::cuda::memory_order_release);
    WithHost(resident_.mailbox->has_left).store(resident_.launch, ::cuda::memory_order_release);
  }

  const ResidentRef& resident_;
  std::uint64_t end_;
};

// By every block: waits for a question, and takes it to shared memory. Returns false if it is time to leave. All threads
// get the same answer.
__device__ bool take_question(const ResidentRef& resident, std::uint64_t number, BlockShared& shared) {
  auto* to = reinterpret_cast<std::uint32_t*>(shared.query);
  clear_counters(shared);
  for (;;) {
    const bool have_all = look_at_words<::cuda::thread_scope_device>(
        resident.state->words, resident, number, [&](std::uint32_t j, std::uint64_t word) {
          to[j * kSearchThreads + threadIdx.x] = static_cast<std::uint32_t>(word >> 32);
        });
    if (__syncthreads_and(have_all)) return true;
    if (__syncthreads_or(threadIdx.x == 0 &&
                         OnDevice(resident.state->left).load(::cuda::memory_order_relaxed) ==
                             resident.launch))
      return false;
  }
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
    if (!take_question(resident, number, shared.block)) return;
    search_by_bounds<T, QueryKind::plain>(mirror, state, room, query, shared, dynamic_shared);
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
template void launch_resident<Packed<float>>(const MirrorRef&, const ResidentRef&, const GridPlan&,
                                             cudaStream_t);
template void launch_resident<Packed<double>>(const MirrorRef&, const ResidentRef&, const GridPlan&,
                                              cudaStream_t);

}  // namespace culmen::gpu
