#include "gpu/search/single_search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "gpu/search/engines.h"
#include "gpu/search/pack_predicate.h"
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

void SingleSearch::search(const MirrorView& view, const ResolvedQuery& query, Engine engine,
                          SearchResult& result) const {
  std::unique_ptr<Workspace> workspace = pool_.take();
  result.hits = run(view, query, engine, *workspace, result.stats);
  pool_.give_back(std::move(workspace));
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
                          const SearchStateRef& state, const QueryArgument& query, bool is_filtered,
                          cudaStream_t stream) const {
  const MirrorRef mirror = mirror_for(view, engine, stream);
  visit_value_type(*view.snapshot, [&]<typename T>(T) {
    if (engine == Engine::scan) {
      launch_scan<T>(mirror, state, query, plan, is_filtered, stream);
    } else if (engine == Engine::gta) {
      launch_gta<T>(mirror, state, query, limits_, is_filtered, stream);
    } else {
      launch_bounded<T>(mirror, state, query, plan, is_filtered, stream);
    }
  });
}

std::vector<Hit> SingleSearch::run(const MirrorView& view, const ResolvedQuery& query, Engine engine,
                                   Workspace& workspace, SearchStats& stats) const {
  const GridPlan plan = make_plan(view, engine);
  const std::size_t outside = plan.num_bounds_outside(view.mirror->ref().num_slots);
  workspace.reserve(query.k, first_capacity(view, query, engine), outside);
  const std::vector<std::byte> predicate = pack_predicate(query.filter);
  const QueryArgument argument = workspace.argument(query, predicate);
  const auto k =
      static_cast<std::uint32_t>(std::min<std::size_t>(query.k, std::numeric_limits<std::uint32_t>::max()));
  KthBound kth_bound = {query.min_score, kNoId};
  for (;;) {
    const SearchStateRef state = workspace.next(k, kth_bound);
    launch(view, engine, plan, state, argument, !predicate.empty(), workspace.stream().get());
    const ResultHeader& result = workspace.wait();
    add_work(result, query.terms.size() + query.where.size(), query.bound.num_terms(), *view.snapshot, stats);
    if (result.outcome == Outcome::sorted) return to_hits(view, {workspace.hits(), result.num_hits});
    if (result.outcome == Outcome::unsorted) {
      if (result.num_hits == 0) return {};
      return to_hits(view, workspace.best_candidates(result.num_candidates, result.num_hits));
    }
    // The list overflowed. Rows that rank after the k-th row in the list are out, so the next pass starts with that row
    // as its k-th score bound and appends fewer. If the bound does not rise, as where the list holds fewer than 2 k
    // rows, the list grows.
    const KthBound before = kth_bound;
    if (state.capacity >= 2 * query.k) {
      const Candidate kth = workspace.kth_candidate(state.capacity, query.k);
      kth_bound = {kth.score, kth.id};
    }
    if (kth_bound.score == before.score && kth_bound.id == before.id)
      workspace.reserve(query.k, result.num_candidates, outside);
  }
}

}  // namespace culmen::gpu
