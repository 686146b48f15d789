// ShardedIndex: asks the shards, merges their answers, and passes changes on.
#include "culmen/sharded_index.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/batch_answers.h"
#include "api/handle.h"
#include "api/row_rank.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "culmen/shard_messages.h"
#include "index/row_subset.h"
#include "index/storage/format.h"
#include "index/storage/hash.h"
#include "index/text_rows.h"
#include "shard/rows_by_shard.h"
#include "shard/search_shards.h"
#include "shard/sharded_core.h"
#include "shard/table_info.h"

namespace culmen {
namespace {

constexpr const char* kShardedHandle = "ShardedIndex";  // for held_by()

// Numbers of two shards do not compare where they stand in for texts.
void require_numbers(const Snapshot& shard, const char* call) {
  if (shard.id_type == IdType::text)
    throw InvalidArgument(std::string(call) +
                          " has numbers for ids, and those of this sharded index are texts");
}

std::uint64_t count_in_shards(const ShardState& state, const Query& query, const Cursor& place,
                              SearchOptions options) {
  if (options.statistics == nullptr) options.statistics = &state.statistics_for(query.scale);
  std::uint64_t count = 0;
  for (const Index& shard : state.shards) count += shard.count_before(query, place, options);
  return count;
}

// Answers the queries that shards can answer together, some at a time, and returns for each whether it was answered.
std::vector<std::uint8_t> search_together(const ShardState& state, std::size_t num_queries,
                                          const auto& query_of, const SearchOptions& options, Watch* watch,
                                          const auto& give) {
  constexpr std::size_t kAtOnce = 4096;
  std::vector<std::uint8_t> answered(num_queries);
  if (!prefers_together(state, num_queries, options)) return answered;
  const Scale scale = query_of(0).scale;
  for (std::size_t first = 0; first < num_queries; first += kAtOnce) {
    std::vector<Query> queries;
    std::vector<std::size_t> numbers;
    for (std::size_t q = first; q < std::min(first + kAtOnce, num_queries); ++q) {
      Query query = query_of(q);
      if (query.per || query.scale != scale) continue;
      queries.push_back(std::move(query));
      numbers.push_back(q);
      answered[q] = 1;
    }
    if (queries.empty()) continue;
    std::vector<SearchResult> results = search_shards_together(state, queries, options, watch);
    for (std::size_t i = 0; i < numbers.size(); ++i) give(numbers[i], std::move(results[i]));
  }
  return answered;
}

// query_of(q) returns query q. Each is searched on one thread, but for those that shards answer together.
void search_each(const ShardState& state, std::size_t num_queries, const auto& query_of,
                 const SearchOptions& options, const auto& take) {
  SearchOptions one = options;
  one.num_threads = 1;
  Watch watch(options, num_queries);
  const auto give = [&](std::size_t q, SearchResult result) {
    take(q, std::move(result));
    watch.count_answered(1);
  };
  with_threads(options.num_threads, [&] {
    const std::vector<std::uint8_t> answered =
        search_together(state, num_queries, query_of, options, watch.if_any(), give);
    tbb::parallel_for(std::size_t{0}, num_queries, [&](std::size_t q) {
      if (answered[q] == 0) give(q, search_shards(state, query_of(q), one, watch.if_any()));
    });
  });
}

void search_into(const ShardState& state, const QueryBatch& batch, const AnswerArrays& answers,
                 const SearchOptions& options) {
  const std::size_t width = state.statistics.attributes.size();
  search_each(
      state, answers.counts.size(), [&](std::size_t q) { return query_of(batch, width, q); }, options,
      [&](std::size_t q, const SearchResult& result) { set_answer(result.hits, q, answers); });
}

void check_queries_memory(std::span<const Query> queries) {
  if (!queries.empty() && queries.data() == nullptr)
    throw InvalidArgument("a null pointer with " + std::to_string(queries.size()) + " elements");
}

}  // namespace

std::uint32_t shard_of(std::int64_t id, std::uint32_t num_shards) {
  auto x = static_cast<std::uint64_t>(id);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return static_cast<std::uint32_t>((x >> 32) * num_shards >> 32);
}

std::uint32_t shard_of(std::string_view text, std::uint32_t num_shards) {
  const std::uint64_t hash = storage::checksum_of(std::as_bytes(std::span(text)));
  return static_cast<std::uint32_t>((hash >> 32) * num_shards >> 32);
}

ShardedIndex::ShardedIndex(std::shared_ptr<Core> core) : core_(std::move(core)) {}

bool ShardedIndex::is_at(const std::filesystem::path& directory) {
  std::error_code no_matter;
  return std::filesystem::exists(directory / storage::kShardsName, no_matter);
}

ShardedIndex ShardedIndex::open(const std::filesystem::path& directory, const OpenOptions& options) {
  return ShardedIndex(std::make_shared<Core>(directory, options));
}

std::vector<ShardInfo> ShardedIndex::listed(const std::filesystem::path& directory) {
  const ShardManifest manifest = read_shard_manifest(*storage::posix().open_directory(directory.string()));
  std::vector<ShardInfo> infos;
  for (const ShardEntry& entry : manifest.shards)
    infos.push_back(
        {manifest.directory_of(infos.size()), hex_of(entry.uuid), entry.version, entry.statistics});
  return infos;
}

// ---- Searches

SearchResult ShardedIndex::search(const Query& query, const SearchOptions& options) const {
  check_num_threads(options.num_threads);
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  Watch watch(options, 1);
  return search_shards(*state, query, options, watch.if_any());
}

std::vector<SearchResult> ShardedIndex::search(std::span<const Query> queries,
                                               const SearchOptions& options) const {
  check_queries_memory(queries);
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  std::vector<SearchResult> results(queries.size());
  search_each(
      *state, queries.size(), [&](std::size_t q) -> const Query& { return queries[q]; }, options,
      [&](std::size_t q, SearchResult result) { results[q] = std::move(result); });
  return results;
}

BatchAnswers ShardedIndex::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_numbers(*state->snapshots.front(), "search_batch");
  const std::size_t num_queries = num_queries_of(batch, state->statistics.attributes.size());
  BatchAnswers answers = make_answers(batch, num_queries, state->statistics.num_rows, state->version());
  search_into(*state, batch, arrays_of(answers), options);
  return answers;
}

