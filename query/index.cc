// Index: the public face. Checks arguments at the edge, then hands over to loader, storage, planner and
// engines.
#include "culmen/index.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>

#include "cpu/bounded.h"
#include "cpu/gta.h"
#include "cpu/monotone.h"
#include "cpu/scan.h"
#include "cpu/threshold_algorithm.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "index/bulk_load.h"
#include "index/floating_point_scope.h"
#include "index/snapshot.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/with_threads.h"
#include "query/planner.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::pair<std::string_view, Engine>, 5> kEngines = {{{"auto", Engine::automatic},
                                                                          {"scan", Engine::scan},
                                                                          {"ta", Engine::ta},
                                                                          {"gta", Engine::gta},
                                                                          {"bounded", Engine::bounded}}};

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

struct Index::Lists {
  std::once_flag once;
  cpu::SortedLists lists;
};

Engine parse_engine(std::string_view name) {
  std::string known;
  for (const auto& [text, engine] : kEngines) {
    if (text == name) return engine;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw InvalidArgument("unknown engine \"" + std::string(name) + "\"; known: " + known);
}

std::string_view engine_name(Engine engine) {
  return std::find_if(kEngines.begin(), kEngines.end(),
                      [engine](const auto& e) { return e.second == engine; })
      ->first;
}

Index::Index(std::shared_ptr<const Snapshot> snapshot)
    : snapshot_(std::move(snapshot)), lists_(std::make_shared<Lists>()) {}

Index Index::build(const TableView& table, const BuildOptions& options) {
  const FloatingPointScope floating_point;
  return Index(bulk_load(table, options));
}

Index Index::open(const std::filesystem::path& directory) {
  return Index(storage::load(storage::posix(), directory.string()));
}

void Index::save(const std::filesystem::path& directory, const SaveOptions& options) const {
  storage::publish(*snapshot_, storage::posix(), directory.string(), options.overwrite);
}

IndexInfo Index::info() const {
  const Snapshot& s = *snapshot_;
  IndexInfo info;
  info.num_tuples = s.num_tuples;
  for (std::size_t i = 0; i < s.attributes.size(); ++i) {
    const Attribute& attribute = s.attributes[i];
    const bool low = attribute.preference == Preference::low;
    info.attributes.push_back(
        {attribute.name, attribute.preference,
         oriented(low ? s.stats[i].maximum : s.stats[i].minimum, attribute.preference),
         oriented(low ? s.stats[i].minimum : s.stats[i].maximum, attribute.preference)});
  }
  info.value_type = s.value_type;
  info.has_labels = s.has_labels;
  info.partitioning = s.partitioner.kind();
  const std::vector<std::int32_t>& splits = s.partitioner.splits();
  info.num_splits =
      splits.size() > 1 && splits[0] == 1 ? splits[1] : 0;  // with shells there is no one number
  info.num_partitions = s.partitioner.num_partitions();
  info.block_rows = s.block_rows;
  info.num_blocks = s.num_leaves;
  info.num_nodes = s.num_nodes;
  info.height = s.height;
  info.data_bytes = s.num_tuples * (s.attributes.size() * s.value_bytes() + sizeof(std::int64_t));
  const BlockShape& shape = s.blocks->shape();
  const std::size_t leaf_bytes = shape.leaf_bytes() + shape.block_rows * sizeof(std::int64_t) +
                                 kNumCorners * shape.corner_bytes() + sizeof(LeafHeader);
  info.overhead_bytes = s.num_leaves * leaf_bytes + s.num_nodes * s.blocks->node_bytes() - info.data_bytes;
  info.rounded_values = s.rounded_values;
  info.version = s.version;
  return info;
}

std::vector<double> Index::weights(std::span<const std::pair<std::string, double>> named) const {
  std::vector<double> result(snapshot_->attributes.size(), 0.0);
  for (const auto& [name, weight] : named) {
    const auto found =
        std::find_if(snapshot_->attributes.begin(), snapshot_->attributes.end(),
                     [&name = name](const Attribute& attribute) { return attribute.name == name; });
    if (found == snapshot_->attributes.end())
      throw InvalidArgument("no attribute \"" + name + "\"; known: " + known_attributes(*snapshot_));
    result[static_cast<std::size_t>(found - snapshot_->attributes.begin())] = weight;
  }
  return result;
}

std::vector<double> Index::weights(std::initializer_list<std::pair<std::string, double>> named) const {
  return weights(std::span(named.begin(), named.size()));
}

std::vector<Hit> Index::run_engine(const ResolvedQuery& query, Engine engine, int num_threads,
                                   SearchStats& stats) const {
  const Snapshot& s = *snapshot_;
  switch (engine) {
    case Engine::scan:
      return with_threads(num_threads, [&] { return cpu::search_scan(s, query, stats); });
    case Engine::gta:
      return with_threads(num_threads, [&] { return cpu::search_gta(s, query, stats); });
    case Engine::ta:
      std::call_once(lists_->once, [this] { lists_->lists = cpu::make_sorted_lists(*snapshot_); });
      return cpu::search_ta(s, lists_->lists, query, stats);
    case Engine::automatic:
    case Engine::bounded:
      break;
  }
  return cpu::search_bounded(s, query, stats);
}

SearchResult Index::search(const Query& query, const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  const ResolvedQuery resolved = resolve(query, *snapshot_);
  const Plan plan = choose_engine(*snapshot_, resolved, options.engine);
  SearchResult result;
  result.snapshot = snapshot_;
  result.stats.engine = plan.engine;
  result.stats.tuples_in_index = snapshot_->num_tuples;
  if (snapshot_->num_tuples > 0)
    result.hits = run_engine(resolved, plan.engine, options.num_threads, result.stats);
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

std::vector<SearchResult> Index::search(std::span<const Query> queries, const SearchOptions& options) const {
  std::vector<SearchResult> results(queries.size());
  SearchOptions one = options;
  one.num_threads = 1;
  with_threads(options.num_threads, [&] {
    tbb::parallel_for(std::size_t{0}, queries.size(),
                      [&](std::size_t q) { results[q] = search(queries[q], one); });
  });
  return results;
}

SearchResult Index::search_monotone(MonotoneFunctionRef function, std::size_t k, const Filter& where,
                                    const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  if (k == 0) throw InvalidArgument("k is 0; ask for at least one row");
  if (options.engine == Engine::ta || options.engine == Engine::gta)
    throw InvalidArgument("monotone functions are answered by the engines bounded and scan");
  ResolvedQuery query;
  query.k = std::min(k, static_cast<std::size_t>(snapshot_->num_tuples));
  resolve_filter(where, *snapshot_, query);
  SearchResult result;
  result.snapshot = snapshot_;
  result.stats.engine = options.engine == Engine::scan ? Engine::scan : Engine::bounded;
  result.stats.tuples_in_index = snapshot_->num_tuples;
  const auto search = options.engine == Engine::scan ? cpu::scan_monotone : cpu::search_monotone;
  if (snapshot_->num_tuples > 0) result.hits = search(*snapshot_, function, query, result.stats);
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

DeviceIndex Index::to_device() const {
  return to_device(DeviceOptions{});
}

DeviceIndex Index::to_device(const DeviceOptions& options) const {
  return DeviceIndex::make(snapshot_, options);
}

Explanation Index::explain(const Query& query, const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  const ResolvedQuery resolved = resolve(query, *snapshot_);
  return explain_plan(*snapshot_, resolved, choose_engine(*snapshot_, resolved, options.engine));
}

std::vector<std::string> Index::verify(bool deep) const {
  const FloatingPointScope floating_point;
  return verify_snapshot(*snapshot_, deep);
}

}  // namespace culmen
