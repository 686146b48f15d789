// DeviceGroup: divides batches among copies of an index, and asks all parts of one.
#include "api/device_group.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>

#include "api/batch_answers.h"
#include "api/group_context.h"
#include "api/group_members.h"
#include "api/group_pages.h"
#include "api/handle.h"
#include "api/row_rank.h"
#include "api/shard_answers.h"
#include "base/elapsed.h"
#include "base/floating_point_scope.h"
#include "base/worker.h"
#include "culmen/error.h"
#include "gpu/search/idle_pool.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::LoadBalance;
using gpu::MirrorView;
using Clock = std::chrono::steady_clock;
using Positions = GroupMembers::Positions;

constexpr const char* kKind = "DeviceGroup";

}  // namespace

class DeviceGroup::Impl {
 public:
  Impl(std::shared_ptr<const Published> index, std::span<const DeviceOptions> devices,
       std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded, DeviceLayout layout)
      : index_(std::move(index)), members_(index_, devices, loaded, layout) {}

  GroupMembers& members() { return members_; }

  SearchResult search(const Query& query, const SearchCall& call) {
    const Clock::time_point start = Clock::now();
    if (members_.hold_parts()) {
      SearchResult result = search_in_shards(members_.views_of(members_.everyone()), query, call, start);
      result.stats.elapsed_us = microseconds_since(start);
      return result;
    }
    SearchResult result;
    on_one([&](const IndexCopy& copy, const MirrorView& view) {
      result = copy.search(view, query, call, start);
    });
    return result;
  }

  std::uint64_t count_before(const Query& query, const Cursor& place, Watch* watch) {
    if (members_.hold_parts())
      return count_in_shards(members_.views_of(members_.everyone()), query, place, watch);
    std::uint64_t count = 0;
    on_one([&](const IndexCopy& copy, const MirrorView& view) {
      count = copy.count_before(view, query, place, watch);
    });
    return count;
  }

  std::optional<RowRank> rank_of(const Query& query, const auto& id, const SearchOptions& options) {
    Watch watch(options, 1);
    if (members_.hold_parts()) return rank_in_shards(query, id, watch.if_any());
    std::optional<RowRank> rank;
    on_one([&](const IndexCopy& copy, const MirrorView& view) {
      rank = copy.rank_of(view, query, is_id(id, *view.snapshot), watch.if_any());
    });
    return rank;
  }

  std::vector<SearchResult> search(std::span<const Query> queries, const SearchCall& call) {
    if (members_.hold_parts()) return search_shards(queries, call);
    std::vector<SearchResult> results(queries.size());
    Batch batch(members_, queries.size());
    batch.run([&](const IndexCopy& copy, const MirrorView& view, std::size_t first, std::size_t count) {
      copy.search(view, queries.subspan(first, count), call, std::span(results).subspan(first, count));
    });
    return results;
  }

  // That are answered apart: one for each part of the index.
  std::size_t parts_of_query() const { return members_.hold_parts() ? members_.size() : 1; }
  std::size_t num_attributes() const { return index_->get()->attributes.size(); }

  // Calls make_arrays(snapshot) once, for the answers of that version, and returns its number.
  std::uint64_t search_batch(const QueryBatch& batch, const SearchCall& call, const auto& make_arrays) {
    if (members_.hold_parts()) return search_batch_in_shards(batch, call, make_arrays);
    const std::size_t width = num_attributes();
    const std::size_t num_queries = num_queries_of(batch, width);
    Batch divided(members_, num_queries);
    AnswerArrays answers;
    // By the member that is first to need them, while all devices are at work.
    std::once_flag made;
    const auto arrays = [&] {
      std::call_once(made, [&] { answers = make_arrays(divided.snapshot()); });
      return answers;
    };
    if (num_queries == 0) {
      arrays();
    } else {
      divided.run([&](const IndexCopy& copy, const MirrorView& view, std::size_t first, std::size_t count) {
        QueryBatch part = batch;
        part.weights = batch.weights.subspan(first * width, count * width);
        copy.search_batch(view, part, call, first, arrays);
      });
    }
    return divided.snapshot().version;
  }