std::uint64_t ShardedIndex::search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                                         const SearchOptions& options) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_numbers(*state->snapshots.front(), "search_batch");
  check_arrays(batch, state->statistics.attributes.size(), answers);
  search_into(*state, batch, answers, options);
  return state->version();
}

double ShardedIndex::score_bound(const Query& query, const SearchOptions& options) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  SearchOptions of_table = options;
  if (of_table.statistics == nullptr) of_table.statistics = &state->statistics_for(query.scale);
  double bound = -std::numeric_limits<double>::infinity();
  for (const Index& shard : state->shards) bound = std::max(bound, shard.score_bound(query, of_table));
  return bound;
}

std::uint64_t ShardedIndex::count_before(const Query& query, const Cursor& place,
                                         const SearchOptions& options) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  if (!place.text) require_numbers(*state->snapshots.front(), "a cursor without a text");
  return count_in_shards(*state, query, place, options);
}

std::uint64_t ShardedIndex::count_above(const Query& query, double score,
                                        const SearchOptions& options) const {
  return count_in_shards(*held_by(core_, kShardedHandle).state(), query,
                         {score, std::numeric_limits<std::int64_t>::min()}, options);
}

namespace {

// place: of the row, but for its score.
std::optional<RowRank> rank_in(const ShardState& state, const Query& query, const Filter& is_row,
                               Cursor place, const SearchOptions& options) {
  SearchOptions look_up = options;
  look_up.engine = Engine::automatic;
  Watch watch(look_up, 1);
  const std::vector<Hit> hits = search_shards(state, only_row(query, is_row), look_up, watch.if_any()).hits;
  if (hits.empty()) return std::nullopt;
  place.score = hits.front().score;
  return RowRank{count_in_shards(state, query, place, options) + 1, place.score, state.version()};
}

// Id: a number or a text.
template <typename Id>
std::vector<std::optional<Row>> get_from(const ShardState& state, std::span<const Id> ids) {
  if (!ids.empty() && ids.data() == nullptr) throw InvalidArgument("the ids are a null pointer");
  const std::vector<Array<std::uint64_t>> places =
      places_by_shard(ids, static_cast<std::uint32_t>(state.shards.size()));
  std::vector<std::optional<Row>> rows(ids.size());
  for (std::size_t s = 0; s < places.size(); ++s) {
    std::vector<Id> own;
    for (const std::uint64_t place : places[s]) own.push_back(ids[place]);
    std::vector<std::optional<Row>> found =
        own.empty() ? std::vector<std::optional<Row>>() : state.shards[s].get(own);
    for (std::size_t i = 0; i < found.size(); ++i) rows[places[s][i]] = std::move(found[i]);
  }
  return rows;
}

}  // namespace

