#include "gpu/search/grid_plan.h"

namespace culmen::gpu {
namespace {

// Dynamic shared memory of a thread block if one is resident on a multiprocessor.
std::size_t dynamic_bytes(const cuda::Limits& limits) {
  constexpr std::size_t kGranule = 256;
  const std::size_t share = limits.multiprocessor_shared_bytes / kGranule * kGranule;
  const std::size_t taken = limits.reserved_shared_bytes + kStaticSharedBytes;
  if (share <= taken) return 0;
  return std::min(share - taken, limits.block_shared_bytes - kStaticSharedBytes);
}

// Room for the slots first, then for what the rest holds in turn: `least` bytes, or more for the seeds.
GridPlan plan(std::uint32_t num_slots, unsigned num_blocks, std::size_t bytes, std::size_t least) {
  constexpr std::size_t kKeyBytes = 2 * sizeof(std::uint32_t);  // of a seed: its key and its count
  GridPlan plan = {.num_blocks = num_blocks, .shared_bytes = 0, .room = {}};
  const std::size_t most = std::max<std::size_t>(1, bytes / kKeyBytes / num_blocks);
  plan.room.most_seeds = static_cast<std::uint32_t>(std::min<std::size_t>(kMaxSeeds, most));
  least = std::max(least, kKeyBytes * num_blocks * plan.room.most_seeds);
  Shares& shares = plan.room.shares;
  shares = share_out(num_slots, num_blocks);
  const std::size_t fitting = bytes > least ? (bytes - least) / slot_bytes(1) : 0;
  shares.groups_inside = static_cast<std::uint32_t>(std::min<std::size_t>(shares.groups_each, fitting));
  plan.shared_bytes = slot_bytes(shares.groups_inside) + least;
  return plan;
}

}  // namespace

Shares share_out(std::uint32_t num_slots, unsigned num_blocks) {
  constexpr std::uint32_t kLanes = 32;
  const std::uint32_t num_teams = num_blocks * kTeams;
  std::uint32_t group_size = kLanes;
  while (group_size > 1 && group_size / 2 * num_teams >= num_slots) group_size /= 2;
  const std::uint32_t groups_each = (num_slots / group_size + num_teams - 1) / num_teams;
  return {group_size, groups_each, groups_each};
}

GridPlan plan_bounded(std::uint32_t num_slots, const cuda::Limits& limits) {
  const std::size_t bytes = dynamic_bytes(limits);
  const VisitRoom visit = kUsualRoom.num_bytes() <= bytes ? kUsualRoom : kSmallRoom;
  GridPlan bounded =
      plan(num_slots, limits.num_multiprocessors, bytes, std::max(kSortBytes, visit.num_bytes()));
  bounded.room.visit = visit;
  return bounded;
}

GridPlan plan_scan(std::uint32_t num_slots, const cuda::Limits& limits) {
  return plan(num_slots, limits.num_multiprocessors, dynamic_bytes(limits), kSortBytes);
}

}  // namespace culmen::gpu