  std::unique_ptr<GroupContext::Impl> make_context(const GroupContextOptions& options) const {
    if (options.device != kNoDevice) cuda::require_device(options.device);
    return std::make_unique<GroupContext::Impl>(members_.devices(), options);
  }

  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, GroupContext::Impl& context) {
    const FloatingPointScope floating_point;
    gpu::AsyncSearch::check(batch, answers);
    if (!context.is_for(members_.devices())) throw InvalidArgument("a context of another group of GPUs");
    if (members_.hold_parts() && members_.size() > 1 && batch.num_queries > 0)
      search_async_in_shards(batch, answers, context);
    else
      search_async_in_copies(batch, answers, context);
  }

 private:
  // Queries divided among members, over views of one version.
  class Batch {
   public:
    Batch(GroupMembers& group, std::size_t num_queries) : group_(group) {
      group.divide(num_queries, members_, shares_);
      views_ = group.views_of(members_);
    }

    const Snapshot& snapshot() const { return *views_.front().snapshot; }

    // Calls search(copy, view, first, count) for each share.
    void run(const auto& search) {
      const GroupMembers::Turn turn(group_, members_);
      std::vector<std::exception_ptr> errors(members_.size());
      std::vector<LoadBalance::Part> parts(members_.size());
      const auto run_part = [&](std::size_t i, std::size_t first) {
        const Clock::time_point start = Clock::now();
        errors[i] = caught([&] { search(group_.copy(members_[i]), views_[i], first, shares_[i]); });
        const std::chrono::duration<double> elapsed = Clock::now() - start;
        parts[i] = {members_[i], shares_[i], elapsed.count()};
      };
      if (members_.size() == 1) {
        run_part(0, 0);
      } else {
        Ends ends(members_.size());
        std::size_t first = 0;
        for (std::size_t i = 0; i < members_.size(); first += shares_[i++])
          ends.add(group_.worker(members_[i]).run([&run_part, i, first] { run_part(i, first); }));
      }
      group_.check(members_, errors);
      if (members_.size() > 1) group_.record(parts);
    }

   private:
    GroupMembers& group_;
    Positions members_;
    std::vector<std::size_t> shares_;
    std::vector<MirrorView> views_;
  };

  // Calls answer(copy, view) for the member that has the least to do.
  void on_one(const auto& answer) {
    const Positions one = {members_.choose()};
    const GroupMembers::Turn turn(members_, one);
    members_.check(one,
                   {caught([&] { answer(members_.copy(one.front()), members_.views_of(one).front()); })});
  }

  // Calls search(m, view) for each member, on their threads and this one.
  void on_shards(const std::vector<MirrorView>& views, const auto& search) {
    std::vector<std::exception_ptr> errors(members_.size());
    const auto run = [&](std::size_t m) { errors[m] = caught([&] { search(m, views[m]); }); };
    {
      Ends ends(members_.size());
      for (std::size_t m = 1; m < members_.size(); ++m)
        ends.add(members_.worker(m).run([&run, m] { run(m); }));
      run(0);
    }
    members_.check(members_.everyone(), errors);
  }

  // Launches one after the other would take as long as the search, so the members' threads launch if they are awake.
  // Waking them takes as long: those that sleep are woken for the next query. Of two members, the second's launch takes
  // no longer than handing it over.
  void launch_in_shards(const auto& launch) {
    // A turn at a resident kernel is taken and ended by one thread.
    const auto may_hand_over = [&](std::size_t m) {
      return m > 0 && members_.size() > 2 && !members_.copy(m).is_resident();
    };
    Positions own;
    {
      Ends ends(members_.size());
      for (const std::size_t m : members_.everyone()) {
        if (may_hand_over(m) && members_.worker(m).is_waiting()) {
          ends.add(members_.worker(m).run([&launch, m] { launch(m); }));
        } else {
          own.push_back(m);
        }
      }
      for (const std::size_t m : own) launch(m);
      ends.spin();
    }
    for (const std::size_t m : own)
      if (may_hand_over(m)) static_cast<void>(members_.worker(m).run([] {}));
  }

  SearchResult search_in_shards(const std::vector<MirrorView>& views, const Query& query,
                                const SearchCall& call, Clock::time_point start) {
    if (query.per && call.full_groups == nullptr)
      return search_by_pages(query, *views.front().snapshot,
                             [&](const Query& page, const std::vector<GroupKey>& full) {
                               return search_in_shards(views, page, {call.engine, call.watch, &full}, start);
                             });
    std::vector<std::unique_ptr<IndexCopy::Started>> started(members_.size());
    std::vector<std::vector<SearchResult>> parts(members_.size());
    std::vector<std::exception_ptr> errors(members_.size());
    launch_in_shards([&](std::size_t m) {
      errors[m] = caught([&] { started[m] = members_.copy(m).begin(views[m], query, call, start); });
    });
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (errors[m] == nullptr)
        errors[m] = caught([&] { parts[m].push_back(members_.copy(m).finish(*started[m])); });
    members_.check(members_.everyone(), errors);
    const std::size_t k = resolve_k(query, *views.front().snapshot);
    return std::move(merge_results(std::move(parts), std::span(&k, 1)).front());
  }

  std::uint64_t count_in_shards(const std::vector<MirrorView>& views, const Query& query, const Cursor& place,
                                Watch* watch) {
    std::vector<std::uint64_t> counts(members_.size());
    on_shards(views, [&](std::size_t m, const MirrorView& view) {
      counts[m] = members_.copy(m).count_before(view, query, place, watch);
    });
    return std::reduce(counts.begin(), counts.end());
  }

  std::optional<RowRank> rank_in_shards(const Query& query, const auto& id, Watch* watch) {
    const std::vector<MirrorView> views = members_.views_of(members_.everyone());
    const Snapshot& version = *views.front().snapshot;
    const Query only = only_row(query, is_id(id, version));
    std::optional<std::vector<Hit>> hits = hits_without_search(version, only);
    if (!hits) hits = search_in_shards(views, only, {.watch = watch}, Clock::now()).hits;
    return rank_of_hit(*hits, version.version, [&](double score, std::int64_t of_row) {
      return count_in_shards(views, query, {score, of_row}, watch);
    });
  }

  std::vector<SearchResult> search_shards(std::span<const Query> queries, const SearchCall& call) {
    const std::vector<MirrorView> views = members_.views_of(members_.everyone());
    // Groups are counted over all parts, a query at a time.
    std::vector<Query> others;
    std::ranges::copy_if(queries, std::back_inserter(others), [](const Query& query) { return !query.per; });
    std::vector<SearchResult> together = search_shards(views, others, call);
    if (others.size() == queries.size()) return together;
    std::vector<SearchResult> results;
    for (auto next = together.begin(); const Query& query : queries) {
      results.push_back(query.per ? search_in_shards(views, query, call, Clock::now()) : std::move(*next++));
      if (query.per) count_answered(call.watch, members_.size());
    }
    return results;
  }

  std::vector<SearchResult> search_shards(const std::vector<MirrorView>& views,
                                          std::span<const Query> queries, const SearchCall& call) {
    std::vector<std::vector<SearchResult>> parts(members_.size());
    on_shards(views, [&](std::size_t m, const MirrorView& view) {
      parts[m].resize(queries.size());
      members_.copy(m).search(view, queries, call, parts[m]);
    });
    std::vector<std::size_t> ks;
    for (const Query& query : queries) ks.push_back(resolve_k(query, *views.front().snapshot));
    return merge_results(std::move(parts), ks);
  }

  std::uint64_t search_batch_in_shards(const QueryBatch& batch, const SearchCall& call,
                                       const auto& make_arrays) {
    const std::vector<MirrorView> views = members_.views_of(members_.everyone());
    const Snapshot& snapshot = *views.front().snapshot;
    const std::size_t num_queries = num_queries_of(batch, snapshot.attributes.size());
    if (num_queries > 0) {
      const std::vector<BatchAnswers> parts = answers_of_parts(views, batch, call, num_queries);
      merge_answers(parts, make_arrays(snapshot));
    } else {
      make_arrays(snapshot);
    }
    return snapshot.version;
  }

  std::vector<BatchAnswers> answers_of_parts(const std::vector<MirrorView>& views, const QueryBatch& batch,
                                             const SearchCall& call, std::size_t num_queries) {
    std::vector<BatchAnswers> parts(members_.size());
    std::unique_ptr<SharedBounds> bounds = bounds_to_share(num_queries);
    on_shards(views, [&](std::size_t m, const MirrorView& view) {
      members_.copy(m).search_batch(
          view, batch, call, 0,
          [&] {
            parts[m] = make_answers(batch, *view.snapshot);
            return arrays_of(parts[m]);
          },
          bounds->data());
    });
    bounds_.give_back(std::move(bounds));
    return parts;
  }

  void search_async_in_copies(const DeviceBatch& batch, const DeviceAnswers& answers,
                              GroupContext::Impl& context) {
    Positions members;
    std::vector<std::size_t> shares;
    members_.divide(batch.num_queries, members, shares);
    if (members.size() == 1) members = {members_.at_home(members.front(), context.home())};
    const std::vector<MirrorView> views = members_.views_of(members);
    const std::vector<DeviceBatch> parts = parts_of(batch, shares, width_of(views));
    std::vector<DeviceAnswers> to;
    std::size_t first = 0;
    for (const std::size_t share : shares) {
      to.push_back(answers_from(answers, first, batch.k));
      first += share;
    }
    enqueue(members, views, parts, to, nullptr, context);
  }

  // Every member answers all queries, and the home merges. The more queries at once, the cheaper is each.
  void search_async_in_shards(const DeviceBatch& batch, const DeviceAnswers& answers,
                              GroupContext::Impl& context) {
    const Positions members = members_.everyone();
    const std::vector<MirrorView> views = members_.views_of(members);
    const std::size_t at_once = context.queries_at_once(batch.k);
    for (std::size_t first = 0; first < batch.num_queries; first += at_once) {
      DeviceBatch run = batch;
      run.weights += first * width_of(views);
      run.num_queries = std::min(at_once, batch.num_queries - first);
      gpu::PartAnswers* found = nullptr;
      on_home(context, [&] { found = &context.start_parts(run); });
      std::vector<DeviceAnswers> to;
      for (const std::size_t m : members) to.push_back(found->of_part(m));
      enqueue(members, views, std::vector(members.size(), run), to, found->shared_bounds(), context);
      on_home(context, [&] { found->merge(answers_from(answers, first, batch.k), context.stream()); });
    }
  }

  // Each member's part of a batch, on its lane. The stream goes on after all of them.
  void enqueue(const Positions& members, std::span<const MirrorView> views,
               std::span<const DeviceBatch> parts, std::span<const DeviceAnswers> answers,
               double* shared_bounds, GroupContext::Impl& context) {
    const std::size_t width = width_of(views);
    members_.check(members, members_.on_devices(members, [&](std::size_t i) {
      context.lane(members[i]).reserve(parts[i], width);
    }));
    const cuda::Event& start = context.mark_start();
    std::vector<std::exception_ptr> errors = members_.on_devices(members, [&](std::size_t i) {
      const gpu::AsyncSearch& async = members_.copy(members[i]).async_search();
      context.lane(members[i]).enqueue(async, views[i], parts[i], answers[i], start, shared_bounds);
    });
    // The stream waits for those that have failed, too: they may have begun.
    const std::vector<std::exception_ptr> ends = members_.on_devices(
        members, [&](std::size_t i) { context.wait_for(context.lane(members[i]).end()); });
    for (std::size_t i = 0; i < members.size(); ++i)
      if (errors[i] == nullptr) errors[i] = ends[i];
    members_.check(members, errors);
  }

  // Calls work() on the home, which need not be a member.
  static void on_home(const GroupContext::Impl& context, const auto& work) {
    const std::exception_ptr error = caught([&] {
      const cuda::DeviceScope scope(context.home());
      work();
    });
    if (error == nullptr) return;
    const std::exception_ptr fault = cuda::as_fault_of(context.home(), error);
    std::rethrow_exception(fault != nullptr ? fault : error);
  }

  static std::size_t width_of(std::span<const MirrorView> views) {
    return static_cast<std::size_t>(views.front().snapshot->num_attributes());
  }

  static DeviceAnswers answers_from(const DeviceAnswers& answers, std::size_t first, std::size_t k) {
    return {answers.ids + first * k, answers.scores + first * k, answers.counts + first};
  }

  // One for each query, none of which excludes a row yet.
  using SharedBounds = cuda::Buffer<double>;
  std::unique_ptr<SharedBounds> bounds_to_share(std::size_t num_queries) {
    std::unique_ptr<SharedBounds> bounds = bounds_.take();
    if (bounds == nullptr) bounds = std::make_unique<SharedBounds>();
    members_.check({0}, members_.on_devices({0}, [&](std::size_t) {
      cuda::grow(*bounds, num_queries, cuda::Memory::pinned);
    }));
    std::fill_n(bounds->data(), num_queries, -std::numeric_limits<double>::infinity());
    return bounds;
  }

  static std::vector<DeviceBatch> parts_of(const DeviceBatch& batch, std::span<const std::size_t> shares,
                                           std::size_t width) {
    std::vector<DeviceBatch> parts(shares.size(), batch);
    const double* weights = batch.weights;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      parts[i].weights = weights;
      parts[i].num_queries = shares[i];
      weights += shares[i] * width;
    }
    return parts;
  }

  const std::shared_ptr<const Published> index_;
  GroupMembers members_;
  gpu::IdlePool<SharedBounds> bounds_;  // of batches over parts
};

