#include "index/write/repair.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/ids.h"
#include "culmen/error.h"
#include "index/build/bulk_load.h"
#include "index/storage/salvage.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/change_fold.h"
#include "index/write/live_index.h"
#include "index/write/reload.h"
#include "index/write/tree_writer.h"

namespace culmen {
namespace {

bool is_empty_directory(storage::FileSystem& file_system, const std::string& path) {
  try {
    return file_system.open_directory(path)->list().empty();
  } catch (const IoError&) {
    return false;
  }
}

// Fails before the long work if the directory cannot be made.
void require_new(storage::FileSystem& file_system, const std::string& path) {
  if (file_system.make_directory(path))
    file_system.remove_directory(path);
  else if (!is_empty_directory(file_system, path))
    throw InvalidArgument(path + " exists and is not an empty directory: choose another one");
}

// An index without rows, as the manifest describes it.
std::shared_ptr<Snapshot> empty_index(const storage::Manifest& manifest) {
  TableView table{0, manifest.attributes, {}, {}, {}};
  for (std::size_t i = 0; i < manifest.attributes.size(); ++i)
    table.columns.emplace_back(std::span<const double>());
  table.fields = manifest.fields;
  for (const Field& field : manifest.fields)
    table.field_views.push_back(field.is_text() ? FieldView(TextView{})
                                                : FieldView(ColumnView(std::span<const double>())));
  table.id_name = manifest.id_name;
  table.label_name = manifest.label_name;
  table.id_type = manifest.id_type;
  BuildOptions options;
  options.partitioning = manifest.partitioning;
  if (manifest.cluster) options.cluster = manifest.column_name(*manifest.cluster);
  options.leaf_rows = manifest.leaf_rows;
  options.value_type = manifest.value_type;
  std::shared_ptr<Snapshot> snapshot = bulk_load(table, options);
  snapshot->has_labels = manifest.has_labels;
  snapshot->stand_ins = manifest.stand_ins;
  snapshot->quantiles = manifest.quantiles;
  return snapshot;
}

FieldChange take_field(const Field& field, const Dictionary* dictionary, storage::SavedField& saved) {
  if (dictionary == nullptr)
    return {std::move(saved.keys), std::move(saved.text_ends), std::move(saved.text),
            std::move(saved.missing)};
  FieldChangeBuilder rows(field);
  for (std::size_t row = 0; row < saved.keys.size(); ++row)
    if (saved.missing[row] != 0) {
      rows.add_missing();
    } else {
      rows.add_text((*dictionary)[static_cast<std::uint32_t>(saved.keys[row])]);
    }
  return rows.take();
}

// Moves all rows of `found` into one batch.
Change take_rows(storage::Salvage& found) {
  Change change;
  change.ids = std::move(found.ids);
  change.label_ends = std::move(found.label_ends);
  change.label_text = std::move(found.label_text);
  change.values.reserve(found.columns.size() * change.ids.size() * found.manifest.value_bytes());
  for (std::vector<std::byte>& column : found.columns) {
    change.values.insert(change.values.end(), column.begin(), column.end());
    column = {};
  }
  for (std::size_t f = 0; f < found.fields.size(); ++f)
    change.fields.push_back(
        take_field(found.manifest.fields[f], found.manifest.dictionaries[f].get(), found.fields[f]));
  change.rounded_values = found.manifest.rounded_values;
  change.next_id = found.manifest.next_id;
  if (!change.ids.empty()) {  // the next id of the manifest may be damaged
    const std::int64_t last = *std::max_element(change.ids.begin(), change.ids.end());
    change.next_id = std::max(change.next_id, id_after(last));
  }
  return change;
}

// Fits a logged change to the rows that were saved: removed ids may have been lost with their leaf, and a row replaces
// one with the same id.
void fit(Change& change, const TreeWriter& tree) {
  std::erase_if(change.removed, [&](std::int64_t id) { return !tree.contains(id); });
  const HashedIds removed(change.removed.begin(), change.removed.end());
  for (const std::int64_t id : change.ids)
    if (tree.contains(id) && removed.count(id) == 0) change.removed.push_back(id);
  change.next_id = std::max(change.next_id, tree.current().next_id);
}

std::optional<storage::BatchSize> size_of(std::span<const std::byte> body,
                                          const storage::Manifest& manifest) {
  try {
    const Change change = decode(body, manifest.leaf_shape(), manifest.fields);
    return storage::BatchSize{change.ids.size(), change.removed.size()};
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

// Applies the batches of the log, and says of those that are lost how large they are.
storage::SalvagedLog salvage_log(storage::FileSystem& file_system, const std::string& directory,
                                 storage::Salvage& found,
                                 const std::function<void(std::span<const std::byte>)>& apply) {
  return storage::salvage_log(file_system, directory, found, {apply, [&](std::span<const std::byte> body) {
                                                                return size_of(body, found.manifest);
                                                              }});
}

// Copies an undamaged index. Returns nothing if it is damaged; then `why` is the first fault.
std::optional<RepairReport> copy_sound(storage::FileSystem& file_system, const std::string& from,
                                       const std::string& to, std::string& why) {
  std::unique_ptr<LiveIndex> index;
  try {
    index = std::make_unique<LiveIndex>(file_system, from, OpenOptions{});
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
  const std::shared_ptr<const Snapshot> snapshot = index->published()->get();
  if (const std::vector<std::string> faults = verify_snapshot(*snapshot, true); !faults.empty()) {
    why = from + ": " + faults.front();
    return std::nullopt;
  }
  const RecoveryInfo recovery = index->recovery();
  RepairReport report;
  report.rows_kept = snapshot->num_rows;
  report.batches_applied = recovery.num_batches;
  if (recovery.dropped_bytes > 0)
    report.dropped.push_back(storage::torn_end_text(recovery.dropped_from, recovery.dropped_bytes));
  storage::save(*snapshot, file_system, to, false);
  return report;
}

// Why the index cannot be opened; empty: it can.
std::string fault_at_opening(storage::FileSystem& file_system, const std::string& directory) try {
  const LiveIndex index(file_system, directory, OpenOptions{});
  return {};
} catch (const NoIndex&) {
  throw;
} catch (const FormatError& error) {
  return error.what();
} catch (const IoError& error) {  // a file of the index is missing or cannot be read
  return error.what();
}

}  // namespace

std::vector<std::string> damage(storage::FileSystem& file_system, const std::string& directory) {
  const FloatingPointScope floating_point;
  const std::string first = fault_at_opening(file_system, directory);
  if (first.empty()) return {};
  std::vector<std::string> faults;
  try {
    storage::Salvage found = storage::salvage(file_system, directory);
    storage::list_damaged_tree(file_system, directory, found);
    const LeafShape shape = found.manifest.leaf_shape();
    const auto check = [&](std::span<const std::byte> body) {
      static_cast<void>(decode(body, shape, found.manifest.fields));
    };
    salvage_log(file_system, directory, found, check);
    faults = std::move(found.dropped);
  } catch (const FormatError& error) {  // no manifest
    faults.emplace_back(error.what());
  }
  const auto names_first = [&](const std::string& fault) { return fault.find(first) != std::string::npos; };
  if (std::ranges::none_of(faults, names_first)) faults.insert(faults.begin(), first);
  return faults;
}

RepairReport repair(storage::FileSystem& file_system, const std::string& from, const std::string& to) {
  const FloatingPointScope floating_point;
  require_new(file_system, to);
  std::string why;
  if (const std::optional<RepairReport> report = copy_sound(file_system, from, to, why)) return *report;
  storage::Salvage found = storage::salvage(file_system, from);
  RepairReport report;
  const std::uint64_t num_rows = found.manifest.num_rows;
  report.rows_lost = num_rows - std::min<std::uint64_t>(num_rows, found.ids.size());
  const std::shared_ptr<Snapshot> loaded = reload_rows(*empty_index(found.manifest), {}, take_rows(found));
  loaded->version = found.manifest.version;
  TreeWriter tree(loaded);
  const auto apply = [&](std::span<const std::byte> body) {
    const LeafShape shape = tree.current().leaf_shape();
    const std::vector<Field>& fields = tree.current().fields;
    Change change = decode(body, shape, fields);
    fit(change, tree);
    ChangeFold checked(
        shape, tree.current().next_id, [&tree](std::int64_t id) { return tree.contains(id); }, fields);
    checked.add(std::move(change));
    tree.apply(checked.fold());
  };
  const storage::SalvagedLog log = salvage_log(file_system, from, found, apply);
  report.batches_applied = log.num_applied;
  report.batches_lost = log.num_lost;
  const std::shared_ptr<const Snapshot> saved = tree.finish_version(loaded->version + report.batches_applied);
  report.rows_kept = saved->num_rows;
  report.dropped = std::move(found.dropped);
  if (report.rows_kept == 0 && report.rows_lost > 0)
    throw FormatError(from + ": no row can be saved; " +
                      (report.dropped.empty() ? std::string("no leaf is sound") : report.dropped.front()));
  if (report.dropped.empty()) report.dropped.push_back(why + " (rebuilt from the rows)");
  storage::save(*saved, file_system, to, false);
  return report;
}

}  // namespace culmen
