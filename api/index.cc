// Index: builds, opens and saves, changes, and reads rows. It checks arguments and calls loader, storage and writer.
#include "culmen/index.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "api/handle.h"
#include "api/index_core.h"
#include "api/read_row.h"
#include "api/rows_by_leaf.h"
#include "base/floating_point_scope.h"
#include "base/temporary_files.h"
#include "base/with_threads.h"
#include "index/build/bulk_load.h"
#include "index/build/contiguous_table.h"
#include "index/build/partition_cuts.h"
#include "index/build/table_quantiles.h"
#include "index/build/text_table.h"
#include "index/field_rows.h"
#include "index/find_rows.h"
#include "index/read_session.h"
#include "index/row_subset.h"
#include "index/snapshot_fields.h"
#include "index/storage/store.h"
#include "index/table_shape.h"
#include "index/verify.h"
#include "index/write/repair.h"
#include "query/resolve.h"

namespace culmen {
namespace {

DeviceLoad load_rows(const TableView& table, const BuildOptions& options) {
  if (devices_that_build(options).empty()) return {bulk_load(table, options), nullptr};
  if (!options.temp_directory.empty())
    throw InvalidArgument(
        "a GPU builds in memory alone: leave out the directory for temporary files, or build on the CPU");
  return load_on_device(table, options);
}

// Null: there are no rows to have some.
std::shared_ptr<const Quantiles> quantiles_for(const TableView& table, const BuildOptions& options,
                                               ValueType type) {
  if (!options.quantiles.empty()) {
    check_quantiles(options.quantiles, table.attributes);
    return std::make_shared<const Quantiles>(options.quantiles);
  }
  if (table.num_rows == 0) return nullptr;
  return with_threads(options.num_threads,
                      [&] { return std::make_shared<const Quantiles>(quantiles_of(table, type)); });
}

DeviceLoad load(const TableView& table, const BuildOptions& options) {
  DeviceLoad loaded = load_rows(table, options);
  loaded.snapshot->quantiles = quantiles_for(table, options, loaded.snapshot->value_type);
  return loaded;
}

// For a table without ids from which rows were dropped. The other rows keep their numbers as ids, and no later row gets
// the number of a dropped one.
DeviceLoad load_with_gaps(const TableView& table, const BuildOptions& options) {
  check_shape(table);
  Array<std::int64_t> ids(table.num_rows, temporary_files(options.temp_directory));
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

DeviceLoad load_with_ids(const TableView& table, const BuildOptions& options) {
  if (table.ids.empty() && !table.dropped_rows.empty()) return load_with_gaps(table, options);
  return with_distinct_ids(table, options,
                           [&](const TableView& distinct) { return load(distinct, options); });
}

// Numbers stand in for the ids.
DeviceLoad load_with_texts(const TableView& table, const BuildOptions& options) {
  const Array<std::int64_t> ids = with_threads(options.num_threads, [&] {
    return ids_of_texts(table, options.duplicates, temporary_files(options.temp_directory));
  });
  TableView numbered = table;
  numbered.ids = ids;
  return load_with_ids(numbered, options);
}

DeviceLoad load_any(const TableView& table, const BuildOptions& options) {
  return table.id_type == IdType::text ? load_with_texts(table, options) : load_with_ids(table, options);
}

DeviceLoad load_in_files(const TableView& table, const BuildOptions& options) {
  check_shape(table);
  check_fields(table);
  const ContiguousTable contiguous(table, temporary_files(options.temp_directory));
  return load_any(contiguous.view(), options);
}

}  // namespace

Index::Index(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Index Index::build(const TableView& table, const BuildOptions& options) {
  const FloatingPointScope floating_point;
  DeviceLoad loaded =
      options.temp_directory.empty() ? load_any(table, options) : load_in_files(table, options);
  const std::vector<int> devices = devices_that_build(options);
  return Index(std::make_shared<Core>(std::move(loaded), devices.size() == 1 ? devices.front() : kNoDevice));
}

Index Index::create(const Schema& schema, const BuildOptions& options) {
  if (schema.id_type == IdType::text && schema.has_labels)
    throw InvalidArgument("an index whose ids are texts has no labels besides");
  static constexpr std::uint64_t kNoLabel[] = {0};
  TableView table;
  table.attributes = schema.attributes;
  table.columns.assign(schema.attributes.size(), std::span<const double>());
  if (schema.has_labels || schema.id_type == IdType::text) table.labels.offsets = kNoLabel;
  table.fields = schema.fields;
  for (const Field& field : schema.fields)
    table.field_views.push_back(field.is_text() ? FieldView(TextView{{{}, kNoLabel}})
                                                : FieldView(ColumnView()));
  table.id_name = schema.id_name;
  table.label_name = schema.label_name;
  table.id_type = schema.id_type;
  return build(table, options);
}

namespace {

void check_memory(const OpenOptions& options) {
  if (options.max_memory == kUnlimitedMemory) return;
  if (options.loading != Loading::on_touch)
    throw InvalidArgument(
        "a limit of memory is for an index that is read on touch; one that is opened whole is in memory");
}

}  // namespace

Index Index::open(const std::filesystem::path& directory, const OpenOptions& options) {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  check_memory(options);
  // Absolute: refresh() opens the path again, from a working directory that may be another.
  std::error_code no_matter;
  const std::filesystem::path path = std::filesystem::absolute(directory, no_matter);
  const std::string name = no_matter ? directory.string() : path.string();
  return Index(std::make_shared<Core>(std::make_unique<LiveIndex>(storage::posix(), name, options), options));
}

void Index::save(const std::filesystem::path& directory, const SaveOptions& options) const {
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kIndexHandle).snapshot();
  snapshot->require_all();
  storage::save(*snapshot, storage::posix(), directory.string(), options.overwrite);
}

WriteResult Index::insert(const TableView& rows, const WriteOptions& options) {
  return write(WriteBatch().insert(rows), options);
}

WriteResult Index::upsert(const TableView& rows, const WriteOptions& options) {
  return write(WriteBatch().upsert(rows), options);
}

std::vector<std::int64_t> Index::ids_where(const Filter& where) const {
  return held_by(core_, kIndexHandle).ids_where(where);
}

std::uint64_t Index::erase_where(const Filter& where) {
  return write(WriteBatch().erase_where(where)).erased;
}

std::uint64_t Index::erase(std::span<const std::int64_t> ids) {
  return write(WriteBatch().erase(ids)).erased;
}

std::uint64_t Index::erase(std::span<const std::string_view> texts) {
  return write(WriteBatch().erase(texts)).erased;
}

WriteResult Index::write(const WriteBatch& batch, const WriteOptions& options) {
  return held_by(core_, kIndexHandle).live().write(batch, options);
}

void Index::check(const WriteBatch& batch, const WriteOptions& options) const {
  held_by(core_, kIndexHandle).live().check(batch, options);
}

void Index::flush() {
  held_by(core_, kIndexHandle).live().flush();
}

void Index::checkpoint() {
  held_by(core_, kIndexHandle).live().checkpoint();
}

void Index::compact(const CompactOptions& options) {
  held_by(core_, kIndexHandle).live().compact(options.temp_directory);
}

void Index::close() {
  held_by(core_, kIndexHandle).live().close();
}

Refreshed Index::refresh() {
  Core& core = held_by(core_, kIndexHandle);
  const Refreshed found = core.live().refresh([&core](const Snapshot& next) { core.follow_codes(next); });
  if (found != Refreshed::unchanged) core.forget_folded();
  return found;
}

Index Index::snapshot() const {
  return Index(std::make_shared<Core>(std::as_const(held_by(core_, kIndexHandle))));
}

std::shared_ptr<const Snapshot> snapshot_of(const Index& index) {
  return held_by(index.core_, kIndexHandle).snapshot();
}

std::shared_ptr<const Snapshot> version_of(const Index& index) {
  return held_by(index.core_, kIndexHandle).version();
}

std::shared_ptr<const LoggedView> logged_view_of(const Index& index) {
  Index::Core& core = held_by(index.core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  return version->logged == nullptr ? nullptr : core.logged_view(version);
}

bool keeps_codes(const Index& index) {
  const Index::Core& core = *index.core_;
  return core.code_table_of(base_tree_of(*core.version())) != nullptr;
}

std::uint64_t Index::version() const {
  return held_by(core_, kIndexHandle).version()->version;
}

std::optional<Row> Index::get(std::int64_t id) const {
  return get(std::span(&id, 1)).front();
}

std::vector<std::optional<Row>> Index::get(std::span<const std::int64_t> ids) const {
  const FloatingPointScope floating_point;
  require_memory(ids);
  Core& core = held_by(core_, kIndexHandle);
  return core.rows_with(*core.version(), ids);
}

std::vector<std::optional<Row>> Index::Core::rows_with(const Snapshot& version,
                                                       std::span<const std::int64_t> ids) {
  std::vector<std::optional<Row>> rows(ids.size());
  std::vector<RowPlace> places;
  std::vector<std::size_t> found;  // of which ids they are
  bool by_id_map;
  const std::vector<std::uint64_t> all = find_rows(version, ids, by_id_map);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == kNowhere) continue;
    places.push_back(place_of(version, all[i]));
    found.push_back(i);
  }
  for_rows_by_leaf(places, [&](std::size_t i, const RowPlace& place) {
    rows[found[i]] = read_row(place.tree, place.row);
  });
  return rows;
}

std::optional<Row> Index::get(std::string_view text) const {
  return get(std::span(&text, 1)).front();
}

std::vector<std::optional<Row>> Index::get(std::span<const std::string_view> texts) const {
  const FloatingPointScope floating_point;
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  std::vector<std::int64_t> ids;
  std::vector<std::size_t> found;  // of which texts they are
  const std::vector<TextPlace> places = core.find_texts(version, texts);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].is_there) continue;
    ids.push_back(places[i].id);
    found.push_back(i);
  }
  std::vector<std::optional<Row>> rows(texts.size()), of_ids = core.rows_with(*version, ids);
  for (std::size_t i = 0; i < found.size(); ++i) rows[found[i]] = std::move(of_ids[i]);
  return rows;
}