DeviceGroup make_device_group(std::shared_ptr<const Published> index, std::span<const DeviceOptions> devices,
                              std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded,
                              DeviceLayout layout) {
  for (const DeviceOptions& options : devices) cuda::require_device(options.device);
  return DeviceGroup(std::make_shared<DeviceGroup::Impl>(std::move(index), devices, loaded, layout));
}

SearchResult DeviceGroup::search(const Query& query, const SearchOptions& options) const {
  check_device_search(options);
  Impl& group = held_by(impl_, kKind);
  Watch watch(options, 1, group.parts_of_query());
  return group.search(query, {options.engine, watch.if_any()});
}

std::vector<SearchResult> DeviceGroup::search(std::span<const Query> queries,
                                              const SearchOptions& options) const {
  check_device_search(options);
  Impl& group = held_by(impl_, kKind);
  Watch watch(options, queries.size(), group.parts_of_query());
  return group.search(queries, {options.engine, watch.if_any()});
}

BatchAnswers DeviceGroup::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  check_device_search(options);
  BatchAnswers answers;
  Impl& group = held_by(impl_, kKind);
  Watch watch(options, num_queries_of(batch, group.num_attributes()), group.parts_of_query());
  group.search_batch(batch, {options.engine, watch.if_any()}, [&](const Snapshot& snapshot) {
    answers = make_answers(batch, snapshot);
    return arrays_of(answers);
  });
  return answers;
}

