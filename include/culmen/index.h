// The index: build it from a table, save and open it, change it, search it for the k best rows.
//
//   culmen::Index index = culmen::Index::build(table.view());
//   culmen::SearchResult best =
//       index.search({.weights = index.weights({{"price", -0.4}, {"rating", 1.2}}), .k = 10});
//   for (const culmen::Hit& hit : best.hits) use(hit.id, hit.score);
//
// An Index is a handle; its copies share one index. Each batch of changes publishes the next version. A search sees one
// version, the newest when it began (SearchResult::version).
//
// Thread safety: all methods may be called from any number of threads at once. Searches never wait for
// changes; changes wait for each other.
//
// Every call on a handle that has been moved from throws InvalidArgument, until another Index is assigned to it. A
// negative num_threads in any options throws InvalidArgument too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/build.h"
#include "culmen/info.h"
#include "culmen/open.h"
#include "culmen/plan.h"
#include "culmen/query.h"
#include "culmen/schema.h"
#include "culmen/scoring.h"
#include "culmen/search.h"
#include "culmen/statistics.h"
#include "culmen/table.h"
#include "culmen/write.h"

namespace culmen {

class DeviceGroup;
class DeviceIndex;  // culmen/device.h
struct DeviceGroupOptions;
class LoggedView;  // internal
struct DeviceOptions;

class Index {
 public:
  // Builds an index in memory. Cost: O(n log n) time, and during the call about twice the table's size in memory, in
  // addition to the table. Throws InputError for a table that cannot be indexed (NaN, infinity, an integer that
  // float64 rounds, an id twice, no attribute), InvalidArgument for options out of range; with a GPU also OutOfDeviceMemory, and
  // CudaError if there is no such GPU or this culmen was built without CUDA. A table larger than the GPU's memory is
  // processed in parts.
  [[nodiscard]] static Index build(const TableView& table, const BuildOptions& options = {});

  // Makes an empty index in memory, to be filled by changes. BuildOptions::value_type automatic is float64 here. Cost:
  // that of a build with the first batch, and, up to a million rows, each time the rows have doubled, halved or been
  // replaced. Throws as build().
  [[nodiscard]] static Index create(const Schema& schema, const BuildOptions& options = {});

  // Opens the index in `directory`, with every acknowledged change. Reads and checks every byte, unless
  // OpenOptions::loading says otherwise.
  // Throws NoIndex if there is none, another IoError (for a writer also if another process has the lock), or
  // FormatError naming the damaged file and offset.
  [[nodiscard]] static Index open(const std::filesystem::path& directory, const OpenOptions& options = {});

  // Saves this version in `directory`, which it creates. Atomic: after a crash or an error the directory holds the old
  // index or the new one, complete. Throws InvalidArgument if it holds an index and overwrite is false.
  void save(const std::filesystem::path& directory, const SaveOptions& options = {}) const;

  // ---- Changes, for an index in memory or one that was opened as writable; others throw InvalidArgument.
  // Each call is one atomic batch. On return searches see it, and it is as durable as OpenOptions::durability says.
  // Calls from several threads share the disk's syncs. They throw RowError for a row that cannot be stored (NaN, an id
  // that is in the index, a value that the index's type cannot hold), InvalidArgument for columns that are not the
  // index's, and IoError: then every further change throws until the directory is opened again, while searches go on.
  // Cost: 5 to 50 us per row in batches of 1,000, plus the sync; it grows with the number of attributes, is highest
  // when all leaves are full as after a build (docs/durability.md), and hardly depends on the order of the rows. A
  // batch that inserts and erases at least half as many rows as the index has reloads all rows, as compact() does; so
  // does one that makes an index of up to a million rows twice as large as when it was loaded, or that leaves many
  // partitions empty. Batches of a million rows and more are not logged but written as a new snapshot.
  WriteResult insert(const TableView& rows, const WriteOptions& options = {});
  WriteResult upsert(const TableView& rows, const WriteOptions& options = {});
  std::uint64_t erase(std::span<const std::int64_t> ids);        // returns the number of rows erased
  std::uint64_t erase(std::span<const std::string_view> texts);  // of IdType::text
  // Erases the rows that pass, as WriteBatch::erase_where. Returns their number.
  std::uint64_t erase_where(const Filter& where);
  WriteResult write(const WriteBatch& batch, const WriteOptions& options = {});

  // Throws what write() would throw for this batch, and changes nothing.
  void check(const WriteBatch& batch, const WriteOptions& options = {}) const;

  // Makes all changes so far durable, whatever OpenOptions::durability says.
  void flush();

  // Writes the current version to the directory as a snapshot, so that opening has no log to replay. This also happens
  // in the background, whenever the log has grown to a quarter of the snapshot (64 MiB at least, 1 GiB at most).
  void checkpoint();

  // Reloads all rows, with the partitions and bounds of a fresh build, then writes a checkpoint(). Cost: that of a
  // build, and memory for a second index meanwhile, unless there is a directory for temporary files. Searches go on.
  void compact(const CompactOptions& options = {});