bool Index::contains(std::string_view text) const {
  return find_texts(std::span(&text, 1)).front().is_there;
}

std::vector<TextPlace> Index::find_texts(std::span<const std::string_view> texts) const {
  Core& core = held_by(core_, kIndexHandle);
  return core.find_texts(core.version(), texts);
}

bool Index::contains(std::int64_t id) const {
  Core& core = held_by(core_, kIndexHandle);
  bool by_id_map;
  return core.find_rows(*core.version(), std::span(&id, 1), by_id_map).front() != kNowhere;
}

RecoveryInfo Index::recovery() const {
  return held_by(core_, kIndexHandle).recovery();
}

std::vector<std::string> Index::damage(const std::filesystem::path& directory) {
  return culmen::damage(storage::posix(), directory.string());
}

RepairReport Index::repair(const std::filesystem::path& from, const std::filesystem::path& to) {
  return culmen::repair(storage::posix(), from.string(), to.string());
}

namespace {

// By default a build fills all leaves but one in each partition, and partitions have ten leaves or more.
bool advises_compact(const IndexInfo& info) {
  const double leaves_of_a_build = 1 + 1.1 * static_cast<double>(info.num_rows) / info.leaf_rows;
  return static_cast<double>(info.num_leaves) > 1.3 * leaves_of_a_build;
}

std::int64_t shown_next_id(const Snapshot& s) {
  return s.id_type == IdType::int64 ? std::max<std::int64_t>(s.next_id, 0) : 0;
}

IndexInfo info_of(const Snapshot& s) {
  IndexInfo info;
  const ReadSession session(s);
  info.num_rows = s.num_rows;
  for (std::size_t i = 0; i < s.attributes.size(); ++i) {
    const Attribute& attribute = s.attributes[i];
    const bool low = attribute.preference == Preference::low;
    info.attributes.push_back(
        {attribute.name, attribute.preference,
         oriented(low ? s.stats[i].maximum : s.stats[i].minimum, attribute.preference),
         oriented(low ? s.stats[i].minimum : s.stats[i].maximum, attribute.preference), attribute.stand_in,
         s.stand_ins.empty() ? 0.0 : oriented(s.stand_ins[i], attribute.preference), attribute.format,
         gaps_of_index(s, static_cast<std::int32_t>(i)).some_missing != 0});
  }
  for (std::size_t f = 0; f < s.fields.size(); ++f)
    info.fields.push_back({s.fields[f],
                           s.height > 0 && s.arena->child_zones(s.root).zones(f).gaps.some_missing != 0,
                           s.dictionaries[f] == nullptr ? 0 : s.dictionaries[f]->size()});
  info.value_type = s.value_type;
  info.has_labels = s.has_labels && s.id_type != IdType::text;
  info.id_type = s.id_type;
  info.partitioning = s.partitioner->kind();
  info.shells = lacks_shells(*s.partitioner) ? Shells::none : Shells::sums;
  info.row_order = s.partitioner->row_order();
  info.cluster = s.cluster_name();
  info.num_splits = is_grid(*s.partitioner) ? s.partitioner->splits().back() : 0;
  info.num_partitions = s.partitioner->num_partitions();
  info.leaf_rows = s.leaf_rows;
  info.num_leaves = s.num_leaves;
  info.num_nodes = s.num_nodes;
  info.height = s.height;
  info.data_bytes = s.num_rows * (s.attributes.size() * s.value_bytes() + sizeof(std::int64_t));
  info.overhead_bytes = s.tree_bytes() - info.data_bytes;
  info.code_bytes = s.num_leaves * s.leaf_shape().code_words() * sizeof(std::uint16_t);
  if (s.arena != nullptr) info.num_reads = s.arena->num_reads();
  info.next_id = shown_next_id(s);
  info.rounded_values = s.rounded_values;
  if (s.index_uuid != Uuid{}) info.uuid = hex_of(s.index_uuid);
  info.version = s.version;
  info.compact_advised = advises_compact(info);
  return info;
}

// Of a version with LoggedRows: bytes are those of both trees. Fields that only rows missed that were erased count as missing.
IndexInfo info_of(const Snapshot& version, const TableStatistics& statistics) {
  const IndexInfo rows = info_of(*version.logged->rows);
  IndexInfo info = info_of(*version.logged->base);
  const std::uint64_t tree_bytes =
      info.data_bytes + info.overhead_bytes + rows.data_bytes + rows.overhead_bytes;
  for (std::size_t i = 0; i < info.attributes.size(); ++i) {
    info.attributes[i].minimum = statistics.attributes[i].minimum;
    info.attributes[i].maximum = statistics.attributes[i].maximum;
    info.attributes[i].has_missing = statistics.attributes[i].has_missing;
  }
  for (std::size_t f = 0; f < info.fields.size(); ++f) {
    info.fields[f].has_missing = info.fields[f].has_missing || rows.fields[f].has_missing;
    info.fields[f].num_texts = std::max(info.fields[f].num_texts, rows.fields[f].num_texts);
  }
  info.data_bytes = info.data_bytes / std::max<std::uint64_t>(info.num_rows, 1) * version.num_rows;
  info.overhead_bytes = tree_bytes - info.data_bytes;
  info.code_bytes += rows.code_bytes;
  info.num_rows = version.num_rows;
  info.num_leaves += rows.num_leaves;
  info.num_nodes += rows.num_nodes;
  info.height = std::max(info.height, rows.height);
  info.next_id = shown_next_id(version);
  info.rounded_values = version.rounded_values;
  info.version = version.version;
  info.compact_advised = advises_compact(info);
  return info;
}

}  // namespace