std::uint64_t DeviceGroup::search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                                        const SearchOptions& options) const {
  check_device_search(options);
  Impl& group = held_by(impl_, kKind);
  check_arrays(batch, group.num_attributes(), answers);
  Watch watch(options, answers.counts.size(), group.parts_of_query());
  return group.search_batch(batch, {options.engine, watch.if_any()},
                            [&](const Snapshot& /*snapshot*/) { return answers; });
}

std::uint64_t DeviceGroup::count_above(const Query& query, double score, const SearchOptions& options) const {
  check_device_search(options);
  Impl& group = held_by(impl_, kKind);
  Watch watch(options, 1);
  return group.count_before(query, place_above(score), watch.if_any());
}

std::optional<RowRank> DeviceGroup::rank_of(const Query& query, std::int64_t id,
                                            const SearchOptions& options) const {
  check_device_search(options);
  return held_by(impl_, kKind).rank_of(query, id, options);
}

std::optional<RowRank> DeviceGroup::rank_of(const Query& query, std::string_view text,
                                            const SearchOptions& options) const {
  check_device_search(options);
  return held_by(impl_, kKind).rank_of(query, text, options);
}

GroupContext DeviceGroup::make_context(const GroupContextOptions& options) const {
  return GroupContext(held_by(impl_, kKind).make_context(options));
}

void DeviceGroup::search_async(const DeviceBatch& batch, const DeviceAnswers& answers,
                               GroupContext& context) const {
  held_by(impl_, kKind).search_async(batch, answers, held_by(context.impl_, "GroupContext"));
}

std::vector<RefreshStats> DeviceGroup::refresh() const {
  return held_by(impl_, kKind).members().refresh();
}

std::vector<DeviceMember> DeviceGroup::members() const {
  return held_by(impl_, kKind).members().list();
}

std::vector<int> DeviceGroup::devices() const {
  std::vector<int> numbers;
  for (const DeviceMember& member : members()) numbers.push_back(member.device);
  return numbers;
}

}  // namespace culmen
