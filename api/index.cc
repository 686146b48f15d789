// Index: the public face. Checks arguments at the edge, then hands over to loader, storage, planner and
// engines.
#include "culmen/index.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <numeric>

#include "api/batch_answers.h"
#include "api/device_index.h"
#include "api/handle.h"
#include "api/read_row.h"
#include "base/enum_names.h"
#include "base/floating_point_scope.h"
#include "base/lock_isolated.h"
#include "base/with_threads.h"
#include "cpu/bounded.h"
#include "cpu/gta.h"
#include "cpu/monotone.h"
#include "cpu/scan.h"
#include "cpu/threshold_algorithm.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "gpu/build/device_load.h"
#include "index/build/bulk_load.h"
#include "index/find_rows.h"
#include "index/published.h"
#include "index/snapshot.h"
#include "index/storage/store.h"
#include "index/table_shape.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "index/write/repair.h"
#include "planner/automatic.h"
#include "planner/planner.h"
#include "planner/speed_factor.h"
#include "query/bound_plan.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using Clock = std::chrono::steady_clock;

constexpr EnumNames<Engine, 5> kEngines = {"engine",
                                           {{{"auto", Engine::automatic},
                                             {"scan", Engine::scan},
                                             {"ta", Engine::ta},
                                             {"gta", Engine::gta},
                                             {"bounded", Engine::bounded}}}};

constexpr const char* kKind = "Index";

template <typename T>
void require_memory(std::span<const T> values) {
  if (!values.empty() && values.data() == nullptr)
    throw InvalidArgument("a null pointer with " + std::to_string(values.size()) + " elements");
}

// Of GPU 0, measured once. None if there is no GPU.
std::optional<DeviceCosts> device_costs() {
  if (num_devices() == 0) return std::nullopt;
  static const DeviceCosts costs = [] {
    DeviceCosts measured;
    try {
      measured.speed = gpu::measure_device_speed(0);
    } catch (const Error&) {  // it may be full: the built-in ones will do
    }
    return measured;
  }();
  return costs;
}

DeviceLoad load(const TableView& table, const BuildOptions& options) {
  return options.device == kNoDevice ? DeviceLoad{bulk_load(table, options), nullptr}
                                     : load_on_device(table, options);
}

// Without ids, after rows were dropped: the others keep their numbers, and none of those is given again.
DeviceLoad load_with_gaps(const TableView& table, const BuildOptions& options) {
  check_shape(table);
  std::vector<std::int64_t> ids(table.num_rows);
  for (const NumberedRows& run : numbered_rows(table)) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(run.first_row);
    std::iota(first, first + static_cast<std::ptrdiff_t>(run.num_rows),
              static_cast<std::int64_t>(run.first_number));
  }
  TableView numbered = table;
  numbered.ids = ids;
  DeviceLoad loaded = load(numbered, options);
  loaded.snapshot->next_id = static_cast<std::int64_t>(table.num_numbers());
  return loaded;
}

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace

Engine parse_engine(std::string_view name) {
  return kEngines.parse(name);
}

std::string_view engine_name(Engine engine) {
  return kEngines.name(engine);
}

// What the copies of a handle share.
class Index::Core {
 public:
  explicit Core(std::unique_ptr<LiveIndex> live) : published_(live->published()), live_(std::move(live)) {}
  // Fresh from a bulk load.
  Core(DeviceLoad loaded, int device)
      : live_(std::make_unique<LiveIndex>(std::move(loaded.snapshot))),
        on_device_(std::move(loaded.on_device)),
        device_(device) {
    published_ = live_->published();
  }
  // One version, for good.
  explicit Core(std::shared_ptr<const Snapshot> snapshot)
      : published_(std::make_shared<Published>(std::move(snapshot))) {}

  std::shared_ptr<const Snapshot> snapshot() const { return published_->get(); }
  const std::shared_ptr<Published>& published() const { return published_; }
  RecoveryInfo recovery() const { return live_ == nullptr ? RecoveryInfo{} : live_->recovery(); }
  LiveIndex& live() {
    if (live_ == nullptr) throw InvalidArgument("this is a snapshot, which does not change");
    return *live_;
  }

