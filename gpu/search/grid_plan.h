// How a search by the whole grid is cut to the device: its thread blocks, and what they keep in shared
// memory. Any number of nodes and any device with kMinSharedBytes a block will do. What finds no room is
// kept in device memory or given up, slower but with the same answer.
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

// Seeds of a block, at the most.
inline constexpr std::uint32_t kMaxSeeds = 32;
// Thread blocks of a search by the whole grid, at the most.
constexpr unsigned max_blocks(const cuda::Limits& limits) {
  return 2 * limits.num_multiprocessors;
}

// How the slots are shared out: in groups of up to 32, one a lane, to teams in turn. A small table's groups
// are smaller, so that all teams have a share.
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

// Room for what a block of `bounded` finds: candidates, and nodes and leaves that are still to be looked at.
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
inline constexpr VisitRoom kSmallRoom = {1536, 512, 1024};  // where a block has little shared memory

// The answer is sorted in this.
inline constexpr std::uint32_t kSortCapacity = 2 * kMaxSortedHits;
inline constexpr std::size_t kSortBytes = kSortCapacity * sizeof(Candidate);
static_assert(kSmallRoom.num_bytes() <= kSortBytes && kSortBytes <= kUsualRoom.num_bytes());

// Shared memory that a kernel has beside: its static variables and, in front of them, alignment.
inline constexpr std::size_t kStaticSharedBytes = 13'824;
// What a thread block must be able to have. Every GPU from Turing (64 KiB) on gives that.
inline constexpr std::size_t kMinSharedBytes = kStaticSharedBytes + kSortBytes;
static_assert(kMinSharedBytes <= 64 << 10);

// What a kernel has to know of its plan.
struct GridRoom {
  Shares shares;
  std::uint32_t most_seeds;  // of a block
  VisitRoom visit;
};

struct GridPlan {
  unsigned num_blocks;
  std::size_t shared_bytes;  // dynamic
  GridRoom room;

  // Bounds of slots that are kept in device memory.
  std::size_t num_bounds_outside(std::uint32_t num_slots) const {
    return room.shares.groups_inside < room.shares.groups_each ? num_slots : 0;
  }
};

GridPlan plan_bounded(std::uint32_t num_slots, const cuda::Limits& limits);
GridPlan plan_scan(std::uint32_t num_slots, const cuda::Limits& limits);

}  // namespace culmen::gpu
