#include "shard/search_shards.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "cpu/bounded.h"
#include "cpu/topk.h"
#include "culmen/error.h"
#include "culmen/shard_messages.h"
#include "index/read_session.h"
#include "index/write/log_beside.h"
#include "planner/shared_pass.h"
#include "query/few_ids.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using ShardClock = std::chrono::steady_clock;

class Question {
 public:
  Question(const ShardState& state, const Query& query, const SearchOptions& options, Watch* watch)
      : state_(state), versions_(state.snapshots), query_(query), options_(options), watch_(watch) {
    // The shards' calls report to this one's watch, which knows of all questions.
    if (options.on_progress)
      options_.on_progress = [watch](std::size_t, std::size_t) { watch->look_after_a_while(); };
    if (options_.statistics == nullptr) options_.statistics = &state.statistics_for(query.scale);
    stats_.engine = options.engine == Engine::automatic ? Engine::bounded : options.engine;
    if (has_texts() && query.after && !query.after->text)
      throw InvalidArgument("the ids of the index are texts: `after` needs the text of the last row before");
  }

  SearchResult answer() {
    const FloatingPointScope floating_point;
    const ShardClock::time_point start = ShardClock::now();
    if (query_.per) {
      ask_for_groups();
    } else if (!suits_joint_search() || !ask_jointly()) {
      ask_each();
    }
    return result_since(start);
  }

  // With the answers of all shards.
  SearchResult merged(const std::vector<SearchResult>& parts, ShardClock::time_point start) {
    for (std::uint32_t s = 0; s < parts.size(); ++s) {
      versions_[s] = parts[s].snapshot;
      const ShardAnswer answers[] = {answer_of(parts[s], s)};
      add_to(best_, answers, query_.k);
      stats_ += parts[s].stats;
    }
    return result_since(start);
  }

  const SearchOptions& options_of_shards() const { return options_; }

 private:
  SearchResult result_since(ShardClock::time_point start) {
    SearchResult result;
    result.stats = stats_;
    result.stats.rows_in_index = state_.statistics.num_rows;
    result.stats.elapsed_us = microseconds_since(start);
    result.snapshot = versions_.front();
    result.shard_snapshots = versions_;
    result.hits.assign(best_.begin(), best_.end());
    for (const ShardHit& hit : best_) result.shards.push_back(hit.shard);
    return result;
  }

  struct Turn {
    double bound;
    std::uint32_t shard;
  };
  struct Tree {
    const Snapshot* snapshot;
    std::uint32_t shard;
    std::uint64_t first_row;  // in the numbers of the shard
    ResolvedQuery query;
  };

  bool has_texts() const { return versions_.front()->id_type == IdType::text; }

  bool suits_joint_search() const {
    const bool is_by_bounds = options_.engine == Engine::automatic || options_.engine == Engine::bounded;
    return is_by_bounds &&
           (query_.k.value_or(cpu::kLargeJointK) < cpu::kLargeJointK || query_.min_score.has_value());
  }

  // Which a shard looks up.
  static bool has_few_ids(const ResolvedQuery& query) { return few_ids_of(query).has_value(); }

  // Returns false if the best so far are not yet the answer. Every shard checks the query. A joint search decides ties by
  // numbers, and those that stand in for texts are of one shard each. So of texts it is asked for one row more, which tells
  // whether a tie decided what the last row is.
  bool ask_jointly() {
    const std::vector<Tree> all = all_trees();
    if (options_.engine == Engine::automatic && std::ranges::any_of(all, has_few_ids, &Tree::query))
      return false;
    std::vector<cpu::JointTree> trees;
    std::vector<const Tree*> searched;
    std::size_t k = 0;
    for (const Tree& tree : all) {
      if (tree.snapshot->num_rows == 0) continue;
      k += tree.query.k;  // at most the number of its rows
      if (tree.query.filter.is_nothing()) continue;
      trees.push_back({tree.snapshot, &tree.query});
      searched.push_back(&tree);
    }
    if (query_.k) k = std::min(k, *query_.k);
    const cpu::JointAnswer found =
        cpu::search_jointly(trees, k + (has_texts() ? 1 : 0), most_joint_visits(), stats_);
    const bool is_tied = found.hits.size() > k && found.hits[k].score == found.hits[k - 1].score;
    const bool is_answer = found.finished && !is_tied;
    // A shard with LoggedRows may be asked in another form, with other numbers of rows.
    if (!is_answer && all.size() > versions_.size()) return false;
    for (std::size_t i = 0; i < found.hits.size(); ++i) add_hit(found.hits[i], *searched[found.trees[i]]);
    if (has_texts()) std::ranges::sort(best_, comes_before);
    if (best_.size() > k) best_.resize(k);
    return is_answer;
  }

