// IndexCopy: the copy of an index on one device, and what searches it. A DeviceIndex has one, a DeviceGroup several.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "culmen/device.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/limits.h"
#include "gpu/mirror/mirror.h"
#include "gpu/search/async_search.h"
#include "gpu/search/batch_search.h"
#include "gpu/search/count_search.h"
#include "gpu/search/flat_search.h"
#include "gpu/search/single_search.h"
#include "gpu/search/workspace.h"
#include "query/row_groups.h"
#include "query/watch.h"

namespace culmen {

// How a call is to be answered.
struct SearchCall {
  Engine engine = Engine::automatic;
  Watch* watch = nullptr;
  // Of a query with `per`: groups whose rows are left out, ascending; the search itself counts none. Null: the call is to
  // find them (group_pages.h).
  const std::vector<GroupKey>* full_groups = nullptr;
};

// Thread-safe. Methods make the device current while they run.
class IndexCopy {
 public:
  // Throws as Index::to_device. loaded: as in make_device_index(). part: of the index, all of it or that of a shard.
  IndexCopy(std::shared_ptr<const Published> index, const DeviceOptions& options,
            const gpu::LoadedTree* loaded, const gpu::ShardPart& part = {});

  // The version that is published now; the copy follows it first.
  gpu::MirrorView latest() const;
  // That version, if the copy has it.
  std::optional<gpu::MirrorView> view_of(const std::shared_ptr<const Snapshot>& snapshot) const;
  // That version, which is published, or was after the one that the copy has.
  gpu::MirrorView follow(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats,
                         ChangesOfVersion& found) const;
  RefreshStats refresh() const;

  using Clock = std::chrono::steady_clock;
  // start: of the call, for SearchStats::elapsed_us.
  SearchResult search(const gpu::MirrorView& view, const Query& query, const SearchCall& call,
                      Clock::time_point start) const;
  // The same in two steps, between which other devices can begin theirs.
  class Started;
  std::unique_ptr<Started> begin(const gpu::MirrorView& view, const Query& query, const SearchCall& call,
                                 Clock::time_point start) const;
  SearchResult finish(Started& started) const;
  // Writes as many results as there are queries.
  void search(const gpu::MirrorView& view, std::span<const Query> queries, const SearchCall& call,
              std::span<SearchResult> results) const;
  // The first query's answer is that of query `first` in answers(), which, as in FlatSearch, is called only if there are
  // queries.
  // shared_bounds: as there, of a part of an index.
  void search_batch(const gpu::MirrorView& view, const QueryBatch& batch, const SearchCall& call,
                    std::size_t first, const gpu::FlatSearch::Answers& answers,
                    double* shared_bounds = nullptr) const;

  // As Index::count_before, of the rows that the copy has. The place has no text.
  std::uint64_t count_before(const gpu::MirrorView& view, const Query& query, const Cursor& place,
                             Watch* watch) const;
  // As Index::rank_of, for the row that passes the filter.
  std::optional<RowRank> rank_of(const gpu::MirrorView& view, const Query& query, const Filter& is_row,
                                 Watch* watch) const;

  std::unique_ptr<gpu::Context> make_context(const ContextOptions& options) const;
  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, gpu::Context& context) const;
  const gpu::AsyncSearch& async_search() const { return async_search_; }

  int device() const { return device_; }
  DeviceMemory memory() const { return mirror_.memory(); }
  std::size_t device_bytes() const { return mirror_.device_bytes(); }
  bool is_resident() const { return num_resident_multiprocessors() > 0; }
  unsigned num_resident_multiprocessors() const { return single_search_.num_resident_multiprocessors(); }

 private:
  SearchResult make_result(const gpu::MirrorView& view, Engine engine) const;
  void search_current(const gpu::MirrorView& view, std::span<const Query> queries, const SearchCall& call,
                      std::span<SearchResult> results) const;

  int device_;
  std::optional<cuda::DeviceScope> scope_;  // during construction only
  cuda::Limits limits_;
  mutable gpu::Mirror mirror_;
  mutable gpu::WorkspacePool pool_;  // destroyed before the mirror: a workspace waits for its stream
  gpu::SingleSearch single_search_;
  gpu::CountSearch count_search_;
  gpu::BatchSearch batch_search_;
  gpu::AsyncSearch async_search_;
  gpu::FlatSearch flat_search_;
};

// A search that has been launched. It stays where it is made: resolved queries are large.
class IndexCopy::Started {
 private:
  friend class IndexCopy;
  Started(const IndexCopy& copy, const gpu::MirrorView& view, const Query& query, const SearchCall& call,
          Clock::time_point start);

  gpu::MirrorView view_;
  Clock::time_point start_;
  ResolvedQuery query_;
  SearchResult result_;                                // without hits
  std::optional<gpu::SingleSearch::Running> running_;  // none: no rows
};

// Throws InvalidArgument for what no search on a device can do.
void check_device_search(const SearchOptions& options);

}  // namespace culmen