IndexInfo Index::info(Scale scale) const {
  const FloatingPointScope floating_point;
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  IndexInfo info = version->logged == nullptr ? info_of(*version)
                                              : info_of(*version, core.logged_view(version)->statistics());
  if (const auto codes = core.code_table_of(base_tree_of(*version))) info.code_bytes = codes->num_bytes();
  for (std::size_t i = 0; scale == Scale::zscore && i < info.attributes.size(); ++i) {
    info.attributes[i].mean = version->spreads()[i].mean;
    info.attributes[i].deviation = version->spreads()[i].deviation;
  }
  for (std::size_t i = 0; scale == Scale::rank && i < info.attributes.size(); ++i)
    info.attributes[i].quantiles = version->known_quantiles()[i];
  return info;
}

TableStatistics Index::statistics(Scale scale) const {
  const FloatingPointScope floating_point;
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  return version->logged == nullptr ? statistics_of(*version, scale)
                                    : core.logged_view(version)->statistics(scale, *version);
}

Schema Index::schema() const {
  const std::shared_ptr<const Snapshot> s = held_by(core_, kIndexHandle).version();
  const bool has_labels = s->has_labels && s->id_type != IdType::text;
  return {s->attributes, has_labels, s->fields, s->id_name, s->label_name, s->id_type};
}

