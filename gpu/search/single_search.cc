#include "gpu/search/single_search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "gpu/search/engines.h"
#include "gpu/search/work_stats.h"

namespace culmen::gpu {
namespace {

std::vector<Hit> to_hits(const MirrorView& view, std::span<const Candidate> candidates) {
  std::vector<Hit> hits(candidates.size());
  std::transform(candidates.begin(), candidates.end(), hits.begin(),
                 [&](const Candidate& candidate) { return to_hit(candidate, *view.mirror); });
  return hits;
}

MirrorRef mirror_for(const MirrorView& view, Engine engine, cudaStream_t stream) {
  if (engine == Engine::bounded) return view.mirror->ref();
  if (engine == Engine::gta) return view.mirror->ref_with_thresholds(*view.snapshot, stream);
  return view.mirror->ref_with_order(*view.snapshot, stream);
}

}  // namespace

SingleSearch::SingleSearch(const cuda::Limits& limits, WorkspacePool& pool, bool is_resident)
    : limits_(limits),
      pool_(pool),
      resident_(is_resident ? std::make_unique<ResidentSearch>(limits) : nullptr) {}

bool SingleSearch::is_for_resident(const MirrorView& view, const ResolvedQuery& query, Engine engine) const {
  return resident_ != nullptr && engine == Engine::bounded && ResidentSearch::takes(view, query);
}

GridPlan SingleSearch::make_plan(const MirrorView& view, Engine engine) const {
  const std::uint32_t num_slots = view.mirror->ref().num_slots;
  if (engine == Engine::gta) return {};  // gta walks partitions and reads no nodes
  return engine == Engine::scan ? plan_scan(num_slots, limits_) : plan_bounded(num_slots, limits_);
}

// A search has at most as many candidates as the index has rows. A huge k may just mean "no limit", as with min_score,
// so the list starts at the usual size whatever k is, and grows only if it overflows. gta needs room for all its heaps.
std::size_t SingleSearch::first_capacity(const MirrorView& view, const ResolvedQuery& query,
                                         Engine engine) const {
  const std::size_t heaps = engine == Engine::gta ? num_gta_blocks(limits_) * query.k : 0;
  return std::min<std::size_t>(view.snapshot->num_rows, std::max(kUsualCandidates, heaps));
}

void SingleSearch::launch(const MirrorView& view, Engine engine, const GridPlan& plan,
                          const SearchStateRef& state, const PackedArgument& query,
                          cudaStream_t stream) const {
  const MirrorRef mirror = mirror_for(view, engine, stream);
  visit_rows(view, [&]<typename T>(T) {
    if (engine == Engine::scan) {
      launch_scan<T>(mirror, state, query.argument, plan, query.kind, stream);
    } else if (engine == Engine::gta) {
      launch_gta<T>(mirror, state, query.argument, limits_, query.kind, stream);
    } else {
      launch_bounded<T>(mirror, state, query.argument, plan, query.kind, stream);
    }
  });
}

SingleSearch::Running::Running(const SingleSearch& search, const MirrorView& view, const ResolvedQuery& query,
                               Engine engine)
    : search_(search), view_(view), query_(query), engine_(engine), kth_bound_{query.min_score, kNoId} {
  if (search.is_for_resident(view, query, engine)) {
    turn_.emplace(*search.resident_);
    plan_ = search.resident_->plan(view);
    workspace_ = &turn_->workspace();
  } else {
    plan_ = search.make_plan(view, engine);
    own_workspace_ = search.pool_.take();
    workspace_ = own_workspace_.get();
  }
  num_outside_ = plan_.num_bounds_outside(view.mirror->ref().num_slots);
  workspace_->reserve(query.k, search.first_capacity(view, query, engine), num_outside_);
  if (!turn_) argument_.emplace(*workspace_, view, query);
  launch();
}

void SingleSearch::Running::launch() {
  const auto k =
      static_cast<std::uint32_t>(std::min<std::size_t>(query_.k, std::numeric_limits<std::uint32_t>::max()));
  const SearchStateRef state = workspace_->next(k, kth_bound_);
  capacity_ = state.capacity;
  if (turn_) return turn_->ask(view_, state, query_);
  search_.launch(view_, engine_, plan_, state, *argument_, workspace_->stream().get());
}

// What is to be done about an answer that is not in order is enqueued on the stream that a resident kernel is on.
const ResultHeader& SingleSearch::Running::wait() {
  if (!turn_) return workspace_->wait();
  const ResultHeader& result = turn_->wait();
  if (result.outcome != Outcome::sorted) turn_->leave();
  return result;
}

std::vector<Hit> SingleSearch::Running::finish(SearchStats& stats) {
  std::vector<Hit> hits;
  for (;;) {
    const ResultHeader& result = wait();
    add_work(result, query_.terms.size() + query_.where.size(), query_.bound.num_terms(), *view_.snapshot,
             stats);
    if (result.outcome == Outcome::sorted) {
      hits = to_hits(view_, {workspace_->hits(), result.num_hits});
      break;
    }
    if (result.outcome == Outcome::unsorted) {
      if (result.num_hits > 0)
        hits = to_hits(view_, workspace_->best_candidates(result.num_candidates, result.num_hits));
      break;
    }
    // The list overflowed. Rows that rank after the k-th row in the list are out, so the next pass starts with that row
    // as its k-th score bound and appends fewer. If the bound does not rise, as where the list holds fewer than 2 k
    // rows, the list grows.
    const KthBound before = kth_bound_;
    if (capacity_ >= 2 * query_.k) {
      const Candidate kth = workspace_->kth_candidate(capacity_, query_.k);
      kth_bound_ = {kth.score, kth.id};
    }
    if (kth_bound_.score == before.score && kth_bound_.id == before.id)
      workspace_->reserve(query_.k, result.num_candidates, num_outside_);
    launch();
  }
  if (own_workspace_ != nullptr) search_.pool_.give_back(std::move(own_workspace_));
  if (turn_) turn_->end();
  turn_.reset();
  return hits;
}

}  // namespace culmen::gpu
