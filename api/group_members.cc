#include "api/group_members.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/lock_isolated.h"
#include "index/partitioner.h"

namespace culmen {

using gpu::MirrorView;
using Positions = GroupMembers::Positions;

GroupMembers::GroupMembers(std::shared_ptr<const Published> index, std::span<const DeviceOptions> devices,
                           std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded,
                           DeviceLayout layout)
    : index_(std::move(index)),
      layout_(layout),
      members_(devices.size()),
      balance_(devices.size()),
      in_flight_(devices.size()),
      is_usable_(devices.size(), true) {
  for (std::size_t m = 0; m < devices.size(); ++m) members_[m].device = devices[m].device;
  const std::uint32_t together = partitions_together();
  on_each(everyone(), [&](std::size_t m) {
    gpu::ShardPart part;
    if (hold_parts())
      part = {static_cast<std::uint32_t>(m), static_cast<std::uint32_t>(members_.size()), together};
    members_[m].copy = std::make_unique<const IndexCopy>(index_, devices[m], loaded[m].get(), part);
  });
}

// How many partitions are dealt together: a few, so that each part has some of every region of the tree. The same for
// all parts, and for good, although the number of partitions changes.
std::uint32_t GroupMembers::partitions_together() const {
  constexpr std::uint32_t kMostTogether = 8, kLeastDeals = 32;
  const auto deals = kLeastDeals * static_cast<std::uint32_t>(members_.size());
  return std::clamp(index_->get()->partitioner->num_partitions() / deals, 1u, kMostTogether);
}

std::vector<int> GroupMembers::devices() const {
  std::vector<int> numbers;
  for (const Member& member : members_) numbers.push_back(member.device);
  return numbers;
}

std::vector<DeviceMember> GroupMembers::list() const {
  const std::lock_guard lock(mutex_);
  double sum = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) sum += is_usable_[m] ? weight_of(m) : 0;
  std::vector<DeviceMember> all;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const IndexCopy& copy = *members_[m].copy;
    all.push_back({copy.device(), copy.memory(), copy.device_bytes(),
                   is_usable_[m] && sum > 0 ? weight_of(m) / sum : 0, is_usable_[m]});
  }
  return all;
}

double GroupMembers::weight_of(std::size_t member) const {
  return hold_parts() ? static_cast<double>(members_[member].copy->device_bytes())
                      : balance_.speeds()[member];
}

Positions GroupMembers::everyone() const {
  Positions all(members_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

// Those that have not failed; if all have, all. mutex_ is locked.
Positions GroupMembers::usable() {
  Positions members;
  for (std::size_t m = 0; m < members_.size(); ++m)
    if (is_usable_[m]) members.push_back(m);
  if (!members.empty()) return members;
  is_usable_.assign(members_.size(), true);
  return everyone();
}

void GroupMembers::set_usable(std::size_t member, bool is_usable) {
  const std::lock_guard lock(mutex_);
  is_usable_[member] = is_usable;
}

std::size_t GroupMembers::choose() {
  const std::lock_guard lock(mutex_);
  return balance_.choose(usable(), in_flight_);
}

void GroupMembers::divide(std::size_t num_queries, Positions& members, std::vector<std::size_t>& shares) {
  const std::lock_guard lock(mutex_);
  const Positions all = usable();
  const std::vector<std::size_t> divided = balance_.divide(num_queries, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (divided[i] == 0) continue;
    members.push_back(all[i]);
    shares.push_back(divided[i]);
  }
  if (members.size() > 1) return;
  members = {balance_.choose(all, in_flight_)};
  shares = {num_queries};
}

void GroupMembers::record(std::span<const gpu::LoadBalance::Part> parts) {
  const std::lock_guard lock(mutex_);
  balance_.record(parts);
}

std::size_t GroupMembers::at_home(std::size_t member, int home) {
  const std::lock_guard lock(mutex_);
  const Positions all = usable();
  const auto found = std::ranges::find_if(all, [&](std::size_t m) { return members_[m].device == home; });
  return found == all.end() ? member : *found;
}

void GroupMembers::Turn::change(int by) {
  const std::lock_guard lock(group_.mutex_);
  for (const std::size_t m : members_) group_.in_flight_[m] += static_cast<std::uint32_t>(by);
}

std::vector<MirrorView> GroupMembers::views_of(const Positions& members) {
  const std::shared_ptr<const Snapshot> snapshot = index_->get();
  std::vector<MirrorView> views;
  for (const std::size_t m : members)
    if (std::optional<MirrorView> view = members_[m].copy->view_of(snapshot))
      views.push_back(*std::move(view));
  if (views.size() == members.size()) return views;
  views.assign(members.size(), {});
  lock_isolated(follow_mutex_, [&] {
    const std::shared_ptr<const Snapshot> now = index_->get();
    ChangesOfVersion found;
    on_each(members, [&](std::size_t i) {
      RefreshStats stats;
      views[i] = members_[members[i]].copy->follow(now, stats, found);
    });
  });
  return views;
}

std::vector<RefreshStats> GroupMembers::refresh() {
  std::vector<RefreshStats> stats(members_.size());
  lock_isolated(follow_mutex_, [&] {
    const std::shared_ptr<const Snapshot> snapshot = index_->get();
    ChangesOfVersion found;
    on_each(everyone(), [&](std::size_t m) {
      members_[m].copy->follow(snapshot, stats[m], found);
      set_usable(m, true);
    });
  });
  return stats;
}

void GroupMembers::check(const Positions& members, const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr first;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (errors[i] == nullptr) continue;
    const std::exception_ptr fault = cuda::as_fault_of(members_[members[i]].device, errors[i]);
    if (fault != nullptr && !hold_parts()) set_usable(members[i], false);
    if (first == nullptr) first = fault != nullptr ? fault : errors[i];
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace culmen