  SearchResult search(std::shared_ptr<const Snapshot> snapshot, const Query& query,
                      const SearchOptions& options);
  // All of one version, each by one thread; take(q, result) of each, from several threads.
  void search_each(const std::shared_ptr<const Snapshot>& snapshot, std::span<const Query> queries,
                   const SearchOptions& options, const auto& take) {
    SearchOptions one = options;
    one.num_threads = 1;
    with_threads(options.num_threads, [&] {
      tbb::parallel_for(std::size_t{0}, queries.size(),
                        [&](std::size_t q) { take(q, search(snapshot, queries[q], one)); });
    });
  }

  DeviceIndex to_device(const DeviceOptions& options) {
    return make_device_index(published_, options, take_from_device(options));
  }

 private:
  std::vector<Hit> run_engine(const ResolvedQuery& query, SearchResult& result, const SearchOptions& options);

  // The sorted lists of Engine::ta for this version, kept until they are asked for another.
  std::shared_ptr<const cpu::SortedLists> lists_of(const std::shared_ptr<const Snapshot>& snapshot) {
    return lock_isolated(lists_mutex_, [&] {
      if (lists_ == nullptr || !is_same(lists_snapshot_, snapshot)) {
        lists_ = std::make_shared<cpu::SortedLists>(cpu::make_sorted_lists(*snapshot));
        lists_snapshot_ = snapshot;
      }
      return lists_;
    });
  }

  // What the build has left on a device, for the first who wants a copy of that kind there.
  std::shared_ptr<const gpu::LoadedTree> take_from_device(const DeviceOptions& options) {
    const bool fits = options.device == device_ &&
                      (options.memory == DeviceMemory::automatic || options.memory == DeviceMemory::device);
    const std::lock_guard lock(on_device_mutex_);
    return fits ? std::exchange(on_device_, nullptr) : nullptr;
  }

  std::shared_ptr<Published> published_;
  std::unique_ptr<LiveIndex> live_;
  std::mutex on_device_mutex_;
  std::shared_ptr<const gpu::LoadedTree> on_device_;
  int device_ = kNoDevice;
  std::mutex lists_mutex_;
  std::shared_ptr<const cpu::SortedLists> lists_;
  std::weak_ptr<const Snapshot> lists_snapshot_;  // a version number may be that of another index by now
};

Index::Index(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Index Index::build(const TableView& table, const BuildOptions& options) {
  const FloatingPointScope floating_point;
  const bool has_gaps = table.ids.empty() && !table.dropped_rows.empty();
  DeviceLoad loaded = has_gaps ? load_with_gaps(table, options) : load(table, options);
  return Index(std::make_shared<Core>(std::move(loaded), options.device));
}

Index Index::create(const Schema& schema, const BuildOptions& options) {
  static constexpr std::uint64_t kNoLabel[] = {0};
  TableView table;
  table.attributes = schema.attributes;
  table.columns.assign(schema.attributes.size(), std::span<const double>());
  if (schema.has_labels) table.labels.offsets = kNoLabel;
  BuildOptions of_no_rows = options;
  if (options.value_type == ValueType::automatic) of_no_rows.value_type = ValueType::float64;
  return build(table, of_no_rows);
}

Index Index::open(const std::filesystem::path& directory, const OpenOptions& options) {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  // Absolute: refresh() goes by the path again.
  std::error_code no_matter;
  const std::filesystem::path path = std::filesystem::absolute(directory, no_matter);
  return Index(std::make_shared<Core>(std::make_unique<LiveIndex>(
      storage::posix(), no_matter ? directory.string() : path.string(), options)));
}

void Index::save(const std::filesystem::path& directory, const SaveOptions& options) const {
  storage::save(*held_by(core_, kKind).snapshot(), storage::posix(), directory.string(), options.overwrite);
}

WriteResult Index::insert(const TableView& rows, const WriteOptions& options) {
  return write(WriteBatch().insert(rows), options);
}

WriteResult Index::upsert(const TableView& rows, const WriteOptions& options) {
  return write(WriteBatch().upsert(rows), options);
}

std::uint64_t Index::erase(std::span<const std::int64_t> ids) {
  return write(WriteBatch().erase(ids)).erased;
}

WriteResult Index::write(const WriteBatch& batch, const WriteOptions& options) {
  return held_by(core_, kKind).live().write(batch, options);
}

void Index::flush() {
  held_by(core_, kKind).live().flush();
}

void Index::checkpoint() {
  held_by(core_, kKind).live().checkpoint();
}

void Index::compact() {
  held_by(core_, kKind).live().compact();
}

void Index::close() {
  held_by(core_, kKind).live().close();
}

Refreshed Index::refresh() {
  return held_by(core_, kKind).live().refresh();
}

Index Index::snapshot() const {
  return Index(std::make_shared<Core>(held_by(core_, kKind).snapshot()));
}

std::uint64_t Index::version() const {
  return held_by(core_, kKind).snapshot()->version;
}

std::optional<Row> Index::get(std::int64_t id) const {
  return get(std::span(&id, 1)).front();
}

std::vector<std::optional<Row>> Index::get(std::span<const std::int64_t> ids) const {
  const FloatingPointScope floating_point;
  require_memory(ids);
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kKind).snapshot();
  std::vector<std::optional<Row>> rows;
  for (const std::uint64_t row : find_rows(*snapshot, ids))
    rows.push_back(row == kNowhere ? std::nullopt : std::optional(read_row(*snapshot, row)));
  return rows;
}

