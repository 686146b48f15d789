// The index: build it from a table, save and open it, change it, ask it for the k best rows.
//
//   culmen::Index index = culmen::Index::build(table.view());
//   culmen::SearchResult best =
//       index.search({.weights = index.weights({{"price", -0.4}, {"rating", 1.2}}), .k = 10});
//   for (const culmen::Hit& hit : best.hits) use(hit.id, hit.score);
//
// An Index is a handle; copies of it are the same index. It changes by whole batches: each makes the next
// version. A search sees one version, the newest when it began, and says which (SearchResult::version).
//
// Thread safety: all methods may be called from any number of threads at once. Searches never wait for
// changes; changes wait for each other.
//
// A handle that has been moved from holds nothing: every call on it throws InvalidArgument, until another
// Index is assigned to it. A negative num_threads in any options is an InvalidArgument too.
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
#include "culmen/table.h"
#include "culmen/write.h"

namespace culmen {

class DeviceIndex;  // culmen/device.h
struct DeviceOptions;

class Index {
 public:
  // Builds an index in memory. Cost: O(n log n) time, and for the length of the call about twice the table's
  // size in addition to the table. Throws InputError for a table that cannot be indexed (NaN, infinity, an
  // integer beyond 2^53, an id twice, no attribute), InvalidArgument for options out of range; with a GPU
  // also OutOfDeviceMemory, and CudaError where there is no such GPU or this culmen was built without CUDA. A
  // table that is larger than the GPU's memory passes through it in parts.
  [[nodiscard]] static Index build(const TableView& table, const BuildOptions& options = {});

  // An index in memory without rows, to be filled by changes. BuildOptions::value_type automatic is float64
  // here. Cost: that of a build of its rows comes with the first batch, and each time they have doubled, have halved or
  // were replaced, up to a million.
  // Throws as build().
  [[nodiscard]] static Index create(const Schema& schema, const BuildOptions& options = {});

  // Opens the index in `directory`, with every change that was reported as done. Reads and checks every byte.
  // Throws NoIndex if there is none, another IoError (for a writer also if another process has the lock), or
  // FormatError naming the damaged file and offset.
  [[nodiscard]] static Index open(const std::filesystem::path& directory, const OpenOptions& options = {});

  // Saves this index in `directory`, which is created. Atomic: after a crash or an error the directory
  // holds the old index or the new one, whole. Throws InvalidArgument if an index is there and overwrite is
  // false.
  void save(const std::filesystem::path& directory, const SaveOptions& options = {}) const;

  // ---- Changes, for an index in memory or one that was opened as writable; others throw InvalidArgument.
  // Each call is one batch: it is applied as a whole, or after an error not at all. On return searches see
  // it, and it is as durable as OpenOptions::durability says. Calls from several threads share the disk's
  // syncs. They throw RowError for a row that cannot be stored (NaN, an id that is there, a value that the
  // index's type does not hold), InvalidArgument for columns that are not the index's, and IoError: after
  // that no more changes are taken until the directory is opened again, while searches go on. Cost: 5 to
  // 50 us per row in batches of 1,000, besides the sync, with the number of attributes, most where all leaves are full as
  // after a build (docs/durability.md); about the same whatever order rows come in. A batch that inserts
  // and erases at least half as many rows as the index has loads all rows again, as compact() does; so does one that makes
  // an index of up to a million rows twice as large as when it was loaded, or that leaves many partitions empty. Batches of
  // a million rows and more are not logged but written as a new snapshot.
  WriteResult insert(const TableView& rows, const WriteOptions& options = {});
  WriteResult upsert(const TableView& rows, const WriteOptions& options = {});
  std::uint64_t erase(std::span<const std::int64_t> ids);  // returns how many were there
  WriteResult write(const WriteBatch& batch, const WriteOptions& options = {});

  // Makes all changes so far durable, whatever OpenOptions::durability says.
  void flush();

  // Writes the present version to the directory as a snapshot, so that opening has no log to replay. This
  // also happens in the background, whenever the log has grown to a quarter of the snapshot (64 MiB at least,
  // 1 GiB at most).
  void checkpoint();

  // Loads all rows again, with the partitions and bounds that a fresh build would have, then does as
  // checkpoint(). Cost: that of a build; needs memory for a second index meanwhile. Searches go on.
  void compact();

  // Ends writing: waits for a checkpoint that is under way, makes all changes durable, and releases the lock.
  // Searches stay possible. The destructor of the last copy of the handle does the same, but hides errors.
  void close();

