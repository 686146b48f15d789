#include "index/storage/salvage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "culmen/error.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

// Lines about one kind of damage: the first few, then the number of the others.
class DroppedLines {
 public:
  DroppedLines(std::vector<std::string>& lines, std::string kind) : lines_(lines), kind_(std::move(kind)) {}

  void add(const std::string& line) {
    if (num_lines_++ < kMaxLines) lines_.push_back(line);
  }
  void add_unnamed(std::uint64_t count) { num_unnamed_ += count; }

  // Call once, at the end.
  void finish() {
    const std::uint64_t rest = num_lines_ - std::min(num_lines_, kMaxLines) + num_unnamed_;
    if (rest > 0) lines_.push_back("and " + std::to_string(rest) + " more " + kind_);
  }

 private:
  static constexpr std::uint64_t kMaxLines = 10;
  std::vector<std::string>& lines_;
  const std::string kind_;
  std::uint64_t num_lines_ = 0, num_unnamed_ = 0;
};

// A manifest that no valid CURRENT names.
Manifest read_unnamed_manifest(const Directory& directory, std::uint64_t number) {
  const auto file = directory.open(manifest_name(number));
  Manifest manifest = parse_manifest(read_text(*file, kMaxManifestBytes), file->path());
  if (manifest.snapshot.number != number) throw_damaged(file->path(), 0, "the manifest of another snapshot");
  return manifest;
}