bool Index::contains(std::int64_t id) const {
  return find_rows(*held_by(core_, kKind).snapshot(), std::span(&id, 1)).front() != kNowhere;
}

RecoveryInfo Index::recovery() const {
  return held_by(core_, kKind).recovery();
}

RepairReport Index::repair(const std::filesystem::path& from, const std::filesystem::path& to) {
  return culmen::repair(storage::posix(), from.string(), to.string());
}

IndexInfo Index::info() const {
  const FloatingPointScope floating_point;
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kKind).snapshot();
  const Snapshot& s = *snapshot;
  IndexInfo info;
  info.num_rows = s.num_rows;
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
  info.partitioning = s.partitioner->kind();
  const std::vector<std::int32_t>& splits = s.partitioner->splits();
  info.num_splits =
      splits.size() > 1 && splits[0] == 1 ? splits[1] : 0;  // with shells there is no one number
  info.num_partitions = s.partitioner->num_partitions();
  info.leaf_rows = s.leaf_rows;
  info.num_leaves = s.num_leaves;
  info.num_nodes = s.num_nodes;
  info.height = s.height;
  info.data_bytes = s.num_rows * (s.attributes.size() * s.value_bytes() + sizeof(std::int64_t));
  info.overhead_bytes = s.tree_bytes() - info.data_bytes;
  info.code_bytes = s.num_leaves * s.leaf_shape().code_words() * sizeof(std::uint16_t);
  info.rounded_values = s.rounded_values;
  if (s.index_uuid != Uuid{}) info.uuid = hex_of(s.index_uuid);
  info.version = s.version;
  // By default a build fills its leaves but for one in each partition, which has ten or more of them.
  const double leaves_of_a_build = 1 + 1.1 * static_cast<double>(s.num_rows) / s.leaf_rows;
  info.compact_advised = static_cast<double>(info.num_leaves) > 1.3 * leaves_of_a_build;
  return info;
}

std::vector<double> Index::weights(std::span<const std::pair<std::string, double>> named) const {
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kKind).snapshot();
  require_memory(named);
  std::vector<double> result(snapshot->attributes.size(), 0.0);
  for (const auto& [name, weight] : named)
    result[static_cast<std::size_t>(position_of(name, *snapshot))] = weight;
  return result;
}

std::vector<double> Index::weights(std::initializer_list<std::pair<std::string, double>> named) const {
  return weights(std::span(named.begin(), named.size()));
}