std::optional<RowRank> ShardedIndex::rank_of(const Query& query, std::int64_t id,
                                             const SearchOptions& options) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_numbers(*state->snapshots.front(), "rank_of an int64");
  const Filter is_row = is_id(id, *state->snapshots.front());
  return rank_in(*state, query, is_row, {.id = id}, options);
}

std::optional<RowRank> ShardedIndex::rank_of(const Query& query, std::string_view text,
                                             const SearchOptions& options) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_text_ids(*state->snapshots.front());
  const std::string id(text);
  return rank_in(*state, query, id_col() == id, {.text = id}, options);
}

std::optional<Row> ShardedIndex::get(std::int64_t id) const {
  return get(std::span(&id, 1)).front();
}

std::vector<std::optional<Row>> ShardedIndex::get(std::span<const std::int64_t> ids) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_numbers(*state->snapshots.front(), "get of an int64");
  return get_from(*state, ids);
}

bool ShardedIndex::contains(std::int64_t id) const {
  const Index of_id = shard(shard_of(id, num_shards()));
  require_numbers(*version_of(of_id), "contains of an int64");
  return of_id.contains(id);
}

std::optional<Row> ShardedIndex::get(std::string_view text) const {
  return get(std::span(&text, 1)).front();
}

std::vector<std::optional<Row>> ShardedIndex::get(std::span<const std::string_view> texts) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_text_ids(*state->snapshots.front());
  return get_from(*state, texts);
}

bool ShardedIndex::contains(std::string_view text) const {
  return shard(shard_of(text, num_shards())).contains(text);
}

// ---- Changes

WriteResult ShardedIndex::insert(const TableView& rows, const WriteOptions& options) {
  return write(WriteBatch().insert(rows), options);
}

WriteResult ShardedIndex::upsert(const TableView& rows, const WriteOptions& options) {
  return write(WriteBatch().upsert(rows), options);
}

