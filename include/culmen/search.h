// Searches: options, engines and answers. Every engine returns the same rows and the same score bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "culmen/query.h"
#include "culmen/resources.h"
#include "culmen/statistics.h"

namespace culmen {

struct Snapshot;  // one immutable version of an index; opaque to users

enum class Engine : std::uint8_t {
  automatic,  // the planner chooses
  scan,       // scores every row
  ta,         // Fagin's threshold algorithm over sorted lists (built on first use, kept in memory)
  gta,        // the paper's: walks partitions leaf by leaf until threshold tuples (made on first use) stop it
  bounded,    // best-first search of the tree with the chain bound
};

// "auto", "scan", ... and back. Throws InvalidArgument listing the engines.
[[nodiscard]] Engine parse_engine(std::string_view name);
[[nodiscard]] std::string_view engine_name(Engine engine);

struct SearchOptions {
  Engine engine = Engine::automatic;
  // Threads for a scan (also if automatic falls back to one), for gta, for counting rows, and for the queries of a
  // batch. bounded and ta answer a single query on one thread. No effect on a GPU.
  int num_threads = kAllCores;
  // Of the table that the index holds a part of (culmen/statistics.h). Ranges, and the refusal of overflow, are then the
  // table's. Null: the index's own. It must live until the call returns.
  const TableStatistics* statistics = nullptr;
  // Once a stop is requested, by any thread, the call throws Stopped, within some milliseconds: all threads look at it
  // at every leaf. Not while the lists of Engine::ta, the codes of a batch or the deviations of Scale::zscore are made, nor while a GPU works on a part of a
  // batch (16,384 queries at most) or on a single query.
  std::stop_token stop = {};
  // Called by the thread that called, every 50 ms or so while it works on a query, with the number of queries answered
  // and of all. An exception from it ends the search, and leaves the call.
  std::function<void(std::size_t answered, std::size_t queries)> on_progress = {};
};

// What a search did. Counts are exact. Work that is repeated counts again: a leaf that a search by bounds has
// visited, if a scan takes over or began with it; on a GPU, a pass that found more rows than it had room for.
struct SearchStats {
  Engine engine = Engine::automatic;  // the one that answered; automatic: none, as ids were looked up
  std::uint64_t rows_in_index = 0;
  std::uint64_t rows_scored = 0;
  std::uint64_t leaves_visited =
      0;                            // leaves whose rows were scored, or bounded by a pass or sweep of a batch
  std::uint64_t nodes_visited = 0;  // inner nodes whose children's bounds were computed
  std::uint64_t bounds_computed = 0;
  // Rows bounded one by one, to choose those to score: on the CPU by their codes, also in a pass that a batch shares; on
  // a GPU in a scan by their codes, and in a batch's sweep by their values in half precision.
  std::uint64_t rows_by_codes = 0;
  // The next three are 0 from a GPU.
  // Leaves that could only tie, with ids too large to enter; leaves below such a node are not counted.
  std::uint64_t leaves_tied_out = 0;
  std::uint64_t candidates = 0;    // rows that passed the filter, with at least the k-th best score so far
  std::uint64_t replacements = 0;  // candidates that replaced another row among the k best
  // Of the values, codes and bounds that were read; on a GPU without those that a sweep reads, once for many queries.
  std::uint64_t bytes_touched = 0;
  // The filter lets pass rows of only so many ids, which were looked up instead of a search: by a map of ids, or by a
  // pass over the ids of all rows.
  std::uint64_t ids_looked_up = 0;
  bool by_id_map = false;
  bool scan_fallback = false;  // `bounded` gave up, and a scan of the rest answered
  int device = kNoDevice;      // the GPU that answered
  double elapsed_us = 0;       // of a question that shared a pass: since its batch began

  // Adds the counters of another search, or of another thread of the same one. The other members keep their values.
  SearchStats& operator+=(const SearchStats& other) {
    rows_scored += other.rows_scored;
    leaves_visited += other.leaves_visited;
    nodes_visited += other.nodes_visited;
    bounds_computed += other.bounds_computed;
    rows_by_codes += other.rows_by_codes;
    leaves_tied_out += other.leaves_tied_out;
    candidates += other.candidates;
    replacements += other.replacements;
    bytes_touched += other.bytes_touched;
    ids_looked_up += other.ids_looked_up;
    return *this;
  }
};

struct Hit {
  std::int64_t id = -1;
  double score = -std::numeric_limits<double>::infinity();
  std::uint64_t row = 0;  // position in the snapshot; SearchResult::attribute takes the hit's rank instead