SearchResult Index::Core::search(std::shared_ptr<const Snapshot> snapshot, const Query& query,
                                 const SearchOptions& options) {
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  SearchResult result;
  result.snapshot = std::move(snapshot);
  const Snapshot& s = *result.snapshot;
  const ResolvedQuery resolved = resolve(query, s);
  result.stats.engine = options.engine == Engine::automatic ? Engine::bounded : options.engine;
  result.stats.rows_in_index = s.num_rows;
  if (s.num_rows > 0) result.hits = run_engine(resolved, result, options);
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

std::vector<Hit> Index::Core::run_engine(const ResolvedQuery& query, SearchResult& result,
                                         const SearchOptions& options) {
  const Snapshot& s = *result.snapshot;
  SearchStats& stats = result.stats;
  switch (options.engine) {
    case Engine::scan:
      return with_threads(options.num_threads, [&] { return cpu::search_scan(s, query, stats); });
    case Engine::gta:
      return with_threads(options.num_threads, [&] { return cpu::search_gta(s, query, stats); });
    case Engine::ta:
      return cpu::search_ta(s, *lists_of(result.snapshot), query, stats);
    case Engine::bounded:
      return cpu::search_bounded(s, query, stats);
    case Engine::automatic:
      break;
  }
  return search_automatic(s, query, options.num_threads, stats);
}

SearchResult Index::search(const Query& query, const SearchOptions& options) const {
  check_num_threads(options.num_threads);
  return held_by(core_, kKind).search(held_by(core_, kKind).snapshot(), query, options);
}

std::vector<SearchResult> Index::search(std::span<const Query> queries, const SearchOptions& options) const {
  require_memory(queries);
  std::vector<SearchResult> results(queries.size());
  Core& core = held_by(core_, kKind);
  core.search_each(core.snapshot(), queries, options,
                   [&](std::size_t q, SearchResult result) { results[q] = std::move(result); });
  return results;
}

BatchAnswers Index::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  Core& core = held_by(core_, kKind);
  const std::shared_ptr<const Snapshot> snapshot = core.snapshot();
  const std::vector<Query> queries = queries_of(batch, *snapshot);
  BatchAnswers answers = make_answers(batch, queries.size(), *snapshot);
  core.search_each(snapshot, queries, options,
                   [&](std::size_t q, const SearchResult& result) { set_answer(result.hits, q, answers); });
  return answers;
}

SearchResult Index::search_monotone(MonotoneFunctionRef function, std::size_t k, const Filter& where,
                                    const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  check_num_threads(options.num_threads);
  if (k == 0) throw InvalidArgument("k is 0; ask for at least one row");
  if (!(function.relative_error() >= 0 && function.relative_error() < 1))
    throw InvalidArgument("the function's relative_error must be at least 0 and below 1");
  if (options.engine == Engine::ta || options.engine == Engine::gta)
    throw InvalidArgument("monotone functions are answered by the engines bounded and scan");
  SearchResult result;
  result.snapshot = held_by(core_, kKind).snapshot();
  const Snapshot& s = *result.snapshot;
  ResolvedQuery query;
  query.k = std::min(k, static_cast<std::size_t>(s.num_rows));
  query.where = resolve_filter(where, s);
  query.bound.ranges = make_range_bounds(query.where, s);
  result.stats.engine = options.engine == Engine::scan ? Engine::scan : Engine::bounded;
  result.stats.rows_in_index = s.num_rows;
  if (s.num_rows > 0) {
    result.hits = options.engine == Engine::scan
                      ? with_threads(options.num_threads,
                                     [&] { return cpu::scan_monotone(s, function, query, result.stats); })
                      : cpu::search_monotone(s, function, query, result.stats);
  }
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

Filter Index::filter(std::string_view where) const {
  const FloatingPointScope floating_point;
  return parse_filter(where, *held_by(core_, kKind).snapshot());
}

DeviceIndex Index::to_device() const {
  return to_device(DeviceOptions{});
}

DeviceIndex Index::to_device(const DeviceOptions& options) const {
  return held_by(core_, kKind).to_device(options);
}

Explanation Index::explain(const Query& query, const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kKind).snapshot();
  const ResolvedQuery resolved = resolve(query, *snapshot);
  return explain_plan(*snapshot, resolved,
                      make_plan(*snapshot, resolved, options, CostsNs(), speed_factor(), device_costs()));
}

Placement Index::place(std::span<const Query> queries, const PlacementOptions& options) const {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  require_memory(queries);
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kKind).snapshot();
  std::vector<ResolvedQuery> resolved;
  for (const Query& query : queries) resolved.push_back(resolve(query, *snapshot));
  return place_queries(*snapshot, resolved, options, CostsNs(), speed_factor(), device_costs());
}

std::vector<std::string> Index::verify(bool deep) const {
  const FloatingPointScope floating_point;
  return verify_snapshot(*held_by(core_, kKind).snapshot(), deep);
}

}  // namespace culmen
