// A kernel that stays on the device and searches by bounds: it takes its questions from pinned memory, so that no launch
// is paid for each. It leaves after some milliseconds, or when it is told to; whoever asks launches it again.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/grid_plan.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/search_state.h"

namespace culmen::gpu {

// How long it stays, in nanoseconds: as long other work may have to wait for multiprocessors, and memory to be freed.
inline constexpr std::uint64_t kResidence = 4'000'000;

// A question is its SearchStateRef and then its packed query. Each 32 bits of it are in the upper half of a word, and the
// lower half is that of the question's number: words may arrive in any order, and one look at all of them tells whether
// all are there.
// Questions have no ranges, and are to tables of up to kMaxSharedAttributes.
constexpr std::size_t question_bytes(int num_attributes) {
  return sizeof(SearchStateRef) + packed_stride(num_attributes, 0);
}
inline constexpr std::size_t kMaxQuestionBytes = question_bytes(kMaxSharedAttributes);
inline constexpr std::size_t kMaxQuestionWords = kMaxQuestionBytes / sizeof(std::uint32_t);
static_assert(kMaxQuestionBytes <=
              kMaxSharedQueryBytes);  // blocks keep all of it where others keep the query

// In pinned memory. Launches are numbered from 1 on.
struct Mailbox {
  std::uint64_t words[kMaxQuestionWords];  // by the host
  alignas(128) std::uint64_t to_leave;     // by the host: the launch that shall leave before its time
  alignas(128) std::uint64_t has_left;     // by the kernel: the latest launch that takes no more questions
};

// In device memory; all 0 before the first launch.
struct ResidentState {
  std::uint64_t ended;                     // the latest question whose search has ended
  std::uint64_t left;                      // the latest launch that all blocks may leave
  std::uint64_t words[kMaxQuestionWords];  // of the mailbox, once all of a question are there
};

struct ResidentRef {
  Mailbox* mailbox;
  ResidentState* state;
  std::uint64_t launch;     // its number
  std::uint64_t first;      // the number of the first question, SearchStateRef::sequence, as of the others
  std::uint32_t num_words;  // of each question
};

// mirror: of value type T. plan: of plan_bounded(). Throws CudaError; nothing is launched then.
template <typename T>
void launch_resident(const MirrorRef& mirror, const ResidentRef& resident, const GridPlan& plan,
                     cudaStream_t stream);

}  // namespace culmen::gpu