  friend bool operator==(const Hit&, const Hit&) = default;
};

// A value of a field: missing, a number as ColumnType says (floating: double, else int64), or a text.
using FieldValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// A row as it was given to the index, except for rounding by ValueType::float32.
struct Row {
  std::int64_t id = -1;
  std::vector<double> values;           // [num_attributes]; missing ones are NaN
  std::string label;                    // empty when the index has none; of IdType::text the id
  std::vector<FieldValue> fields = {};  // [num_fields]

  friend bool operator==(const Row&, const Row&) = default;
};

// The answer to one query, best first. It holds the snapshot that was searched, so attributes and labels stay readable
// whatever happens to the index. Any number of threads may read it. The methods throw InvalidArgument for a rank (0 =
// best) or an attribute that does not exist, and for a default-constructed result.
struct SearchResult {
  std::vector<Hit> hits;
  SearchStats stats;
  std::shared_ptr<const Snapshot> snapshot;
  // Of a ShardedIndex: what was searched of each shard, and the shard of each hit. Empty otherwise.
  std::vector<std::shared_ptr<const Snapshot>> shard_snapshots;
  std::vector<std::uint32_t> shards;  // [hits.size()]

  // The version of the index that was searched.
  [[nodiscard]] std::uint64_t version() const;
  // That of each shard; of an Index, its only one.
  [[nodiscard]] std::vector<std::uint64_t> versions() const;
  // Whether rows of the index have labels, empty ones among them. Not those of IdType::text, whose labels are their ids.
  [[nodiscard]] bool has_labels() const;
  // Of the hit at `rank`: its id, as digits or, of IdType::text, the text itself.
  [[nodiscard]] std::string id_text(std::size_t rank) const;
  // Of the hit at `rank`: one attribute, the label (empty if the index has none), or the whole row.
  [[nodiscard]] double attribute(std::size_t rank, const AttributeRef& attribute) const;  // NaN: missing
  [[nodiscard]] std::string label(std::size_t rank) const;
  [[nodiscard]] FieldValue field(std::size_t rank, std::string_view name) const;
  [[nodiscard]] Row row(std::size_t rank) const;
  // Of the hits at these ranks, or of all: the whole rows, the labels. Within a limit of memory (OpenOptions::max_memory) a
  // leaf with several of them is read once; row() and label() may read it for each.
  [[nodiscard]] std::vector<Row> rows(std::span<const std::size_t> ranks) const;
  [[nodiscard]] std::vector<std::string> labels() const;
};

// The id of a row as people know it: digits or, of IdType::text, the text.
[[nodiscard]] std::string id_text(const Row& row, IdType type);

// Where a text is among the ids of an index of IdType::text.
struct TextPlace {
  // What stands in for the text, as Hit::id. If no row has it: what stands in for the largest text before it, or the
  // smallest int64.
  std::int64_t id = std::numeric_limits<std::int64_t>::min();
  bool is_there = false;

  friend bool operator==(const TextPlace&, const TextPlace&) = default;
};

// Where a row stands in the order of all rows that a query ranks.
struct RowRank {
  std::uint64_t rank = 0;  // 1: the best
  double score = 0;
  std::uint64_t version = 0;  // of the index

  friend bool operator==(const RowRank&, const RowRank&) = default;
};

// The answers to a QueryBatch, one after the other in three arrays.
struct BatchAnswers {
  std::size_t num_queries = 0;
  std::size_t k = 0;                  // of the batch, or the number of rows in the index if that is smaller
  std::vector<std::int64_t> ids;      // [num_queries][k] as Hit::id, best first, -1 after the last hit
  std::vector<double> scores;         // [num_queries][k] in the same order, -infinity after the last hit
  std::vector<std::uint32_t> counts;  // [num_queries] hits
  std::uint64_t version = 0;          // of the index that was searched
};

// Where the answers to a QueryBatch are written: memory of the caller's, which may have that of the batch before.
struct AnswerArrays {
  std::span<std::int64_t> ids;  // [num_queries][k of the batch] best first, -1 after the last hit
  std::span<double> scores;  // [num_queries][k of the batch] in the same order, -infinity after the last hit
  std::span<std::uint32_t> counts;  // [num_queries] hits

  // Elements for each query, of which there is one at least.
  [[nodiscard]] std::size_t width() const { return ids.size() / counts.size(); }
};

}  // namespace culmen
