// The index: build it from a table, save and open it, ask it for the k best rows.
//
//   culmen::Index index = culmen::Index::build(table.view());
//   culmen::SearchResult best = index.search({.weights = index.weights({{"price", -0.4}, {"rating", 1.2}}),
//   .k = 10}); for (const culmen::Hit& hit : best.hits) use(hit.id, hit.score);
//
// Thread safety: all const methods may be called from any thread at once. An Index is a handle on an
// immutable snapshot; copying it is cheap and shares the snapshot.
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

namespace culmen {

struct ResolvedQuery;  // internal
class DeviceIndex;     // culmen/device.h
struct DeviceOptions;

inline constexpr int kMaxAttributes = 64;

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
  std::uint64_t version = 0;
};

class Index {
 public:
  // Builds an index in memory. Cost: O(n log n) time, and about twice the table's size beside the table for
  // the length of the call. Throws InputError for a table that cannot be indexed (NaN, infinity, integer
  // beyond 2^53, an id twice, no attribute), InvalidArgument for options out of range.
  static Index build(const TableView& table, const BuildOptions& options = {});

  // Opens the newest published version in `directory`. Reads and checks every byte.
  // Throws IoError, or FormatError naming the damaged file and offset.
  static Index open(const std::filesystem::path& directory);

  // Publishes this index in `directory`, which is created. Atomic: after a crash or an error the directory
  // holds the old index or the new one, whole. Throws InvalidArgument if an index is there and overwrite is
  // false.
  void save(const std::filesystem::path& directory, const SaveOptions& options = {}) const;

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
  SearchResult search_monotone(MonotoneFunctionRef function, std::size_t k, const Filter& where = {},
                               const SearchOptions& options = {}) const;

  // Copies the index to a GPU (culmen/device.h), device 0 without options. The copy keeps this version of the
  // index, whatever happens to it here. Cost: the index's bytes over the bus. Throws OutOfDeviceMemory, or
  // CudaError where there is no such GPU or this culmen was built without CUDA; nothing stays allocated then.
  DeviceIndex to_device() const;
  DeviceIndex to_device(const DeviceOptions& options) const;

  // What search would do with this query, and why, without doing it.
  Explanation explain(const Query& query, const SearchOptions& options = {}) const;

  // Recomputes what can be recomputed: order, ids, bounds, thresholds, counts. Empty: no fault found.
  // Cost: reads everything; `deep` recomputes the subset maxima of every block as well.
  std::vector<std::string> verify(bool deep = true) const;

 private:
  explicit Index(std::shared_ptr<const Snapshot> snapshot);
  std::vector<Hit> run_engine(const ResolvedQuery& query, Engine engine, int num_threads,
                              SearchStats& stats) const;

  std::shared_ptr<const Snapshot> snapshot_;
  struct Lists;  // sorted lists of Engine::ta, made on first use
  std::shared_ptr<Lists> lists_;
};

}  // namespace culmen
