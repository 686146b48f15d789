// The index: build it from a table, save and open it, ask it for the k best rows.
//
//   culmen::Index index = culmen::Index::build(table.view());
//   culmen::SearchResult best = index.search({.weights = index.weights({{"price", -0.4}, {"rating", 1.2}}),
//   .k = 10}); for (const culmen::Hit& hit : best.hits) use(hit.id, hit.score);
//
// An Index is a handle; copies of it are the same index. It changes by whole batches: each makes the next
// version. A search sees one version, the newest when it began, and says which (SearchResult::version).
//
// Thread safety: all methods may be called from any thread at once. Searches wait for nobody; changes wait
// for each other.
//
// A handle that has been moved from holds nothing: every call on it throws InvalidArgument, until another
// Index is assigned to it. A negative num_threads in any options is an InvalidArgument too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/query.h"
#include "culmen/scoring.h"
#include "culmen/table.h"
#include "culmen/write.h"

namespace culmen {

struct ResolvedQuery;  // internal
class DeviceIndex;     // culmen/device.h
struct DeviceOptions;

inline constexpr int kMaxAttributes = 64;
inline constexpr int kNoDevice = -1;

// How attribute values are kept. automatic: float32 if every value is exactly one, else float64.
// float32 by name rounds each value to the nearest float32; info().rounded_values counts the values it
// changed.
enum class ValueType : std::uint8_t { automatic, float32, float64 };

enum class Partitioning : std::uint8_t {
  angle,   // by the sum of the attributes and the angles of a tuple seen from the best corner (GTA,
           // section 3.3)
  random,  // by position in the table
};

struct BuildOptions {
  Partitioning partitioning = Partitioning::angle;
  int num_splits = 0;      // angle: the paper's grid instead, s parts per angle, s^(d-1) partitions
  int num_partitions = 0;  // random: how many; angle: about how many, instead of num_splits. 0: chosen
  int block_rows = 0;      // tuples a block (leaf), a multiple of 16 up to 4096; 0: 96
  ValueType value_type = ValueType::automatic;
  int num_threads = 0;  // 0: all cores; never changes a byte of the index
  // The GPU that builds, as CUDA counts them (culmen/device.h); kNoDevice: the CPU. It never changes a byte
  // either. Fastest from columns, or a row-major matrix, in pinned host memory.
  int device = kNoDevice;
  // Built on a GPU: what the build has put there stays, if there is room, until the index goes or until
  // to_device for that GPU takes it over instead of copying.
  bool stays_on_device = false;
  // Called now and then from one thread, fraction 0..1. Throwing from it abandons the build.
  std::function<void(std::string_view phase, double fraction)> on_progress = {};
};

struct SaveOptions {
  bool overwrite =
      false;  // replace an index that is already in the directory; the old one stays whole until then
};

struct AttributeInfo {
  std::string name;
  Preference preference = Preference::high;
  double minimum = 0;  // over the index; 0 when it is empty
  double maximum = 0;
};

struct IndexInfo {
  std::uint64_t num_tuples = 0;
  std::vector<AttributeInfo> attributes;
  ValueType value_type = ValueType::float32;
  bool has_labels = false;
  Partitioning partitioning = Partitioning::angle;
  int num_splits = 0;  // 0 for random partitions
  std::uint64_t num_partitions = 0;
  int block_rows = 0;
  std::uint64_t num_blocks = 0;
  std::uint64_t num_nodes = 0;
  int height = 0;                    // levels of inner nodes
  std::uint64_t data_bytes = 0;      // attributes and ids of the tuples
  std::uint64_t overhead_bytes = 0;  // tree, bounds and bookkeeping beside them
  std::uint64_t rounded_values = 0;  // values changed by ValueType::float32
  // Which index this is a version of, 32 hexadecimal digits: given when it is saved to a directory, and kept
  // through all changes there. Empty: it was not opened from one.
  std::string uuid;
  std::uint64_t version = 0;
  // Changes have left the blocks half empty, or nearly so: Index::compact would make the index smaller.
  bool compact_advised = false;
};

class Index {
 public:
  // Builds an index in memory. Cost: O(n log n) time, and about twice the table's size beside the table for
  // the length of the call. Throws InputError for a table that cannot be indexed (NaN, infinity, integer
  // beyond 2^53, an id twice, no attribute), InvalidArgument for options out of range; with a GPU also
  // OutOfDeviceMemory, and CudaError where there is no such GPU or this culmen was built without CUDA. A
  // table that is larger than the GPU's memory passes through it in parts.
  static Index build(const TableView& table, const BuildOptions& options = {});

  // Opens the index in `directory`, with every change that was reported as done. Reads and checks every byte.
  // Throws NoIndex if there is none, another IoError (for a writer also if another process has the lock), or
  // FormatError naming the damaged file and offset.
  static Index open(const std::filesystem::path& directory, const OpenOptions& options = {});

  // Publishes this index in `directory`, which is created. Atomic: after a crash or an error the directory
  // holds the old index or the new one, whole. Throws InvalidArgument if an index is there and overwrite is
  // false.
  void save(const std::filesystem::path& directory, const SaveOptions& options = {}) const;