std::vector<std::int64_t> ShardedIndex::ids_where(const Filter& where) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  require_numbers(*state->snapshots.front(), "ids_where");
  std::vector<std::int64_t> ids;
  for (const Index& shard : state->shards) {
    const std::vector<std::int64_t> part = shard.ids_where(where);
    ids.insert(ids.end(), part.begin(), part.end());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::uint64_t ShardedIndex::erase_where(const Filter& where) {
  return write(WriteBatch().erase_where(where)).erased;
}

std::uint64_t ShardedIndex::erase(std::span<const std::int64_t> ids) {
  return write(WriteBatch().erase(ids)).erased;
}

std::uint64_t ShardedIndex::erase(std::span<const std::string_view> texts) {
  return write(WriteBatch().erase(texts)).erased;
}

WriteResult ShardedIndex::write(const WriteBatch& batch, const WriteOptions& options) {
  if (options.expected_version)
    throw InvalidArgument(
        "a sharded index has a version for each shard: write_once takes those that are expected");
  return held_by(core_, kShardedHandle).write(batch, options, {});
}

WriteResult ShardedIndex::write_once(const WriteBatch& batch,
                                     std::span<const std::uint64_t> expected_versions,
                                     const WriteOptions& options) {
  if (expected_versions.size() != num_shards())
    throw InvalidArgument(std::to_string(expected_versions.size()) + " versions for " +
                          std::to_string(num_shards()) + " shards");
  return held_by(core_, kShardedHandle).write(batch, options, expected_versions);
}

std::int64_t ShardedIndex::reserve_ids(std::uint64_t count) {
  return held_by(core_, kShardedHandle).reserve_ids(count);
}

void ShardedIndex::flush() {
  held_by(core_, kShardedHandle).flush();
}

void ShardedIndex::checkpoint() {
  held_by(core_, kShardedHandle).checkpoint();
}

void ShardedIndex::compact(const CompactOptions& options) {
  held_by(core_, kShardedHandle).compact(options);
}

void ShardedIndex::close() {
  held_by(core_, kShardedHandle).close();
}

Refreshed ShardedIndex::refresh() {
  return held_by(core_, kShardedHandle).refresh();
}

// ---- What it is

ShardedIndex ShardedIndex::snapshot() const {
  return ShardedIndex(std::make_shared<Core>(held_by(core_, kShardedHandle).state()));
}

std::uint64_t ShardedIndex::version() const {
  return held_by(core_, kShardedHandle).state()->version();
}

std::vector<std::uint64_t> ShardedIndex::versions() const {
  std::vector<std::uint64_t> versions;
  for (const auto& snapshot : held_by(core_, kShardedHandle).state()->snapshots)
    versions.push_back(snapshot->version);
  return versions;
}

TableStatistics ShardedIndex::statistics(Scale scale) const {
  return held_by(core_, kShardedHandle).state()->statistics_for(scale);
}

std::vector<ShardInfo> ShardedIndex::shards() const {
  return held_by(core_, kShardedHandle).shards();
}

IndexInfo ShardedIndex::info(Scale scale) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  const TableStatistics& statistics = state->statistics_for(scale);
  IndexInfo whole = state->shards.front().info();
  for (std::size_t s = 1; s < state->shards.size(); ++s) {
    const IndexInfo part = state->shards[s].info();
    whole.num_rows += part.num_rows;
    whole.num_partitions += part.num_partitions;
    whole.num_leaves += part.num_leaves;
    whole.num_nodes += part.num_nodes;
    whole.height = std::max(whole.height, part.height);
    whole.data_bytes += part.data_bytes;
    whole.overhead_bytes += part.overhead_bytes;
    whole.code_bytes += part.code_bytes;
    whole.num_reads += part.num_reads;
    whole.next_id = std::max(whole.next_id, part.next_id);
    whole.rounded_values += part.rounded_values;
    whole.compact_advised = whole.compact_advised || part.compact_advised;
    for (std::size_t f = 0; f < whole.fields.size(); ++f) {
      whole.fields[f].has_missing = whole.fields[f].has_missing || part.fields[f].has_missing;
      // A text may be in several shards.
      whole.fields[f].num_texts = std::max(whole.fields[f].num_texts, part.fields[f].num_texts);
    }
  }
  set_attributes(statistics, whole);
  if (whole.id_type == IdType::int64) whole.next_id = std::max(whole.next_id, state->next_id);
  whole.uuid = hex_of(state->uuid);
  whole.version = state->version();
  return whole;
}

Schema ShardedIndex::schema() const {
  return shard(0).schema();
}

RecoveryInfo ShardedIndex::recovery() const {
  return held_by(core_, kShardedHandle).recovery();
}

std::vector<std::string> ShardedIndex::verify(bool deep) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  const auto num_shards = static_cast<std::uint32_t>(state->shards.size());
  std::vector<std::string> faults;
  for (std::uint32_t s = 0; s < num_shards; ++s) {
    const std::string name = state->directories[s] + ": ";
    for (const std::string& fault : state->shards[s].verify(deep)) faults.push_back(name + fault);
    const std::shared_ptr<const Snapshot> tree = snapshot_of(state->shards[s]);
    const Snapshot& snapshot = *tree;
    for (const std::uint32_t leaf : snapshot.order().leaves) {
      const std::uint64_t first = leaf * static_cast<std::uint64_t>(snapshot.leaf_rows);
      for (std::uint64_t row = first; row < first + snapshot.leaf(leaf).num_rows; ++row)
        if (const std::uint32_t its = shard_of_row(snapshot, row, num_shards); its != s)
          faults.push_back(name + "id " + snapshot.shown_id(row) + " belongs to shard " +
                           std::to_string(its));
    }
  }
  return faults;
}

std::uint32_t ShardedIndex::num_shards() const {
  return static_cast<std::uint32_t>(held_by(core_, kShardedHandle).state()->shards.size());
}

Index ShardedIndex::shard(std::uint32_t number) const {
  const std::shared_ptr<const ShardState> state = held_by(core_, kShardedHandle).state();
  if (number >= state->shards.size())
    throw InvalidArgument("there is no shard " + std::to_string(number) + ": the index has " +
                          std::to_string(state->shards.size()) + ", counted from 0");
  return state->shards[number];
}

}  // namespace culmen
