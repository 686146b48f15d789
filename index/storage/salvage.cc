#include "index/storage/salvage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>

#include "culmen/error.h"
#include "index/storage/directory_files.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

// A manifest that nothing vouches for.
Manifest read_unnamed_manifest(const Directory& directory, std::uint64_t number) {
  const auto file = directory.open(manifest_name(number));
  Manifest manifest = parse_manifest(read_text(*file, kMaxManifestBytes), file->path());
  if (manifest.snapshot.number != number) throw_damaged(file->path(), 0, "the manifest of another snapshot");
  return manifest;
}

// Those in the directory, the latest first; in front of all the one that CURRENT names.
std::vector<std::uint64_t> manifest_numbers(const Directory& directory, std::uint64_t current) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : directory.list()) {
    const std::uint64_t number = snapshot_number_of(name);
    if (number > 0 && number != current && name == manifest_name(number)) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  if (current > 0) numbers.insert(numbers.begin(), current);
  return numbers;
}

void find_manifest(const Directory& directory, Salvage& found) {
  std::uint64_t number = 0;
  try {
    const Current current = parse_current(read_current_text(directory), directory.path_of(kCurrentName));
    number = current.snapshot_number;
    found.bound = current.log;
    found.manifest = read_manifest(directory, current);
    return;
  } catch (const Error& error) {
    found.dropped.emplace_back(error.what());
  }
  for (const std::uint64_t candidate : manifest_numbers(directory, number)) {
    try {
      found.manifest = read_unnamed_manifest(directory, candidate);
      return;
    } catch (const Error& error) {
      found.dropped.emplace_back(error.what());
    }
  }
  throw FormatError(directory.path() + ": no manifest can be read, so nothing can be saved; " +
                    found.dropped.back());
}

class RowSalvager {
 public:
  RowSalvager(const Directory& directory, Salvage& found)
      : found_(found),
        manifest_(found.manifest),
        layout_(manifest_.leaf_layout()),
        leaves_(open(directory, FileKind::leaves)),
        labels_(manifest_.has_labels ? open(directory, FileKind::labels) : std::nullopt) {}

  void run() {
    const std::size_t num_lines = found_.dropped.size();
    take_leaves();
    std::vector<std::int64_t> ids = found_.ids;
    std::sort(ids.begin(), ids.end());
    if (std::adjacent_find(ids.begin(), ids.end()) == ids.end()) return;
    found_.dropped.resize(num_lines);
    seen_.emplace();
    take_leaves();
  }

 private:
  std::optional<LoneBlockReader> open(const Directory& directory, FileKind kind) {
    try {
      return LoneBlockReader(directory, kind, manifest_.snapshot);
    } catch (const Error& error) {
      found_.dropped.emplace_back(error.what());
      return std::nullopt;
    }
  }

  void take_leaves() {
    found_.ids.clear();
    found_.label_ends.clear();
    found_.label_text.clear();
    found_.columns.assign(manifest_.attributes.size(), {});
    if (!leaves_) return;
    for (std::uint64_t leaf = 0; leaf < manifest_.num_leaves; ++leaf) {
      const BlockPlace place = fixed_place(leaf, layout_.payload_bytes(), 0);
      try {
        const std::byte* payload = leaves_->read(leaf, place);
        if (manifest_.value_type == ValueType::float32)
          take_leaf<float>(leaf, place, payload);
        else
          take_leaf<double>(leaf, place, payload);
      } catch (const Error& error) {
        found_.dropped.emplace_back(error.what());
        if (!leaves_->reaches(place.end())) return;  // one line for all that are behind the end
      }
    }
  }

  template <typename T>
  void take_leaf(std::uint64_t leaf, const BlockPlace& place, const std::byte* payload) {
    LeafRecord record;
    std::memcpy(&record, payload, sizeof record);
    const std::uint64_t slots = manifest_.block_rows;
    if (record.num_rows == 0 || record.num_rows > slots)
      throw_damaged(leaves_->path(), place.offset, "a leaf of " + std::to_string(record.num_rows) + " rows");
    const std::byte* label_block = manifest_.has_labels ? read_label_block(leaf, record) : nullptr;
    const T* values = reinterpret_cast<const T*>(payload + layout_.values_offset());
    const std::int64_t* ids = reinterpret_cast<const std::int64_t*>(payload + layout_.ids_offset());
    std::uint64_t num_bad = 0;
    for (std::uint64_t row = 0; row < record.num_rows; ++row) {
      bool good = true;
      for (std::size_t i = 0; i < found_.columns.size(); ++i) good &= std::isfinite(values[i * slots + row]);
      if (!good || (seen_ && !seen_->insert(ids[row]).second)) {
        ++num_bad;
        continue;
      }
      found_.ids.push_back(ids[row]);
      for (std::size_t i = 0; i < found_.columns.size(); ++i) {
        const auto bytes = std::as_bytes(std::span(values + i * slots + row, 1));
        found_.columns[i].insert(found_.columns[i].end(), bytes.begin(), bytes.end());
      }
      if (manifest_.has_labels) add_label(label_block, row);
    }
    if (num_bad > 0)
      found_.dropped.push_back(leaves_->path() + ", byte " + std::to_string(place.offset) + ": " +
                               std::to_string(num_bad) +
                               " rows whose values are not finite or whose ids came before");
  }