  // Ends writing: waits for a running checkpoint, makes all changes durable, and releases the lock. Searches still
  // work. If the log has become longer than a sixty-fourth of the snapshot, and 1 MiB, it makes a checkpoint() first: opening
  // would take longer to replay it. The destructor of the last copy of the handle makes none, and hides errors.
  void close();

  // For an index that was opened for reading: loads what its writer, in another process, has published since. The
  // directory may also hold another index by now (`culmen build --force`, save with overwrite, a directory renamed to
  // its path, a changed link, older files restored). Version numbers then start again, so caches keyed by version must
  // be dropped. Throws InvalidArgument if that index has other attributes, another order of them, or another type of ids, and as open();
  // searches then go on with the old index, and the next call tries again. Does nothing for an index in memory or one
  // that is open as writable; throws InvalidArgument after close().
  Refreshed refresh();

  // A handle to this version: its searches do not see later changes. It keeps the version's memory until it is
  // destroyed.
  [[nodiscard]] Index snapshot() const;
  [[nodiscard]] std::uint64_t version() const;

  // The row with this id in the current version; for many ids one answer each, in order. Up to 4096 ids are found in the map
  // of ids that is saved with an index, while the version is the one that was opened. Otherwise a call reads the ids of all rows,
  // with all cores, or finds as many ids in a map in memory: an index has one once it was changed, or has 65,536 rows and
  // was asked for rows of few ids 64 times, here or by filters of searches. It takes 11 bytes a row. Neither a snapshot of
  // such a version nor, while a batch of changes is written, the index can use it.
  [[nodiscard]] std::optional<Row> get(std::int64_t id) const;
  [[nodiscard]] std::vector<std::optional<Row>> get(std::span<const std::int64_t> ids) const;
  [[nodiscard]] bool contains(std::int64_t id) const;
  // The same of an index of IdType::text; throw InvalidArgument for others. Cost: that of find_texts.
  [[nodiscard]] std::optional<Row> get(std::string_view text) const;
  [[nodiscard]] std::vector<std::optional<Row>> get(std::span<const std::string_view> texts) const;
  [[nodiscard]] bool contains(std::string_view text) const;
  // What stands in for each text in this version. Changes may move it, so ask a snapshot(). Throws InvalidArgument for an index of other ids. Cost: some 5 to 20 looks at rows for each text, in the
  // order of ids, which the files have. In a version that is neither as it was read nor the newest one of a writer, the first call,
  // or the first filter or cursor with a text, makes a list: a pass over the ids of all rows, a sort, and 8 bytes a row.
  [[nodiscard]] std::vector<TextPlace> find_texts(std::span<const std::string_view> texts) const;
  // The ids of all rows that pass a filter, ascending. Cost: a scan of what the filter tests, without the leaves whose minima
  // and maxima decide.
  [[nodiscard]] std::vector<std::int64_t> ids_where(const Filter& where) const;

  // What opening found in the log.
  [[nodiscard]] RecoveryInfo recovery() const;

  // Why a directory cannot be opened: a line for each file that is missing, and for each part whose checksum is wrong,
  // ten of a kind and then the number of the others. Labels and fields of damaged leaves are not looked for. Empty if it can. Throws NoIndex. Cost: reads everything, and needs
  // memory for all rows if something is damaged.
  [[nodiscard]] static std::vector<std::string> damage(const std::filesystem::path& directory);

  // Saves the intact rows of a damaged index in a new one in `to`, which must not exist or be empty.
  static RepairReport repair(const std::filesystem::path& from, const std::filesystem::path& to);

  // With what score_parts (culmen/why.h) needs for queries of this scale. Cost for Scale::zscore: as statistics().
  [[nodiscard]] IndexInfo info(Scale scale = Scale::none) const;
  [[nodiscard]] Schema schema() const;

  // Converts named weights to the vector that Query takes; attributes not named get 0.
  // Throws InvalidArgument listing the known names.
  [[nodiscard]] std::vector<double> weights(std::span<const std::pair<std::string, double>> named) const;
  [[nodiscard]] std::vector<double> weights(
      std::initializer_list<std::pair<std::string, double>> named) const;

  // Parses "price <= 200 and not (city in ('Brno', 'Prague') or id = 7)": comparisons (= != < <= > >=, between, in, like
  // 'prefix%', is null) of attributes, filter columns and ids with numbers, true, false, and texts and dates in single
  // quotes, joined by `and`, `or` and `not` (docs/contract.md). Double quotes enclose names with characters other than
  // letters, digits, `_` and `.`; empty text means no condition. Throws InvalidArgument, which names the position.
  [[nodiscard]] Filter filter(std::string_view where) const;

  // Parses "2 * near(price, 100) + log1p(reviews) - 0.5 * [brand = 'Sony']": a sum of functions of columns and of conditions
  // in brackets, each with a number as its weight: near(column, value), decay(column, origin, scale[, linear|exp|gauss]),
  // log, log1p, sqrt(column), saturate(column, half) (culmen/score_term.h). Empty text has no terms. Throws as filter();
  // what columns hold is checked by searches.
  [[nodiscard]] std::vector<ScoreTerm> terms(std::string_view text) const;

