// GroupMembers: the devices of a group with what each holds, which of them take part in a call, and what becomes of their
// errors.
#pragma once

#include <tbb/parallel_for.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "api/index_copy.h"
#include "base/worker.h"
#include "culmen/device_group.h"
#include "gpu/group/load_balance.h"
#include "index/published.h"

namespace culmen {

// What `work` throws, or null.
std::exception_ptr caught(const auto& work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// Thread-safe.
class GroupMembers {
 public:
  using Positions = std::vector<std::size_t>;  // of members in their group

  // As make_device_group().
  GroupMembers(std::shared_ptr<const Published> index, std::span<const DeviceOptions> devices,
               std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded, DeviceLayout layout);

  std::size_t size() const { return members_.size(); }
  bool hold_parts() const { return layout_ == DeviceLayout::shard; }  // of the index, and not all of it
  const IndexCopy& copy(std::size_t member) const { return *members_[member].copy; }
  Worker& worker(std::size_t member) { return members_[member].worker; }
  std::vector<int> devices() const;
  std::vector<DeviceMember> list() const;

  // ---- Which

  Positions everyone() const;
  // A usable member that is to answer a query alone.
  std::size_t choose();
  // Sets the members that get a share of a batch, and their shares.
  void divide(std::size_t num_queries, Positions& members, std::vector<std::size_t>& shares);
  void record(std::span<const gpu::LoadBalance::Part> parts);
  // A usable member on this device, which need not copy weights and answers; `member` if there is none.
  std::size_t at_home(std::size_t member, int home);

  // Counts the members as busy during its life.
  class Turn {
   public:
    Turn(GroupMembers& group, const Positions& members) : group_(group), members_(members) { change(1); }
    ~Turn() { change(-1); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    void change(int by);

    GroupMembers& group_;
    const Positions& members_;
  };

  // ---- Versions

  // Views of one version, the one that is published now. Copies what is new in it first.
  std::vector<gpu::MirrorView> views_of(const Positions& members);
  std::vector<RefreshStats> refresh();

  // ---- Errors

  // Calls task(i) for members[i] each, in order, on its device. Returns the errors.
  std::vector<std::exception_ptr> on_devices(const Positions& members, const auto& task) const {
    std::vector<std::exception_ptr> errors;
    for (std::size_t i = 0; i < members.size(); ++i)
      errors.push_back(caught([&] {
        const cuda::DeviceScope scope(members_[members[i]].device);
        task(i);
      }));
    return errors;
  }

  // Sets aside the members with an error of CUDA, then throws the first error.
  void check(const Positions& members, const std::vector<std::exception_ptr>& errors);

 private:
  // Longer than a search of one query takes, so that threads are awake while one query follows the other.
  static constexpr std::chrono::microseconds kLinger{100};

  struct Member {
    int device = 0;
    std::unique_ptr<const IndexCopy> copy;
    Worker worker{kLinger};  // ends first
  };

  std::uint32_t partitions_together() const;
  double weight_of(std::size_t member) const;
  Positions usable();
  void set_usable(std::size_t member, bool is_usable);

  // Calls task(i) for members[i] each, on several threads; then throws as check(). Not on the members' own threads,
  // where it would wait for batches.
  void on_each(const Positions& members, const auto& task) {
    std::vector<std::exception_ptr> errors(members.size());
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, members.size(), 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i < range.end(); ++i) errors[i] = caught([&] { task(i); });
        },
        tbb::simple_partitioner());
    check(members, errors);
  }

  const std::shared_ptr<const Published> index_;
  const DeviceLayout layout_;
  std::vector<Member> members_;
  // Held while copies follow: they all go from one version to another, and never back.
  std::mutex follow_mutex_;

  mutable std::mutex mutex_;  // held briefly
  gpu::LoadBalance balance_;
  std::vector<std::uint32_t> in_flight_;
  std::vector<bool> is_usable_;
};

}  // namespace culmen