  std::uint64_t most_joint_visits() const {
    return keeps_codes(state_.shards.front()) ? cpu::kVisitsBeforeCodes : cpu::kMostJointVisits;
  }

  void add_hit(const Hit& hit, const Tree& tree) {
    best_.push_back({hit, tree.shard});
    best_.back().row += tree.first_row;
    if (!has_texts()) return;
    const ReadSession session(*tree.snapshot);
    best_.back().text = tree.snapshot->label(hit.row);
  }

  // Those of all shards: one each, or the two of a version with LoggedRows.
  std::vector<Tree> all_trees() {
    std::vector<Tree> trees;
    const auto add = [&](std::uint32_t shard, const Snapshot& snapshot, std::uint64_t first_row,
                         const Query& query) {
      trees.push_back({&snapshot, shard, first_row, resolve(query, snapshot, options_.statistics)});
      trees.back().query.watch = watch_;
    };
    for (std::uint32_t s = 0; s < versions_.size(); ++s) {
      if (state_.logged[s] == nullptr) {
        add(s, *versions_[s], 0, query_);
        continue;
      }
      versions_[s] = for_searches(versions_[s], 1);
      const LoggedRows& logged = *versions_[s]->logged;
      add(s, *logged.base, 0, state_.logged[s]->of_base(query_));
      add(s, *logged.rows, logged.first_row_beside(), query_);
    }
    return trees;
  }

  // Rows of earlier pages count towards their groups, and only those of all shards together tell which groups are full. So
  // a page is cut from a longer answer, which begins with the first row of all: those that score as much as the cursor
  // say how many rows come before the page.
  void ask_for_groups() {
    Query from_first = query_;
    from_first.after.reset();
    if (query_.after) {
      resolve(query_, *versions_.front(), options_.statistics);  // throws for a cursor that cannot be
      constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
      if (query_.k) from_first.k = *query_.k + std::min(rows_of_earlier_pages(), kMost - *query_.k);
    }
    best_ = best_of_groups(from_first);
    best_.erase(best_.begin(), end_of_earlier_pages(best_));
  }

  std::size_t rows_of_earlier_pages() {
    Query as_good = query_;
    as_good.after.reset();
    as_good.k.reset();
    as_good.min_score = std::max(query_.min_score.value_or(query_.after->score), query_.after->score);
    const std::vector<ShardHit> hits = best_of_groups(as_good);
    return static_cast<std::size_t>(end_of_earlier_pages(hits) - hits.begin());
  }

  std::vector<ShardHit>::const_iterator end_of_earlier_pages(const std::vector<ShardHit>& hits) const {
    if (!query_.after) return hits.begin();
    ShardHit last;
    last.score = query_.after->score;
    // Each shard numbers its texts in its own way, so the text of the cursor is compared, not a number.
    last.id = has_texts() ? std::numeric_limits<std::int64_t>::max() : query_.after->id;
    last.text = query_.after->text.value_or("");
    return std::ranges::upper_bound(hits, last, comes_before);
  }