  // For an index that was opened to read: takes over what its writer, in another process, has
  // published since, also if the directory holds another index by now (`culmen build --force`, save with
  // overwrite, a directory renamed into its place, a link that leads elsewhere, older files put back). Then
  // versions begin again: what was kept by version must go. Throws InvalidArgument if the other one has other
  // attributes or another order of them, and as open(); searches then go on with the old index, and the next
  // call tries again. For an index in memory, or one that is open as writable, there is nothing to take over;
  // after close() it throws InvalidArgument.
  Refreshed refresh();

  // A handle that stays with this version: its searches do not see later changes. It keeps the memory of the
  // version until it is destroyed.
  [[nodiscard]] Index snapshot() const;
  [[nodiscard]] std::uint64_t version() const;

  // The row with this id, of the present version; of many ids one answer each, in order. There is no map of
  // ids to look into: the ids of all rows are read, about 5 ns each, and those that lie between the smallest
  // and the largest wanted are looked up among them, 20 to 80 ns each. All cores share it.
  [[nodiscard]] std::optional<Row> get(std::int64_t id) const;
  [[nodiscard]] std::vector<std::optional<Row>> get(std::span<const std::int64_t> ids) const;
  [[nodiscard]] bool contains(std::int64_t id) const;

  // What opening found in the log.
  [[nodiscard]] RecoveryInfo recovery() const;

  // Saves what is sound of a damaged index: writes a new one to `to`, which must not exist or be empty.
  static RepairReport repair(const std::filesystem::path& from, const std::filesystem::path& to);

  [[nodiscard]] IndexInfo info() const;

  // Turns named weights into the vector that Query takes; attributes not named get 0.
  // Throws InvalidArgument listing the known names.
  [[nodiscard]] std::vector<double> weights(std::span<const std::pair<std::string, double>> named) const;
  [[nodiscard]] std::vector<double> weights(
      std::initializer_list<std::pair<std::string, double>> named) const;

  // Parses "price<=200 and stars>=4": comparisons (< <= > >= =) of an attribute with a number, joined by
  // `and`. Names with characters other than letters, digits, _ and . are put in double quotes. Empty text: no
  // condition. Throws InvalidArgument.
  [[nodiscard]] Filter filter(std::string_view where) const;

  // Exact top-k. Reads nothing but the index. Throws InvalidArgument: k = 0, no k without min_score, weights
  // of the wrong count, not finite, all zero, or so large that a score could overflow, attributes in
  // Query::where that are not there.
  [[nodiscard]] SearchResult search(const Query& query, const SearchOptions& options = {}) const;

  // One result per query, in order; the same answers as one by one, computed by several threads.
  [[nodiscard]] std::vector<SearchResult> search(std::span<const Query> queries,
                                                 const SearchOptions& options = {}) const;

  // The same for queries that differ in their weights alone: answers in flat arrays, and no object for each.
  // Throws as search(), and for weights that are no whole number of rows.
  [[nodiscard]] BatchAnswers search_batch(const QueryBatch& batch, const SearchOptions& options = {}) const;

  // Top-k under any monotone function (culmen/scoring.h) instead of a weighted sum. Prunes by the function of
  // each leaf's attribute maxima (minima where it falls). Equal scores: smaller id first, as always. Throws
  // InvalidArgument as search() does, and for a function whose score is not finite, or that is seen not to be
  // monotone.
  [[nodiscard]] SearchResult search_monotone(MonotoneFunctionRef function, std::size_t k,
                                             const Filter& where = {},
                                             const SearchOptions& options = {}) const;

  // Copies the index to a GPU (culmen/device.h), device 0 without options. The copy follows the changes of
  // the index, as searches here do; that of a snapshot() stays as it is. Cost: the index's bytes over the
  // bus. Throws OutOfDeviceMemory, or CudaError where there is no such GPU or this culmen was built without
  // CUDA; nothing stays allocated then.
  [[nodiscard]] DeviceIndex to_device() const;
  [[nodiscard]] DeviceIndex to_device(const DeviceOptions& options) const;

  // Returns the engine that search() would use for this query, why, and predicted times. Cost: with Engine::automatic that
  // of the search until it ends or a scan would begin, else that of a search that stops after a few hundred visits; and
  // a scan of a few hundred leaves. Throws as search().
  [[nodiscard]] Explanation explain(const Query& query, const SearchOptions& options = {}) const;

  // Whether these queries, answered together, belong on the CPU or on a GPU: predicted from a few of them.
  // Throws as search().
  [[nodiscard]] Placement place(std::span<const Query> queries, const PlacementOptions& options = {}) const;

  // Recomputes what can be recomputed (order, ids, zone map, bounds, counts) and returns the faults, one
  // line each. Cost: reads everything; `deep` recomputes the subset maxima of every leaf as well.
  [[nodiscard]] std::vector<std::string> verify(bool deep = true) const;

 private:
  class Core;
  explicit Index(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace culmen
