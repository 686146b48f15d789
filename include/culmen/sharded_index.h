// ShardedIndex: one table in several indexes (shards), each an ordinary index in a directory of its own. Its answers are
// those of one index of all rows: the same ids and the same score bits.
//
//   culmen::ShardedIndex::build(table.view(), "hotels.shards", {.num_shards = 4});
//   culmen::ShardedIndex index = culmen::ShardedIndex::open("hotels.shards");
//   culmen::SearchResult best = index.search({.weights = {-0.4, 1.2}, .k = 10});
//
// A row is in the shard that the hash of its id chooses (shard_of). A manifest in the directory lists the shards; it is
// replaced atomically. Each search sees one version of every shard, and scales by the statistics of exactly these.
//
// Of IdType::text, each shard has numbers of its own that stand in for its texts, so Hit::id and Row::id of two shards do
// not compare: the texts do, SearchResult::id_text() and Row::label. Calls that take or give only numbers throw
// InvalidArgument.
//
// Thread safety and handles: as Index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/build.h"
#include "culmen/index.h"
#include "culmen/statistics.h"

namespace culmen {

// The shard of a row: the high half of mix(id) * num_shards, where mix is the finalizer of SplitMix64 on the id's 64
// bits: x ^= x >> 30; x *= 0xbf58476d1ce4e5b9; x ^= x >> 27; x *= 0x94d049bb133111eb; x ^= x >> 31. Of IdType::text: the
// high half of XXH3_64bits(the text's bytes) * num_shards.
[[nodiscard]] std::uint32_t shard_of(std::int64_t id, std::uint32_t num_shards);
[[nodiscard]] std::uint32_t shard_of(std::string_view text, std::uint32_t num_shards);

inline constexpr std::uint32_t kMaxShards = 4096;

struct ShardedBuildOptions {
  std::uint32_t num_shards = 1;
  BuildOptions build = {};  // of each shard; stays_on_device has no effect
  bool overwrite = false;   // replace an index that is already in the directory, sharded or not
};

// One shard, as the manifest lists it or as it was opened.
struct ShardInfo {
  std::string directory;  // its name in the directory of the sharded index
  std::string uuid;       // of its index
  std::uint64_t version = 0;
  TableStatistics statistics;  // of this version
};

class ShardedIndex {
 public:
  // Returns true if there is the manifest of a sharded index in the directory, whatever it holds.
  [[nodiscard]] static bool is_at(const std::filesystem::path& directory);

  // Builds the shards of a table in `directory`, which it creates. Stand-ins and the type of values come from the whole
  // table; of a table without rows, stand-ins come from the first batch that has some. Rows without ids get their numbers. Atomic: after a crash or an error the directory holds the old sharded
  // index or the new one. Throws as Index::build and Index::save; row numbers in messages are the table's.
  static void build(const TableView& table, const std::filesystem::path& directory,
                    const ShardedBuildOptions& options);

  // Opens all shards. An error names the shard that is missing, damaged, or not the one that the manifest lists.
  [[nodiscard]] static ShardedIndex open(const std::filesystem::path& directory,
                                         const OpenOptions& options = {});

  // Shards that are open, searched together as they are now; shards[s] has the rows of shard s. It does not change. Throws
  // InvalidArgument if there are none, FormatError if one has other columns than the first.
  [[nodiscard]] static ShardedIndex of(std::span<const Index> shards);

  // What the manifest lists, without opening a shard. Versions and statistics are of the time when it was written: a
  // shard may have changed since.
  [[nodiscard]] static std::vector<ShardInfo> listed(const std::filesystem::path& directory);

  // Distributes all rows over another number of shards: writes these, then replaces the manifest, then removes the old
  // ones. Readers that have the old shards open keep them. Takes the writer's lock. What `options` leave open is as it
  // was; stand-ins and the type of values stay. Cost: the old shards are read again for each new one; in memory are one
  // old shard and one new one.
  static void rebalance(const std::filesystem::path& directory, std::uint32_t num_shards,
                        const BuildOptions& options = {});