  // ---- Changes. Of an index in memory, and of one that was opened as writable; others throw
  // InvalidArgument. Each call is one batch: all of it, or after an error nothing. On return searches see it,
  // and it is as durable as OpenOptions::durability says. Calls of several threads share the disk's syncs.
  // Throw RowError for a row that cannot be (NaN, an id that is there, a value that the index's type does
  // not hold), InvalidArgument for columns that are not the index's, and IoError: after that no more changes
  // are taken until the directory is opened anew, while searches go on. Cost: about 5 us a row in batches of
  // 1,000 beside the sync; batches of a million rows and more go past the log straight into a new snapshot on
  // disk.
  WriteResult insert(const TableView& rows, const WriteOptions& options = {});
  WriteResult upsert(const TableView& rows, const WriteOptions& options = {});
  std::uint64_t erase(std::span<const std::int64_t> ids);  // returns how many were there
  WriteResult write(const WriteBatch& batch, const WriteOptions& options = {});

  // Makes all changes so far durable, whatever OpenOptions::durability.
  void flush();

  // Writes the present version to the directory as a snapshot, so that opening has no log to replay. Happens
  // in the background, too, whenever the log has grown by a quarter of the index (64 MiB at least, 1 GiB at
  // most).
  void checkpoint();

  // Loads all rows anew: partitions and bounds as a fresh build would have them. Then as checkpoint().
  // Cost: as a build; needs memory for a second index meanwhile. Searches go on.
  void compact();

  // Ends writing: what checkpoint is under way is waited for, all changes are made durable, and the lock is
  // let go. Searches stay possible. Also done, but for errors, when the last copy of the handle goes.
  void close();

  // For an index that was opened to read: takes over what its writer, in another process, has published
  // since, also if the directory holds another index by now (`culmen build --force`, save with overwrite, a
  // directory renamed into its place, a link that leads elsewhere, older files put back). Then versions begin
  // anew: what was kept by version must go. Throws InvalidArgument if the other one has other attributes or
  // another order of them, and as open(); searches then go on with what was there, and the next call tries
  // again. Also after close(). Of an index in memory, or one that was opened as writable, there is nothing to
  // take over.
  Refreshed refresh();

  // This version, for good: a handle whose searches do not see later changes. It keeps the memory of its
  // version until it goes.
  Index snapshot() const;
  std::uint64_t version() const;

  // What opening found in the log.
  RecoveryInfo recovery() const;

  // Saves what is sound of a damaged index: writes a new one to `to`, which must not be there yet.
  static RepairReport repair(const std::filesystem::path& from, const std::filesystem::path& to);

  IndexInfo info() const;

  // Turns named weights into the vector that Query takes; attributes not named get 0.
  // Throws InvalidArgument listing the known names.
  std::vector<double> weights(std::span<const std::pair<std::string, double>> named) const;
  std::vector<double> weights(std::initializer_list<std::pair<std::string, double>> named) const;

  // Parses "price<=200 and stars>=4": comparisons (< <= > >= =) of an attribute with a number, joined by
  // `and`. Names with other than letters, digits, _ and . stand in double
  // quotes. Empty text: no condition. Throws InvalidArgument.
  Filter filter(std::string_view where) const;

  // Exact top-k. Throws InvalidArgument: k = 0 without min_score, weights of the wrong count, not finite, all
  // zero, or so large that a score could overflow.
  SearchResult search(const Query& query, const SearchOptions& options = {}) const;

  // One result per query, in order; the same answers as one by one, computed by several threads.
  std::vector<SearchResult> search(std::span<const Query> queries, const SearchOptions& options = {}) const;

  // Top-k under any monotone function (culmen/scoring.h) instead of a weighted sum. Prunes with the function
  // of each block's attribute maxima (minima where it falls). Equal scores: smaller id first, as always.
  // Throws InvalidArgument as search() does, and for a function whose score is not finite, or seen not to be
  // monotone.
  SearchResult search_monotone(MonotoneFunctionRef function, std::size_t k, const Filter& where = {},
                               const SearchOptions& options = {}) const;

  // Copies the index to a GPU (culmen/device.h), device 0 without options. The copy follows the changes of
  // the index, as searches here do; that of a snapshot() stays as it is. Cost: the index's bytes over the
  // bus. Throws OutOfDeviceMemory, or CudaError where there is no such GPU or this culmen was built without
  // CUDA; nothing stays allocated then.
  DeviceIndex to_device() const;
  DeviceIndex to_device(const DeviceOptions& options) const;

  // What search would do with this query, why, and how long each engine would take. Cost: a probe, a search
  // that ends after a few hundred blocks. Engine::automatic goes on looking while it searches, and may end
  // with the other engine where the probe was wrong. Throws as search().
  Explanation explain(const Query& query, const SearchOptions& options = {}) const;

  // Whether these queries, answered together, belong on the CPU or on a GPU: predicted from a few of them.
  // Throws as search().
  Placement place(std::span<const Query> queries, const PlacementOptions& options = {}) const;

  // Recomputes what can be recomputed: order, ids, bounds, thresholds, counts. Empty: no fault found.
  // Cost: reads everything; `deep` recomputes the subset maxima of every block as well.
  std::vector<std::string> verify(bool deep = true) const;

 private:
  class Core;
  explicit Index(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace culmen
