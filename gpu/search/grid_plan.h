// GridPlan: the thread blocks of a search by the whole grid, and what they keep in shared memory, for any number of
// nodes and any device with kMinSharedBytes for a block. What does not fit is kept in device memory or done without:
// slower, with the same answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/cuda/limits.h"
#include "gpu/search/search_state.h"

namespace culmen::gpu {

inline constexpr unsigned kSearchThreads = 512;
inline constexpr unsigned kSearchWarps = kSearchThreads / 32;
inline constexpr unsigned kTeamWarps = 4;
inline constexpr unsigned kTeams = kSearchWarps / kTeamWarps;  // of a block

// Seeds of a block, at most.
inline constexpr std::uint32_t kMaxSeeds = 32;

// How teams share the slots: in groups of up to 32, one slot for each lane, in turn. Groups of a small table are
// smaller, so that all teams have a share.
struct Shares {
  std::uint32_t group_size;
  std::uint32_t groups_each;    // the largest share
  std::uint32_t groups_inside;  // the first groups of a share, which are kept in shared memory
};

// With all groups inside.
Shares share_out(std::uint32_t num_slots, unsigned num_blocks);

// Shared memory for so many groups of every team of a block.
constexpr std::size_t slot_bytes(std::uint32_t groups) {
  return (sizeof(double) + sizeof(std::int64_t) + sizeof(std::uint32_t)) * kTeams * groups * 32;
}

// Room for what a block of `bounded` finds: candidates, and nodes and leaves to visit.
struct VisitRoom {
  std::uint32_t candidates, nodes, leaves;

  CULMEN_HOST_DEVICE constexpr std::size_t candidate_bytes() const {
    return candidates * (sizeof(Candidate) + sizeof(std::uint32_t));
  }
  CULMEN_HOST_DEVICE constexpr std::size_t num_bytes() const {
    return candidate_bytes() + std::size_t{nodes + leaves} * sizeof(std::uint32_t);
  }
};
inline constexpr VisitRoom kUsualRoom = {2048, 1024, 4096};
inline constexpr VisitRoom kSmallRoom = {1536, 512, 1024};  // if a block has little shared memory

// The answer is sorted in so much.
inline constexpr std::uint32_t kSortCapacity = 2 * kMaxSortedHits;
inline constexpr std::size_t kSortBytes = kSortCapacity * sizeof(Candidate);
static_assert(kSmallRoom.num_bytes() <= kSortBytes && kSortBytes <= kUsualRoom.num_bytes());

// Shared memory of a kernel beside that: its static variables, and alignment.
inline constexpr std::size_t kStaticSharedBytes = 13'824;
// Shared memory that a thread block needs. Every GPU from Turing (64 KiB) on has it.
inline constexpr std::size_t kMinSharedBytes = kStaticSharedBytes + kSortBytes;
static_assert(kMinSharedBytes <= 64 << 10);

// The part of a plan that its kernel needs.
struct GridRoom {
  Shares shares;
  std::uint32_t most_seeds;  // of a block
  VisitRoom visit;
};

struct GridPlan {
  unsigned num_blocks;
  std::size_t shared_bytes;  // dynamic
  GridRoom room;

  // Bounds of slots that are in device memory.
  std::size_t num_bounds_outside(std::uint32_t num_slots) const {
    return room.shares.groups_inside < room.shares.groups_each ? num_slots : 0;
  }
};

GridPlan plan_bounded(std::uint32_t num_slots, const cuda::Limits& limits);
GridPlan plan_scan(std::uint32_t num_slots, const cuda::Limits& limits);

}  // namespace culmen::gpu