  // Ahead of a row of the answer there are fewer than k rows of it; a shard has no more rows of a group ahead of it than
  // the answer. So each shard's own k rows hold all that are in the answer.
  std::vector<ShardHit> best_of_groups(const Query& query) {
    std::vector<SearchResult> parts;
    std::vector<std::pair<ShardHit, std::size_t>> hits;  // and its rank in its part
    for (std::uint32_t s = 0; s < state_.shards.size(); ++s) {
      parts.push_back(state_.shards[s].search(query, options_));
      versions_[s] = parts.back().snapshot;  // whose numbers of rows the hits have
      stats_ += parts.back().stats;
      for (std::size_t rank = 0; rank < parts[s].hits.size(); ++rank)
        hits.push_back({{parts[s].hits[rank], s, has_texts() ? parts[s].label(rank) : ""}, rank});
    }
    std::ranges::sort(hits, [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
    std::map<FieldValue, std::size_t> counts;
    std::vector<ShardHit> best;
    for (const auto& [hit, rank] : hits) {
      if (query.k && best.size() == *query.k) break;
      if (++counts[group_value(parts[hit.shard], rank)] <= query.per->most) best.push_back(hit);
    }
    return best;
  }

  FieldValue group_value(const SearchResult& part, std::size_t rank) const {
    const std::vector<Attribute>& attributes = part.snapshot->attributes;
    if (std::ranges::find(attributes, query_.per->column, &Attribute::name) == attributes.end())
      return part.field(rank, query_.per->column);
    const double value = part.attribute(rank, query_.per->column);
    return std::isnan(value) ? FieldValue() : FieldValue(value);
  }

  ShardAnswer answer_of(const SearchResult& part, std::uint32_t shard) const {
    ShardAnswer answer = {shard, 0, part.hits};
    for (std::size_t rank = 0; rank < part.hits.size() && has_texts(); ++rank)
      answer.texts.push_back(part.label(rank));
    return answer;
  }

  void ask_each() {
    order_shards();
    if (!order_.empty()) ask(0);
    with_threads(options_.num_threads, [&] {
      tbb::parallel_for(std::size_t{1}, std::max<std::size_t>(order_.size(), 1),
                        [&](std::size_t i) { ask(i); });
    });
  }

  // Those that may have a row of the answer, the highest bound first. Every shard checks the query.
  void order_shards() {
    for (std::uint32_t s = 0; s < state_.shards.size(); ++s)
      order_.push_back({state_.shards[s].score_bound(query_, options_), s});
    std::erase_if(order_,
                  [](const Turn& turn) { return turn.bound == -std::numeric_limits<double>::infinity(); });
    std::ranges::stable_sort(order_, std::ranges::greater(), &Turn::bound);
  }

  void ask(std::size_t turn) {
    const FloatingPointScope floating_point;
    look_after_a_while(watch_);
    const auto [bound, shard] = order_[turn];
    const std::optional<double> floor = [&] {
      const std::lock_guard lock(mutex_);
      return floor_of(best_, query_.k);
    }();
    if (floor && bound < *floor) return;
    SearchResult part = state_.shards[shard].search(with_floor(query_, floor), options_);
    const ShardAnswer answers[] = {answer_of(part, shard)};
    const std::lock_guard lock(mutex_);
    versions_[shard] = part.snapshot;
    add_to(best_, answers, query_.k);
    stats_ += part.stats;
    if (turn == 0) stats_.engine = part.stats.engine;
    stats_.by_id_map = part.stats.by_id_map && (turn == 0 || stats_.by_id_map);
    stats_.scan_fallback = stats_.scan_fallback || part.stats.scan_fallback;
  }

  const ShardState& state_;
  std::vector<std::shared_ptr<const Snapshot>> versions_;  // that are searched
  const Query& query_;
  SearchOptions options_;
  Watch* const watch_;
  std::vector<Turn> order_;
  std::mutex mutex_;  // guards what follows
  std::vector<ShardHit> best_;
  SearchStats stats_;
};

}  // namespace

SearchResult search_shards(const ShardState& state, const Query& query, const SearchOptions& options,
                           Watch* watch) {
  return Question(state, query, options, watch).answer();
}

bool prefers_together(const ShardState& state, std::size_t num_queries, const SearchOptions& options) {
  return options.engine == Engine::automatic &&
         std::ranges::any_of(state.snapshots, [&](const std::shared_ptr<const Snapshot>& shard) {
           return prefers_walk(base_tree_of(*shard), num_queries);
         });
}

std::vector<SearchResult> search_shards_together(const ShardState& state, std::span<const Query> queries,
                                                 const SearchOptions& options, Watch* watch) {
  const ShardClock::time_point start = ShardClock::now();
  std::vector<std::vector<SearchResult>> of_query(queries.size());
  const SearchOptions of_shards = Question(state, queries.front(), options, watch).options_of_shards();
  for (const Index& shard : state.shards) {
    std::vector<SearchResult> parts = shard.search(queries, of_shards);
    for (std::size_t q = 0; q < queries.size(); ++q) of_query[q].push_back(std::move(parts[q]));
  }
  std::vector<SearchResult> results(queries.size());
  tbb::parallel_for(std::size_t{0}, queries.size(), [&](std::size_t q) {
    const FloatingPointScope floating_point;
    results[q] = Question(state, queries[q], options, watch).merged(of_query[q], start);
  });
  return results;
}

}  // namespace culmen