// The manifests in the directory: first that of CURRENT, then the others from the latest on.
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
  } catch (const NoIndex&) {
    throw;
  } catch (const Error& error) {
    found.dropped.emplace_back(error.what());
  }
  DroppedLines lines(found.dropped, "manifests that cannot be read");
  for (const std::uint64_t candidate : manifest_numbers(directory, number)) {
    try {
      found.manifest = read_unnamed_manifest(directory, candidate);
      return lines.finish();
    } catch (const Error& error) {
      lines.add(error.what());
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
        layout_(manifest_.leaf_shape()),
        leaves_(open(directory, FileKind::leaves)),
        labels_(manifest_.has_labels ? open(directory, FileKind::labels) : std::nullopt) {}

  void run() {
    const std::size_t num_lines = found_.dropped.size();
    take_leaves();
    find_repeated_ids();
    if (!repeated_.empty()) {
      found_.dropped.resize(num_lines);
      take_leaves();
    }
  }

 private:
  std::size_t leaf_rows() const { return manifest_.leaf_shape().leaf_rows; }

  std::optional<LoneFrameReader> open(const Directory& directory, FileKind kind) {
    try {
      return LoneFrameReader(directory, kind, manifest_.snapshot);
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
    const std::string path = leaves_->path();
    bad_leaves_.emplace(found_.dropped, "frames of " + path);
    bad_rows_.emplace(found_.dropped, "frames of " + path + " with such rows");
    bad_labels_.emplace(found_.dropped, "frames of labels");
    for (std::uint64_t leaf = 0; leaf < manifest_.num_leaves;) leaf = take_leaf_at(leaf);
    for (std::optional<DroppedLines>* lines : {&bad_leaves_, &bad_rows_, &bad_labels_}) (*lines)->finish();
  }

  // Returns the number of the next leaf to try.
  std::uint64_t take_leaf_at(std::uint64_t leaf) {
    const FrameExtent extent = fixed_extent(leaf, layout_.payload_bytes(), 0);
    try {
      const std::byte* payload = leaves_->read(leaf, extent);
      if (manifest_.value_type == ValueType::float32) {
        take_leaf<float>(leaf, extent, payload);
      } else {
        take_leaf<double>(leaf, extent, payload);
      }
      return leaf + 1;
    } catch (const Error& error) {
      bad_leaves_->add(error.what());
    }
    if (!leaves_->reaches(extent.end()))
      return manifest_.num_leaves;  // one line for all leaves after the end
    const std::uint64_t stride = extent.end() - extent.offset;
    const std::uint64_t with_data = (leaves_->data_from(extent.end()) - kFirstFrameOffset) / stride;
    const std::uint64_t next = std::clamp(with_data, leaf + 1, manifest_.num_leaves);
    bad_leaves_->add_unnamed(next - leaf - 1);  // skips those in a hole
    return next;
  }

  template <typename T>
  void take_leaf(std::uint64_t leaf, const FrameExtent& extent, const std::byte* payload) {
    LeafRecord record;
    std::memcpy(&record, payload, sizeof record);
    const std::uint64_t leaf_rows = manifest_.leaf_shape().leaf_rows;
    if (record.num_rows == 0 || record.num_rows > leaf_rows)
      throw_damaged(leaves_->path(), extent.offset, "a leaf of " + std::to_string(record.num_rows) + " rows");
    const std::byte* label_frame = manifest_.has_labels ? read_label_frame(leaf, record) : nullptr;
    const T* values = reinterpret_cast<const T*>(payload + layout_.values_offset());
    const std::int64_t* ids = reinterpret_cast<const std::int64_t*>(payload + layout_.ids_offset());
    std::uint64_t num_bad = 0;
    for (std::uint64_t row = 0; row < record.num_rows; ++row) {
      bool good = true;
      for (std::size_t i = 0; i < found_.columns.size(); ++i)
        good &= std::isfinite(values[i * leaf_rows + row]);
      if (!good || occurred_before(ids[row])) {
        ++num_bad;
        continue;
      }
      found_.ids.push_back(ids[row]);
      for (std::size_t i = 0; i < found_.columns.size(); ++i) {
        const auto bytes = std::as_bytes(std::span(values + i * leaf_rows + row, 1));
        found_.columns[i].insert(found_.columns[i].end(), bytes.begin(), bytes.end());
      }
      if (manifest_.has_labels) add_label(label_frame, row);
    }
    if (num_bad > 0)
      bad_rows_->add(leaves_->path() + ", byte " + std::to_string(extent.offset) + ": " +
                     std::to_string(num_bad) +
                     " rows whose values are not finite or whose ids occurred before");
  }

  // By sorting, which no choice of ids makes slow.
  void find_repeated_ids() {
    std::vector<std::int64_t> ids = found_.ids;
    std::sort(ids.begin(), ids.end());
    for (std::size_t i = 1; i < ids.size(); ++i)
      if (ids[i] == ids[i - 1] && (repeated_.empty() || repeated_.back() != ids[i]))
        repeated_.push_back(ids[i]);
    has_occurred_.assign(repeated_.size(), false);
  }

  bool occurred_before(std::int64_t id) {
    const auto found = std::lower_bound(repeated_.begin(), repeated_.end(), id);
    if (found == repeated_.end() || *found != id) return false;
    return std::exchange(has_occurred_[static_cast<std::size_t>(found - repeated_.begin())], 1) != 0;
  }

  // Returns null and adds a line if the frame is damaged.
  const std::byte* read_label_frame(std::uint64_t leaf, const LeafRecord& record) {
    if (!labels_) return nullptr;
    try {
      const std::uint64_t end_bytes = manifest_.leaf_shape().label_end_bytes();
      if (record.label_bytes > std::numeric_limits<std::uint32_t>::max() ||
          record.labels_offset % kAlignment != 0 || !labels_->reaches(record.labels_offset))
        throw_damaged(labels_->path(), record.labels_offset, "there are no labels at the leaf's offset");
      const std::byte* frame = labels_->read(leaf, {record.labels_offset, end_bytes + record.label_bytes, 0});
      if (!label_ends_are_good(reinterpret_cast<const std::uint32_t*>(frame), leaf_rows(),
                               record.label_bytes))
        throw_damaged(labels_->path(), record.labels_offset, "the labels overlap or exceed their frame");
      return frame;
    } catch (const Error& error) {
      bad_labels_->add(std::string(error.what()) + " (" + std::to_string(record.num_rows) +
                       " rows without their labels)");
      return nullptr;
    }
  }

  void add_label(const std::byte* frame, std::uint64_t row) {
    if (frame != nullptr) {
      const auto* ends = reinterpret_cast<const std::uint32_t*>(frame);
      const auto* text = reinterpret_cast<const char*>(ends + leaf_rows());
      found_.label_text.insert(found_.label_text.end(), text + (row == 0 ? 0 : ends[row - 1]),
                               text + ends[row]);
    }
    found_.label_ends.push_back(found_.label_text.size());
  }

  Salvage& found_;
  const Manifest& manifest_;
  const LeafLayout layout_;
  std::optional<LoneFrameReader> leaves_, labels_;
  std::optional<DroppedLines> bad_leaves_, bad_rows_, bad_labels_;
  std::vector<std::int64_t> repeated_;  // ids that occur more than once, ascending
  std::vector<char> has_occurred_;      // whether each of them has
};

// For a log that ended without an error. Adds a line if something shows that more was durable or more was written.
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
                            " continues it from a later version");
    return;
  }
  if (reader.torn_bytes() > 0)
    found.dropped.push_back(here + std::to_string(reader.torn_bytes()) +
                            " bytes after the last whole batch, of batches that were never acknowledged");
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
    // Passes no bound: with it, a log that is too short would return nothing.
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
