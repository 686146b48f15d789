// DeviceGroup: divides batches among copies of an index, and brings all of them to one version.
#include "api/device_group.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <limits>
#include <mutex>
#include <numeric>
#include <string>

#include "api/batch_answers.h"
#include "api/group_context.h"
#include "api/handle.h"
#include "api/index_copy.h"
#include "api/shard_answers.h"
#include "base/floating_point_scope.h"
#include "base/lock_isolated.h"
#include "base/worker.h"
#include "culmen/error.h"
#include "gpu/group/load_balance.h"
#include "gpu/search/idle_pool.h"
#include "index/partitioner.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::LoadBalance;
using gpu::MirrorView;
using Clock = std::chrono::steady_clock;
using Positions = std::vector<std::size_t>;  // of members in their group

constexpr const char* kKind = "DeviceGroup";

}  // namespace

class DeviceGroup::Impl {
 public:
  Impl(std::shared_ptr<const Published> index, std::span<const DeviceOptions> devices,
       std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded, DeviceLayout layout)
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
      if (layout_ == DeviceLayout::shard)
        part = {static_cast<std::uint32_t>(m), static_cast<std::uint32_t>(members_.size()), together};
      members_[m].copy = std::make_unique<const IndexCopy>(index_, devices[m], loaded[m].get(), part);
    });
  }

  SearchResult search(const Query& query, const SearchCall& call) {
    const Clock::time_point start = Clock::now();
    if (layout_ == DeviceLayout::shard) {
      SearchResult result = search_in_shards(query, call, start);
      result.stats.elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      return result;
    }
    const Positions one = {choose()};
    const Turn turn(*this, one);
    SearchResult result;
    check(one, {caught([&] {
            const IndexCopy& copy = *members_[one.front()].copy;
            result = copy.search(views_of(one).front(), query, call, start);
          })});
    return result;
  }

  std::vector<SearchResult> search(std::span<const Query> queries, const SearchCall& call) {
    if (layout_ == DeviceLayout::shard) return search_shards(queries, call);
    std::vector<SearchResult> results(queries.size());
    Batch batch(*this, queries.size());
    batch.run([&](const IndexCopy& copy, const MirrorView& view, std::size_t first, std::size_t count) {
      copy.search(view, queries.subspan(first, count), call, std::span(results).subspan(first, count));
    });
    return results;
  }

  // That are answered apart: one for each part of the index.
  std::size_t parts_of_query() const { return layout_ == DeviceLayout::shard ? members_.size() : 1; }
  std::size_t num_attributes() const { return index_->get()->attributes.size(); }

  // Calls make_arrays(snapshot) once, for the answers of that version, and returns its number.
  std::uint64_t search_batch(const QueryBatch& batch, const SearchCall& call, const auto& make_arrays) {
    if (layout_ == DeviceLayout::shard) return search_batch_in_shards(batch, call, make_arrays);
    const std::size_t width = num_attributes();
    const std::size_t num_queries = num_queries_of(batch, width);
    Batch divided(*this, num_queries);
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
    return std::make_unique<GroupContext::Impl>(devices(), options);
  }

  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, GroupContext::Impl& context) {
    const FloatingPointScope floating_point;
    gpu::AsyncSearch::check(batch, answers);
    if (!context.is_for(devices())) throw InvalidArgument("a context of another group of GPUs");
    if (layout_ == DeviceLayout::shard && members_.size() > 1 && batch.num_queries > 0)
      search_async_in_shards(batch, answers, context);
    else
      search_async_in_copies(batch, answers, context);
  }

  std::vector<RefreshStats> refresh() {
    std::vector<RefreshStats> stats(members_.size());
    lock_isolated(follow_mutex_, [&] {
      const std::shared_ptr<const Snapshot> snapshot = index_->get();
      on_each(everyone(), [&](std::size_t m) {
        members_[m].copy->follow(snapshot, stats[m]);
        set_usable(m, true);
      });
    });
    return stats;
  }

  std::vector<DeviceMember> members() const {
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

 private:
  struct Member {
    int device = 0;
    std::unique_ptr<const IndexCopy> copy;
    Worker worker;  // ends first
  };

  // Counts the members as busy during its life.
  class Turn {
   public:
    Turn(Impl& group, const Positions& members) : group_(group), members_(members) { change(1); }
    ~Turn() { change(-1); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    void change(int by) {
      const std::lock_guard lock(group_.mutex_);
      for (const std::size_t m : members_) group_.in_flight_[m] += static_cast<std::uint32_t>(by);
    }

    Impl& group_;
    const Positions& members_;
  };

  // Queries divided among members, over views of one version.
  class Batch {
   public:
    Batch(Impl& group, std::size_t num_queries) : group_(group) {
      group.divide(num_queries, members_, shares_);
      views_ = group.views_of(members_);
    }

    const Snapshot& snapshot() const { return *views_.front().snapshot; }

    // Calls search(copy, view, first, count) for each share.
    void run(const auto& search) {
      const Turn turn(group_, members_);
      std::vector<std::exception_ptr> errors(members_.size());
      std::vector<LoadBalance::Part> parts(members_.size());
      const auto run_part = [&](std::size_t i, std::size_t first) {
        const Clock::time_point start = Clock::now();
        errors[i] = caught([&] { search(*group_.members_[members_[i]].copy, views_[i], first, shares_[i]); });
        const std::chrono::duration<double> elapsed = Clock::now() - start;
        parts[i] = {members_[i], shares_[i], elapsed.count()};
      };
      if (members_.size() == 1) {
        run_part(0, 0);
      } else {
        Ends ends(members_.size());
        std::size_t first = 0;
        for (std::size_t i = 0; i < members_.size(); first += shares_[i++])
          ends.add(group_.members_[members_[i]].worker.run([&run_part, i, first] { run_part(i, first); }));
      }
      group_.check(members_, errors);
      if (members_.size() > 1) group_.record(parts);
    }

   private:
    Impl& group_;
    Positions members_;
    std::vector<std::size_t> shares_;
    std::vector<MirrorView> views_;
  };

  // How many partitions are dealt together: a few, so that each part has some of every region of the tree. The same for
  // all parts, and for good, although the number of partitions changes.
  std::uint32_t partitions_together() const {
    constexpr std::uint32_t kMostTogether = 8, kLeastDeals = 32;
    const auto deals = kLeastDeals * static_cast<std::uint32_t>(members_.size());
    return std::clamp(index_->get()->partitioner->num_partitions() / deals, 1u, kMostTogether);
  }

  double weight_of(std::size_t member) const {
    return layout_ == DeviceLayout::replicate ? balance_.speeds()[member]
                                              : static_cast<double>(members_[member].copy->device_bytes());
  }

  // Calls search(m, view) for each member, on their threads and this one.
  void on_shards(const std::vector<MirrorView>& views, const auto& search) {
    std::vector<std::exception_ptr> errors(members_.size());
    const auto run = [&](std::size_t m) { errors[m] = caught([&] { search(m, views[m]); }); };
    {
      Ends ends(members_.size());
      for (std::size_t m = 1; m < members_.size(); ++m)
        ends.add(members_[m].worker.run([&run, m] { run(m); }));
      run(0);
    }
    check(everyone(), errors);
  }

  // All launches are this thread's: waking another takes as long as many a search.
  SearchResult search_in_shards(const Query& query, const SearchCall& call, Clock::time_point start) {
    const std::vector<MirrorView> views = views_of(everyone());
    std::vector<std::unique_ptr<IndexCopy::Started>> started(members_.size());
    std::vector<std::vector<SearchResult>> parts(members_.size());
    std::vector<std::exception_ptr> errors;
    for (std::size_t m = 0; m < members_.size(); ++m)
      errors.push_back(caught([&] { started[m] = members_[m].copy->begin(views[m], query, call, start); }));
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (errors[m] == nullptr)
        errors[m] = caught([&] { parts[m].push_back(members_[m].copy->finish(*started[m])); });
    check(everyone(), errors);
    const std::size_t k = resolve_k(query, *views.front().snapshot);
    return std::move(merge_results(std::move(parts), std::span(&k, 1)).front());
  }

  std::vector<SearchResult> search_shards(std::span<const Query> queries, const SearchCall& call) {
    const std::vector<MirrorView> views = views_of(everyone());
    std::vector<std::vector<SearchResult>> parts(members_.size());
    on_shards(views, [&](std::size_t m, const MirrorView& view) {
      parts[m].resize(queries.size());
      members_[m].copy->search(view, queries, call, parts[m]);
    });
    std::vector<std::size_t> ks;
    for (const Query& query : queries) ks.push_back(resolve_k(query, *views.front().snapshot));
    return merge_results(std::move(parts), ks);
  }

  std::uint64_t search_batch_in_shards(const QueryBatch& batch, const SearchCall& call,
                                       const auto& make_arrays) {
    const std::vector<MirrorView> views = views_of(everyone());
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
      members_[m].copy->search_batch(
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
    divide(batch.num_queries, members, shares);
    if (members.size() == 1) members = {at_home(members.front(), context.home())};
    const std::vector<MirrorView> views = views_of(members);
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
    const Positions members = everyone();
    const std::vector<MirrorView> views = views_of(members);
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
    check(members,
          on_devices(members, [&](std::size_t i) { context.lane(members[i]).reserve(parts[i], width); }));
    const cuda::Event& start = context.mark_start();
    std::vector<std::exception_ptr> errors = on_devices(members, [&](std::size_t i) {
      const gpu::AsyncSearch& async = members_[members[i]].copy->async_search();
      context.lane(members[i]).enqueue(async, views[i], parts[i], answers[i], start, shared_bounds);
    });
    // The stream waits for those that have failed, too: they may have begun.
    const std::vector<std::exception_ptr> ends =
        on_devices(members, [&](std::size_t i) { context.wait_for(context.lane(members[i]).end()); });
    for (std::size_t i = 0; i < members.size(); ++i)
      if (errors[i] == nullptr) errors[i] = ends[i];
    check(members, errors);
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
    check({0}, on_devices({0}, [&](std::size_t) { cuda::grow(*bounds, num_queries, cuda::Memory::pinned); }));
    std::fill_n(bounds->data(), num_queries, -std::numeric_limits<double>::infinity());
    return bounds;
  }

  static std::exception_ptr caught(const auto& work) {
    try {
      work();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  Positions everyone() const {
    Positions all(members_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  // Those that have not failed; if all have, all. mutex_ is locked.
  Positions usable() {
    Positions members;
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (is_usable_[m]) members.push_back(m);
    if (!members.empty()) return members;
    is_usable_.assign(members_.size(), true);
    return everyone();
  }

  std::size_t choose() {
    const std::lock_guard lock(mutex_);
    return balance_.choose(usable(), in_flight_);
  }

  // Sets the members that get a share of a batch, and their shares.
  void divide(std::size_t num_queries, Positions& members, std::vector<std::size_t>& shares) {
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

  void record(std::span<const LoadBalance::Part> parts) {
    const std::lock_guard lock(mutex_);
    balance_.record(parts);
  }

  void set_usable(std::size_t member, bool is_usable) {
    const std::lock_guard lock(mutex_);
    is_usable_[member] = is_usable;
  }

  // Sets aside the members with an error of CUDA, then throws the first error.
  void check(const Positions& members, const std::vector<std::exception_ptr>& errors) {
    std::exception_ptr first;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (errors[i] == nullptr) continue;
      const std::exception_ptr fault = cuda::as_fault_of(members_[members[i]].device, errors[i]);
      if (fault != nullptr && layout_ == DeviceLayout::replicate) set_usable(members[i], false);
      if (first == nullptr) first = fault != nullptr ? fault : errors[i];
    }
    if (first != nullptr) std::rethrow_exception(first);
  }

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

  std::vector<int> devices() const {
    std::vector<int> numbers;
    for (const Member& member : members_) numbers.push_back(member.device);
    return numbers;
  }

  // A usable member on this device, which need not copy weights and answers; `member` if there is none.
  std::size_t at_home(std::size_t member, int home) {
    const std::lock_guard lock(mutex_);
    const Positions all = usable();
    const auto found = std::ranges::find_if(all, [&](std::size_t m) { return members_[m].device == home; });
    return found == all.end() ? member : *found;
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

  // Views of one version, the one that is published now. Copies what is new in it first.
  std::vector<MirrorView> views_of(const Positions& members) {
    const std::shared_ptr<const Snapshot> snapshot = index_->get();
    std::vector<MirrorView> views;
    for (const std::size_t m : members)
      if (std::optional<MirrorView> view = members_[m].copy->view_of(snapshot))
        views.push_back(*std::move(view));
    if (views.size() == members.size()) return views;
    views.assign(members.size(), {});
    lock_isolated(follow_mutex_, [&] {
      const std::shared_ptr<const Snapshot> now = index_->get();
      on_each(members, [&](std::size_t i) {
        RefreshStats stats;
        views[i] = members_[members[i]].copy->follow(now, stats);
      });
    });
    return views;
  }

  const std::shared_ptr<const Published> index_;
  const DeviceLayout layout_;
  std::vector<Member> members_;
  // Held while copies follow: they all go from one version to another, and never back.
  std::mutex follow_mutex_;

  gpu::IdlePool<SharedBounds> bounds_;  // of batches over parts

  mutable std::mutex mutex_;  // held briefly
  LoadBalance balance_;
  std::vector<std::uint32_t> in_flight_;
  std::vector<bool> is_usable_;
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

GroupContext DeviceGroup::make_context(const GroupContextOptions& options) const {
  return GroupContext(held_by(impl_, kKind).make_context(options));
}

void DeviceGroup::search_async(const DeviceBatch& batch, const DeviceAnswers& answers,
                               GroupContext& context) const {
  held_by(impl_, kKind).search_async(batch, answers, held_by(context.impl_, "GroupContext"));
}

std::vector<RefreshStats> DeviceGroup::refresh() const {
  return held_by(impl_, kKind).refresh();
}

std::vector<DeviceMember> DeviceGroup::members() const {
  return held_by(impl_, kKind).members();
}

std::vector<int> DeviceGroup::devices() const {
  std::vector<int> numbers;
  for (const DeviceMember& member : members()) numbers.push_back(member.device);
  return numbers;
}

}  // namespace culmen