std::vector<double> Index::weights(std::span<const std::pair<std::string, double>> named) const {
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kIndexHandle).version();
  require_memory(named);
  std::vector<double> result(snapshot->attributes.size(), 0.0);
  for (const auto& [name, weight] : named)
    result[static_cast<std::size_t>(position_of(name, *snapshot))] = weight;
  return result;
}

std::vector<double> Index::weights(std::initializer_list<std::pair<std::string, double>> named) const {
  return weights(std::span(named.begin(), named.size()));
}

DeviceIndex Index::to_device() const {
  return to_device(DeviceOptions{});
}

DeviceIndex Index::to_device(const DeviceOptions& options) const {
  return held_by(core_, kIndexHandle).to_device(options);
}

DeviceGroup Index::to_devices(const std::vector<int>& devices) const {
  return to_devices(devices, DeviceGroupOptions{});
}

DeviceGroup Index::to_devices(const std::vector<int>& devices, const DeviceGroupOptions& options) const {
  if (devices.empty()) throw InvalidArgument("a group of GPUs has at least one");
  return held_by(core_, kIndexHandle).to_devices(devices, options);
}

std::vector<std::string> Index::verify(bool deep) const {
  const FloatingPointScope floating_point;
  const std::shared_ptr<const Snapshot> snapshot = held_by(core_, kIndexHandle).snapshot();
  snapshot->require_all();
  return verify_snapshot(*snapshot, deep);
}

}  // namespace culmen