  // Null, with a line, if it is damaged.
  const std::byte* read_label_block(std::uint64_t leaf, const LeafRecord& record) {
    if (!labels_) return nullptr;
    try {
      const std::uint64_t end_bytes = manifest_.block_rows * sizeof(std::uint32_t);
      if (record.label_bytes > std::numeric_limits<std::uint32_t>::max() ||
          record.labels_offset % kAlignment != 0 || !labels_->reaches(record.labels_offset))
        throw_damaged(labels_->path(), record.labels_offset, "no labels where a leaf says they are");
      const std::byte* block = labels_->read(leaf, {record.labels_offset, end_bytes + record.label_bytes, 0});
      if (!label_ends_are_good(reinterpret_cast<const std::uint32_t*>(block), manifest_.block_rows,
                               record.label_bytes))
        throw_damaged(labels_->path(), record.labels_offset, "labels that overlap or leave their block");
      return block;
    } catch (const Error& error) {
      found_.dropped.push_back(std::string(error.what()) + " (" + std::to_string(record.num_rows) +
                               " rows without their labels)");
      return nullptr;
    }
  }

  void add_label(const std::byte* block, std::uint64_t row) {
    if (block != nullptr) {
      const auto* ends = reinterpret_cast<const std::uint32_t*>(block);
      const auto* text = reinterpret_cast<const char*>(ends + manifest_.block_rows);
      found_.label_text.insert(found_.label_text.end(), text + (row == 0 ? 0 : ends[row - 1]),
                               text + ends[row]);
    }
    found_.label_ends.push_back(found_.label_text.size());
  }

  Salvage& found_;
  const Manifest& manifest_;
  const LeafLayout layout_;
  std::optional<LoneBlockReader> leaves_, labels_;
  std::optional<std::unordered_set<std::int64_t>> seen_;  // only if an id comes twice: it takes memory
};

// The log ended without complaint. A line if something says that more was durable, or that more was written.
void check_log_end(const Directory& directory, const LogReader& reader, Salvage& found) {
  const std::string here = reader.path() + ", byte " + std::to_string(reader.end().offset) + ": ";
  if (reader.name().number < found.bound.number) {
    found.dropped.push_back(here + "the log ends here, but the index was closed with " +
                            directory.path_of(log_name(found.bound.number)));
    return;
  }
  if (reader.name().number == found.bound.number && reader.end().offset < found.bound.bytes) {
    found.dropped.push_back(here + "the log is damaged; it was durable to byte " +
                            std::to_string(found.bound.bytes));
    return;
  }
  for (const std::string& name : directory.list()) {
    const std::uint64_t number = log_number_of(name);
    if (number <= reader.name().number) continue;
    const std::optional<LogOrigin> origin = read_log_origin(directory, number);
    if (!origin || origin->previous != reader.name().uuid) continue;
    if (!origin->has_frames && origin->version <= reader.end().version) continue;
    found.dropped.push_back(here + "the log ends here, but " + directory.path_of(name) +
                            " goes on from a later place");
    return;
  }
  if (reader.torn_bytes() > 0)
    found.dropped.push_back(here + std::to_string(reader.torn_bytes()) +
                            " bytes behind the last whole batch, of batches that were not reported as done");
}

}  // namespace

Salvage salvage(FileSystem& file_system, const std::string& path) {
  const auto directory = file_system.open_directory(path);
  Salvage found;
  find_manifest(*directory, found);
  RowSalvager(*directory, found).run();
  return found;
}

std::uint64_t salvage_log(FileSystem& file_system, const std::string& path, Salvage& found,
                          const UseLoggedBatch& use) {
  std::uint64_t num_batches = 0;
  try {
    const auto directory = file_system.open_directory(path);
    LogName name = found.manifest.log;
    // Without the bound: with it a log that is too short would not give out what it still has.
    for (std::uint64_t version = found.manifest.version;;) {
      LogReader reader(*directory, name, version, LogBound{});
      while (const std::optional<LogReader::Batch> batch = reader.next()) {
        try {
          use(batch->version, batch->body);
        } catch (const FormatError& error) {
          throw FormatError(reader.path() + ", a batch before byte " + std::to_string(reader.end().offset) +
                            ": " + error.what());
        }
        ++num_batches;
      }
      if (!reader.successor()) {
        check_log_end(*directory, reader, found);
        return num_batches;
      }
      version = reader.end().version;
      name = *reader.successor();
    }
  } catch (const Error& error) {
    found.dropped.emplace_back(error.what());
  }
  return num_batches;
}

}  // namespace culmen::storage