  // Exact top-k. Reads nothing but the index. Throws InvalidArgument for k = 0, no k without min_score, weights of the
  // wrong count, not finite, all zero, or so large that a score could overflow, and unknown attributes in Query::where.
  [[nodiscard]] SearchResult search(const Query& query, const SearchOptions& options = {}) const;

  // One result per query, in order: the answers of single searches, computed by several threads.
  [[nodiscard]] std::vector<SearchResult> search(std::span<const Query> queries,
                                                 const SearchOptions& options = {}) const;

  // The same for queries that differ only in their weights, with answers in flat arrays instead of one object each.
  // Throws as search(), and for weights that are not a whole number of rows.
  [[nodiscard]] BatchAnswers search_batch(const QueryBatch& batch, const SearchOptions& options = {}) const;
  // The same into arrays of the caller's; returns the version that was searched. Throws InvalidArgument for arrays of
  // other sizes, and for those that overlap each other or the weights. After an exception they may have answers to some
  // of the queries.
  std::uint64_t search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                             const SearchOptions& options = {}) const;

  // An upper bound on the score of every row that may be in the answer; -infinity if there is none. Reads one node: 0.5 us or so.
  // Throws as search().
  [[nodiscard]] double score_bound(const Query& query, const SearchOptions& options = {}) const;

  // How many rows rank before a row of this score and id would: those that score more, or as much with a smaller id. The
  // query's k, min_score and after do not matter. Counts whole blocks where bounds decide: far less than a scan for the
  // best rows. Throws as search(), and InvalidArgument for a NaN.
  [[nodiscard]] std::uint64_t count_before(const Query& query, const Cursor& place,
                                           const SearchOptions& options = {}) const;
  // How many rows score more than this.
  [[nodiscard]] std::uint64_t count_above(const Query& query, double score,
                                          const SearchOptions& options = {}) const;
  // Where the row with this id stands in the whole order; nullopt if it is not in it: there is no such row, it does not
  // pass the filter, or it misses a value that is ranked.
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::int64_t id,
                                               const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::string_view text,
                                               const SearchOptions& options = {}) const;

  // What other parts of the same table must know of this one (culmen/statistics.h), for queries of this scale. Cost for
  // Scale::zscore: a pass over the whole index, the first time that anything asks for it in a version.
  [[nodiscard]] TableStatistics statistics(Scale scale = Scale::none) const;

  // Top-k under any monotone function (culmen/scoring.h) instead of a weighted sum. Prunes by the function's value at
  // each leaf's attribute maxima (minima where it falls). Rows that miss an attribute that the function reads are not in
  // the answer. Of equal scores the smaller id comes first, as always. Throws InvalidArgument as search() does, and for
  // a function whose score is not finite or that proves not to be monotone.
  [[nodiscard]] SearchResult search_monotone(MonotoneFunctionRef function, std::size_t k,
                                             const Filter& where = {},
                                             const SearchOptions& options = {}) const;

  // Copies the index to a GPU (culmen/device.h), by default device 0. The copy follows the changes of the index; that
  // of a snapshot() never changes. Cost: the index's bytes over the bus. Throws OutOfDeviceMemory, or CudaError if
  // there is no such GPU or this culmen was built without CUDA; nothing stays allocated then.
  [[nodiscard]] DeviceIndex to_device() const;
  [[nodiscard]] DeviceIndex to_device(const DeviceOptions& options) const;

  // Copies the index to several GPUs, which answer together (culmen/device_group.h). A GPU may be named more than once;
  // it then holds as many copies. Throws as to_device, and InvalidArgument if none is named.
  [[nodiscard]] DeviceGroup to_devices(const std::vector<int>& devices) const;
  [[nodiscard]] DeviceGroup to_devices(const std::vector<int>& devices,
                                       const DeviceGroupOptions& options) const;

  // Returns the engine that search() would use for this query, why, and predicted times. Cost: with Engine::automatic
  // that of the search until it ends or a scan would begin, else that of a search that stops after a few hundred
  // visits; and a scan of a few hundred leaves. Throws as search().
  [[nodiscard]] Explanation explain(const Query& query, const SearchOptions& options = {}) const;

  // Predicts from a few of these queries whether the CPU or a GPU answers them sooner, together. Throws as search().
  [[nodiscard]] Placement place(std::span<const Query> queries, const PlacementOptions& options = {}) const;

  // Recomputes order, ids, zone maps, bounds and counts, and returns the faults, one line each. Cost: reads everything;
  // `deep` also recomputes the subset maxima of every leaf.
  [[nodiscard]] std::vector<std::string> verify(bool deep = true) const;

 private:
  friend std::shared_ptr<const Snapshot> snapshot_of(const Index& index);  // internal
  friend std::shared_ptr<const Snapshot> version_of(const Index& index);
  friend std::shared_ptr<const LoggedView> logged_view_of(const Index& index);
  friend bool keeps_codes(const Index& index);

  class Core;
  explicit Index(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace culmen
