// Queries and their answers. The rules that an answer obeys (order, ties, k, NaN) are in docs/contract.md;
// every engine returns the same rows and the same score bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culmen {

struct Snapshot;  // one immutable version of an index; opaque to users

// A tuple passes if minimum <= value <= maximum. Attributes are given by their position.
struct Range {
  int attribute = 0;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();

  friend bool operator==(const Range&, const Range&) = default;
};

// A conjunction of ranges; without any, every tuple passes. An attribute may appear more than once.
using Filter = std::vector<Range>;

enum class Scale : std::uint8_t {
  none,    // weights apply to the attributes as they are
  minmax,  // weights apply to (a - min) / (max - min), with the index's own minimum and maximum
};

struct Query {
  std::vector<double> weights;  // [num_attributes] finite, at least one not zero; 0 = attribute not used
  // How many rows; if there are fewer, all of them. 0 is allowed only with min_score: every row at or above
  // it.
  std::size_t k = 10;
  Filter where = {};
  std::optional<double> min_score = {};  // only rows with score >= min_score
  Scale scale = Scale::none;
};

enum class Engine : std::uint8_t {
  automatic,  // the planner chooses
  scan,       // scores every tuple
  ta,         // Fagin's threshold algorithm over sorted lists (built on first use, kept in memory)
  gta,        // the paper's: partitions block by block, until the threshold tuple stops it
  bounded,    // best-first over the tree with the chain bound
};

// "auto", "scan", ... and back. Throws InvalidArgument listing the engines.
Engine parse_engine(std::string_view name);
std::string_view engine_name(Engine engine);

struct SearchOptions {
  Engine engine = Engine::automatic;
  // Threads for this call; 0: one thread for a single query (scan and gta: all cores), all cores for a batch.
  int num_threads = 0;
};

// What a search did. Counts are exact; bytes are those of the values and bounds that were read.
struct SearchStats {
  Engine engine = Engine::automatic;  // the one that answered
  std::uint64_t tuples_in_index = 0;
  std::uint64_t tuples_scored = 0;
  std::uint64_t blocks_visited = 0;  // leaves whose tuples were scored
  std::uint64_t nodes_visited = 0;   // inner nodes whose children's bounds were computed
  std::uint64_t bounds_computed = 0;
  // The next three are 0 from a GPU.
  std::uint64_t leaves_tied_out = 0;  // leaves that could only tie, with ids too large to win
  std::uint64_t candidates = 0;       // rows that passed the filter, with at least the k-th best score so far
  std::uint64_t replacements = 0;     // those of them that took the place of another among the k best
  std::uint64_t bytes_touched = 0;
  bool scan_fallback = false;  // `bounded` began, found that too much was left to read, and `scan` answered
  int device = -1;             // the GPU that answered; -1: the CPU
  double elapsed_us = 0;
};

struct Hit {
  std::int64_t id = -1;
  double score = -std::numeric_limits<double>::infinity();
  std::uint64_t row = 0;  // where the tuple is in the snapshot; SearchResult::attribute takes the hit's rank

  friend bool operator==(const Hit&, const Hit&) = default;
};

// The answer to one query, best first. It keeps the snapshot that it came from, so attributes and labels stay
// readable whatever happens to the index. Immutable: any number of threads may read it. The calls throw
// InvalidArgument for a rank or an attribute out of range, and for an answer that no search gave.
struct SearchResult {
  std::vector<Hit> hits;
  SearchStats stats;
  std::shared_ptr<const Snapshot> snapshot;

  // The version of the index that was searched.
  std::uint64_t version() const;
  // The value of one attribute of the hit at `rank` (0 = best), as it was given, or as it was rounded.
  double attribute(std::size_t rank, int attribute) const;
  // The hit's label; empty when the index has none.
  std::string_view label(std::size_t rank) const;
};

// How long an engine would take by the cost model (docs/how-it-works.md), on a warm index and an idle
// machine.
struct Prediction {
  Engine engine = Engine::automatic;
  double elapsed_us = 0;
  int device = -1;  // the GPU that would answer, from a copy that is there already; -1: the CPU
};

// The plan of a query, for people: the engine, why it was chosen, and the bound that prunes.
struct Explanation {
  Engine engine = Engine::automatic;
  std::string reason;
  // Of `bounded` and `scan`, the chosen one first, those of a GPU last; there are none for an empty index.
  std::vector<Prediction> predictions;
  std::string text;  // several lines, ready to print
};

struct PlacementOptions {
  int num_threads = 0;    // as in SearchOptions
  bool has_copy = false;  // the index is on GPU 0 already
};

// Where queries would be answered sooner by the cost model: on the CPU, or on GPU 0 after copying the index.
struct Placement {
  int device = -1;  // -1: the CPU
  std::string reason;
  double cpu_us = 0;
  double device_us = 0;  // 0 without a GPU, like copy_us
  double copy_us = 0;    // copying the index first
};

}  // namespace culmen