  // ---- Searches. As those of Index. The best shard is asked first; its k-th score is the least that others have to
  // return, and a shard whose score_bound is below it is not asked. SearchResult::version() is the sum of the shards'
  // versions.
  [[nodiscard]] SearchResult search(const Query& query, const SearchOptions& options = {}) const;
  [[nodiscard]] std::vector<SearchResult> search(std::span<const Query> queries,
                                                 const SearchOptions& options = {}) const;
  // Not of IdType::text.
  [[nodiscard]] BatchAnswers search_batch(const QueryBatch& batch, const SearchOptions& options = {}) const;
  std::uint64_t search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                             const SearchOptions& options = {}) const;
  [[nodiscard]] double score_bound(const Query& query, const SearchOptions& options = {}) const;
  [[nodiscard]] std::uint64_t count_before(const Query& query, const Cursor& place,
                                           const SearchOptions& options = {}) const;
  [[nodiscard]] std::uint64_t count_above(const Query& query, double score,
                                          const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::int64_t id,
                                               const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::string_view text,
                                               const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<Row> get(std::int64_t id) const;
  [[nodiscard]] std::vector<std::optional<Row>> get(std::span<const std::int64_t> ids) const;
  [[nodiscard]] bool contains(std::int64_t id) const;
  [[nodiscard]] std::optional<Row> get(std::string_view text) const;
  [[nodiscard]] std::vector<std::optional<Row>> get(std::span<const std::string_view> texts) const;
  [[nodiscard]] bool contains(std::string_view text) const;
  // Not of IdType::text: a RowReader has the rows.
  [[nodiscard]] std::vector<std::int64_t> ids_where(const Filter& where) const;

  // ---- Changes, for an index that was opened as writable; they go to the shards of their ids. All shards check their
  // part before any is changed, so rows that are refused change nothing. Searches of this handle see a batch whole or
  // not at all. The disk is atomic by shard only: if the process ends in the middle, some shards have their part of the
  // batch; an error of the operating system says which, and this handle then refuses further changes. Ids that a batch
  // assigns are reserved in the manifest first.
  WriteResult insert(const TableView& rows, const WriteOptions& options = {});
  WriteResult upsert(const TableView& rows, const WriteOptions& options = {});
  std::uint64_t erase(std::span<const std::int64_t> ids);
  std::uint64_t erase(std::span<const std::string_view> texts);  // of IdType::text
  std::uint64_t erase_where(const Filter& where);
  WriteResult write(const WriteBatch& batch, const WriteOptions& options = {});
  // For a call that is repeated because its answer was lost, or because it ended in the middle: as write(), but a shard
  // has its part already if it is at the version after the one that is expected of it, as WriteOptions::expected_version
  // says. Refuses batches that assign ids. expected_versions: [num_shards] versions() before the batch.
  WriteResult write_once(const WriteBatch& batch, std::span<const std::uint64_t> expected_versions,
                         const WriteOptions& options = {});

  // Reserves `count` consecutive ids, durably, for rows that another process writes to the shards. Returns the first.
  std::int64_t reserve_ids(std::uint64_t count);

  void flush();
  void checkpoint();  // also writes the manifest
  void compact(const CompactOptions& options = {});
  void close();

  // Loads what the writers of the shards have published since. `replaced` if the directory holds another sharded index,
  // or other shards of the same one.
  Refreshed refresh();

  // A handle to these versions of the shards.
  [[nodiscard]] ShardedIndex snapshot() const;

  [[nodiscard]] std::uint64_t version() const;                // the sum of versions()
  [[nodiscard]] std::vector<std::uint64_t> versions() const;  // [num_shards]
  // Of all rows, and as Index::statistics.
  [[nodiscard]] TableStatistics statistics(Scale scale = Scale::none) const;
  [[nodiscard]] std::vector<ShardInfo> shards() const;
  // Of all shards: counts and bytes are sums, uuid is the sharded index's, height the largest. scale: as Index::info.
  [[nodiscard]] IndexInfo info(Scale scale = Scale::none) const;
  [[nodiscard]] Schema schema() const;
  [[nodiscard]] RecoveryInfo recovery() const;  // counts are sums
  // One line per fault, which names the shard: those of Index::verify, and rows in a shard that is not theirs.
  [[nodiscard]] std::vector<std::string> verify(bool deep = true) const;

  [[nodiscard]] std::uint32_t num_shards() const;
  // This version of one shard. Names of attributes and columns are those of all shards, so it also serves to make
  // weights and filters.
  [[nodiscard]] Index shard(std::uint32_t number) const;

 private:
  class Core;
  explicit ShardedIndex(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace culmen
