// Index::Core: the published version, the writer, and what is cached for searches. All copies of a handle share one.
#pragma once

#include <tbb/parallel_for.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/device_group.h"
#include "api/device_index.h"
#include "api/kept_codes.h"
#include "api/logged_view.h"
#include "api/version_cache.h"
#include "base/with_threads.h"
#include "cpu/byte_table.h"
#include "cpu/threshold_algorithm.h"
#include "culmen/device.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/build/device_load.h"
#include "index/published.h"
#include "index/snapshot.h"
#include "index/text_rows.h"
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
  explicit Core(std::unique_ptr<LiveIndex> live, const OpenOptions& options = {})
      : published_(live->published()), live_(std::move(live)), derived_(std::make_shared<Derived>(options)) {
    derived_->code_table.follow(*version(), options.num_threads);
  }
  // Of a bulk load, on GPU `device` alone or elsewhere.
  Core(DeviceLoad loaded, int device)
      : live_(std::make_unique<LiveIndex>(std::move(loaded.snapshot))),
        on_device_(std::move(loaded.on_device)),
        device_(device) {
    published_ = live_->published();
  }
  // Of the version that another has now, which never changes.
  explicit Core(const Core& newest)
      : published_(std::make_shared<Published>(newest.version())), derived_(newest.derived_) {}

  // May have LoggedRows instead of a tree (index/logged_rows.h).
  std::shared_ptr<const Snapshot> version() const { return published_->get(); }
  // Has a tree, which is made if need be. May then throw what reading on touch throws.
  std::shared_ptr<const Snapshot> snapshot() const {
    std::shared_ptr<const Snapshot> version = published_->get();
    return version->logged == nullptr ? version : whole(version);
  }
  const std::shared_ptr<Published>& published() const { return published_; }
  RecoveryInfo recovery() const { return live_ == nullptr ? RecoveryInfo{} : live_->recovery(); }
  LiveIndex& live() {
    if (live_ == nullptr) throw InvalidArgument("this is a snapshot, which does not change");
    return *live_;
  }

  SearchResult search(std::shared_ptr<const Snapshot> snapshot, const Query& query,
                      const SearchOptions& options, Watch* watch);
  // Writes the answers to a batch that was checked, of one version.
  void search_batch(const std::shared_ptr<const Snapshot>& snapshot, const QueryBatch& batch,
                    const AnswerArrays& answers, const SearchOptions& options);
  // Searches one version: query_of(q) returns query q. Calls take(q, result) for each, from several threads. Questions
  // that the planner prefers to answer by one pass share it; each of the others has one thread.
  void search_each(const std::shared_ptr<const Snapshot>& snapshot, std::size_t num_queries,
                   const auto& query_of, const SearchOptions& options, const auto& take) {
    SearchOptions one = options;
    one.num_threads = 1;
    Watch watch(options, num_queries);
    const auto give = [&](std::size_t q, SearchResult result) {
      take(q, std::move(result));
      watch.count_answered(1);
    };
    with_threads(options.num_threads, [&] {
      const std::vector<std::uint8_t> answered = search_together(
          snapshot, num_queries, [&](std::size_t q) -> Query { return query_of(q); }, options, watch.if_any(),
          give);
      tbb::parallel_for(std::size_t{0}, num_queries, [&](std::size_t q) {
        if (answered.empty() || answered[q] == 0) give(q, search(snapshot, query_of(q), one, watch.if_any()));
      });
    });
  }

  // For each id its row, or kNowhere. Sets by_id_map to whether no pass over all ids was needed.
  std::vector<std::uint64_t> find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids,
                                       bool& by_id_map);
  std::vector<std::optional<Row>> rows_with(const Snapshot& version, std::span<const std::int64_t> ids);
  std::vector<TextPlace> find_texts(const std::shared_ptr<const Snapshot>& version,
                                    std::span<const std::string_view> texts);
  std::vector<std::int64_t> ids_where(const Filter& where);
  // Another version has come: what was made for one must not keep all of its leaves.
  void forget_folded() { derived_->folded.clear(); }
  void follow_codes(const Snapshot& next) { derived_->code_table.follow(next, kAllCores); }
  // Null: there are none of this tree.
  std::shared_ptr<const cpu::CodeTable> code_table_of(const Snapshot& tree) const {
    return derived_->code_table.find(tree);
  }

  // Of a version with LoggedRows.
  std::shared_ptr<const LoggedView> logged_view(const std::shared_ptr<const Snapshot>& version);
  Explanation explain(const Snapshot& tree, const Query& query, const SearchOptions& options, Watch* watch);
  static SearchResult search_monotone(std::shared_ptr<const Snapshot> snapshot, MonotoneFunctionRef function,
                                      std::size_t k, const Filter& where, const SearchOptions& options);
  std::uint64_t count_before(const std::shared_ptr<const Snapshot>& version, const Query& query,
                             const Cursor& place, const SearchOptions& options, Watch* watch);
  double logged_bound(const std::shared_ptr<const Snapshot>& version, const Query& query,
                      const SearchOptions& options);
  SearchResult search_logged_monotone(const std::shared_ptr<const Snapshot>& version,
                                      MonotoneFunctionRef function, std::size_t k, const Filter& where,
                                      const SearchOptions& options);

  bool has_id_map(const Snapshot& snapshot) {
    return snapshot.id_lookup != nullptr || (live_ != nullptr && live_->has_id_map(snapshot));
  }

  DeviceIndex to_device(const DeviceOptions& options) {
    prepare_to_copy();
    return make_device_index(published_, options, take_from_device(options));
  }

  DeviceGroup to_devices(std::span<const int> devices, const DeviceGroupOptions& options) {
    prepare_to_copy();
    std::vector<DeviceOptions> each;
    std::vector<std::shared_ptr<const gpu::LoadedTree>> loaded;
    for (const int device : devices) {
      each.push_back({.device = device, .memory = options.memory, .resident = options.resident});
      // A part has slots of its own: what a build left on the device is of no use.
      const bool is_copy = options.layout == DeviceLayout::replicate;
      loaded.push_back(is_copy ? take_from_device(each.back()) : nullptr);
    }
    return make_device_group(published_, each, loaded, options.layout);
  }

 private:
  // The newest version and all that follow have trees, and this one is in memory, unless that has a limit: then its
  // leaves are read as they are copied.
  void prepare_to_copy() const {
    const std::shared_ptr<const Snapshot> version = this->version();
    if (version->logged != nullptr) version->logged->base->require_no_memory_limit();
    if (!version->has_memory_limit()) snapshot_to_follow()->require_all();
  }
  // A version with LoggedRows as one tree.
  std::shared_ptr<const Snapshot> whole(const std::shared_ptr<const Snapshot>& version) const;
  // The newest version; it and all that follow have trees.
  std::shared_ptr<const Snapshot> snapshot_to_follow() const {
    if (live_ != nullptr) return live_->fold();
    published_->set(snapshot());
    return published_->get();
  }
  SearchResult search_logged(const std::shared_ptr<const Snapshot>& version, const Query& query,
                             const SearchOptions& options, Watch* watch);
  bool search_jointly(const ResolvedQuery& of_base, const ResolvedQuery& of_rows, std::size_t k,
                      SearchResult& result);
  void search_in_turn(const ResolvedQuery& of_base, ResolvedQuery& of_rows, std::size_t k,
                      const SearchOptions& options, SearchResult& result);
  // For queries with groups.
  static void search_groups(const ResolvedQuery& of_base, ResolvedQuery& of_rows, std::size_t k,
                            SearchResult& result);
  std::vector<std::uint64_t> find_logged_rows(const Snapshot& version, std::span<const std::int64_t> ids,
                                              bool& by_id_map);
  // `base`: the answer of the base of a version with LoggedRows.
  SearchResult with_rows_beside(const SearchResult& base, ResolvedQuery& of_rows,
                                std::shared_ptr<const Snapshot> version, std::size_t k,
                                const SearchOptions& options);
  // Answers queries by one pass over all rows or one walk through the tree, if the planner prefers it. Returns for each
  // whether it was answered, or nothing if none was. Runs in the caller's arena.
  std::vector<std::uint8_t> search_together(const std::shared_ptr<const Snapshot>& snapshot,
                                            std::size_t num_queries,
                                            const std::function<Query(std::size_t)>& query_of,
                                            const SearchOptions& options, Watch* watch,
                                            const std::function<void(std::size_t, SearchResult)>& take);
  void pass_together(const std::shared_ptr<const Snapshot>& snapshot, std::size_t num_queries,
                     const std::function<Query(std::size_t)>& query_of, const SearchOptions& options,
                     Watch* watch, const std::function<void(std::size_t, SearchResult)>& take);
  void walk_together(const std::shared_ptr<const Snapshot>& version, std::size_t num_queries,
                     const std::function<Query(std::size_t)>& query_of, const SearchOptions& options,
                     Watch* watch, const std::function<void(std::size_t, SearchResult)>& take);
  std::vector<Hit> look_up(const ResolvedQuery& query, std::span<const std::int64_t> ids,
                           SearchResult& result, const SearchOptions& options);
  std::vector<Hit> run_engine(const ResolvedQuery& query, SearchResult& result, const SearchOptions& options);

  // For passes of batches.
  std::shared_ptr<const cpu::ByteTable> codes_of(const std::shared_ptr<const Snapshot>& snapshot,
                                                 std::span<const double> usual_weights) {
    return derived_->codes.get(
        snapshot, [&] { return std::make_shared<cpu::ByteTable>(*snapshot, usual_weights); },
        [&](const cpu::ByteTable& codes) { return codes.suit(usual_weights); });
  }
  // For Engine::ta.
  std::shared_ptr<const cpu::SortedLists> lists_of(const std::shared_ptr<const Snapshot>& snapshot) {
    return derived_->lists.get(
        snapshot, [&] { return std::make_shared<cpu::SortedLists>(cpu::make_sorted_lists(*snapshot)); });
  }

  // The tree that the build left on its GPU, for the first copy of that kind there.
  std::shared_ptr<const gpu::LoadedTree> take_from_device(const DeviceOptions& options) {
    const bool fits = options.device == device_ &&
                      (options.memory == DeviceMemory::automatic || options.memory == DeviceMemory::device);
    const std::lock_guard lock(on_device_mutex_);
    return fits ? std::exchange(on_device_, nullptr) : nullptr;
  }

  // What searches make of a version. Handles of single versions share it: each batch may have one of its own.
  struct Derived {
    Derived() = default;
    explicit Derived(const OpenOptions& options) : code_table(options) {}

    VersionCache<cpu::ByteTable> codes;
    VersionCache<cpu::SortedLists> lists;
    VersionCache<LoggedView> logged;
    VersionCache<Snapshot> folded;
    KeptCodes code_table;
  };

  std::shared_ptr<Published> published_;
  std::unique_ptr<LiveIndex> live_;
  std::mutex on_device_mutex_;
  std::shared_ptr<const gpu::LoadedTree> on_device_;
  int device_ = kNoDevice;
  std::shared_ptr<Derived> derived_ = std::make_shared<Derived>();
};

}  // namespace culmen
