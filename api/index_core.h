// Index::Core: the published version, the writer, and what is cached for searches. All copies of a handle share one.
#pragma once

#include <tbb/parallel_for.h>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/device_group.h"
#include "api/device_index.h"
#include "base/lock_isolated.h"
#include "base/with_threads.h"
#include "cpu/threshold_algorithm.h"
#include "culmen/device.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/build/device_load.h"
#include "index/published.h"
#include "index/snapshot.h"
#include "index/write/live_index.h"
#include "query/resolved_query.h"

namespace culmen {

inline constexpr const char* kIndexHandle = "Index";  // for held_by()

template <typename T>
void require_memory(std::span<const T> values) {
  if (!values.empty() && values.data() == nullptr)
    throw InvalidArgument("a null pointer with " + std::to_string(values.size()) + " elements");
}

class Index::Core {
 public:
  explicit Core(std::unique_ptr<LiveIndex> live) : published_(live->published()), live_(std::move(live)) {}
  // Of a bulk load, on GPU `device` or on the CPU.
  Core(DeviceLoad loaded, int device)
      : live_(std::make_unique<LiveIndex>(std::move(loaded.snapshot))),
        on_device_(std::move(loaded.on_device)),
        device_(device) {
    published_ = live_->published();
  }
  // Of one version, which never changes.
  explicit Core(std::shared_ptr<const Snapshot> snapshot)
      : published_(std::make_shared<Published>(std::move(snapshot))) {}

  std::shared_ptr<const Snapshot> snapshot() const { return published_->get(); }
  const std::shared_ptr<Published>& published() const { return published_; }
  RecoveryInfo recovery() const { return live_ == nullptr ? RecoveryInfo{} : live_->recovery(); }
  LiveIndex& live() {
    if (live_ == nullptr) throw InvalidArgument("this is a snapshot, which does not change");
    return *live_;
  }

  SearchResult search(std::shared_ptr<const Snapshot> snapshot, const Query& query,
                      const SearchOptions& options);
  // Searches one version, each query on one thread. Calls take(q, result) for each query, from several threads.
  void search_each(const std::shared_ptr<const Snapshot>& snapshot, std::span<const Query> queries,
                   const SearchOptions& options, const auto& take) {
    SearchOptions one = options;
    one.num_threads = 1;
    with_threads(options.num_threads, [&] {
      tbb::parallel_for(std::size_t{0}, queries.size(),
                        [&](std::size_t q) { take(q, search(snapshot, queries[q], one)); });
    });
  }

  // For each id its row, or kNowhere. Sets by_id_map to whether no pass over all ids was needed.
  std::vector<std::uint64_t> find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids,
                                       bool& by_id_map);
  bool has_id_map(const Snapshot& snapshot) {
    return snapshot.id_lookup != nullptr || (live_ != nullptr && live_->has_id_map(snapshot));
  }

  DeviceIndex to_device(const DeviceOptions& options) {
    snapshot()->require_all();
    return make_device_index(published_, options, take_from_device(options));
  }

  DeviceGroup to_devices(std::span<const int> devices, const DeviceGroupOptions& options) {
    snapshot()->require_all();
    std::vector<DeviceOptions> each;
    std::vector<std::shared_ptr<const gpu::LoadedTree>> loaded;
    for (const int device : devices) {
      each.push_back({.device = device, .memory = options.memory});
      // A part has slots of its own: what a build left on the device is of no use.
      const bool is_copy = options.layout == DeviceLayout::replicate;
      loaded.push_back(is_copy ? take_from_device(each.back()) : nullptr);
    }
    return make_device_group(published_, each, loaded, options.layout);
  }

 private:
  std::vector<Hit> look_up(const ResolvedQuery& query, std::span<const std::int64_t> ids,
                           SearchResult& result, const SearchOptions& options);
  std::vector<Hit> run_engine(const ResolvedQuery& query, SearchResult& result, const SearchOptions& options);

  // The sorted lists of Engine::ta for this version, cached until another version needs its own.
  std::shared_ptr<const cpu::SortedLists> lists_of(const std::shared_ptr<const Snapshot>& snapshot) {
    return lock_isolated(lists_mutex_, [&] {
      if (lists_ == nullptr || !is_same(lists_snapshot_, snapshot)) {
        lists_ = std::make_shared<cpu::SortedLists>(cpu::make_sorted_lists(*snapshot));
        lists_snapshot_ = snapshot;
      }
      return lists_;
    });
  }

  // The tree that the build left on its GPU, for the first copy of that kind there.
  std::shared_ptr<const gpu::LoadedTree> take_from_device(const DeviceOptions& options) {
    const bool fits = options.device == device_ &&
                      (options.memory == DeviceMemory::automatic || options.memory == DeviceMemory::device);
    const std::lock_guard lock(on_device_mutex_);
    return fits ? std::exchange(on_device_, nullptr) : nullptr;
  }

  std::shared_ptr<Published> published_;
  std::unique_ptr<LiveIndex> live_;
  std::mutex on_device_mutex_;
  std::shared_ptr<const gpu::LoadedTree> on_device_;
  int device_ = kNoDevice;
  std::mutex lists_mutex_;
  std::shared_ptr<const cpu::SortedLists> lists_;
  std::weak_ptr<const Snapshot> lists_snapshot_;  // not its number: after a refresh another index may have it
};

}  // namespace culmen
