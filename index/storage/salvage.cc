#include "index/storage/salvage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "culmen/error.h"
#include "index/field_key.h"
#include "index/storage/current.h"
#include "index/storage/directory_files.h"
#include "index/storage/field_codec.h"
#include "index/storage/frame_directory.h"
#include "index/storage/id_file.h"
#include "index/storage/label_codec.h"
#include "index/storage/leaf_codec.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/text_codec.h"

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

// The number of the frame to try after a damaged one. Of frames beyond the end of the file there is one line; those in a
// hole are only counted. All frames have the size of this one.
std::uint64_t next_frame(const LoneFrameReader& file, std::uint64_t number, const FrameExtent& extent,
                         std::uint64_t num_frames, DroppedLines& lines) {
  if (!file.reaches(extent.end())) return num_frames;
  const std::uint64_t stride = extent.end() - extent.offset;
  const std::uint64_t with_data = (file.data_from(extent.end()) - kFirstFrameOffset) / stride;
  const std::uint64_t next = std::clamp(with_data, number + 1, num_frames);
  lines.add_unnamed(next - number - 1);
  return next;
}

// Frames [first, end) of a file, from `offset` on, that are not there or whose headers are damaged. `fault` may say more.
std::string line_of_lost(const LoneFrameReader& file, std::uint64_t offset, std::uint64_t first,
                         std::uint64_t end, const std::string& fault) {
  const std::string frames = end - first == 1
                                 ? "frame " + std::to_string(first)
                                 : "frames " + std::to_string(first) + " to " + std::to_string(end - 1);
  if (!fault.empty()) return end - first == 1 ? fault : fault + " (" + frames + ")";
  return file.path() + ", byte " + std::to_string(offset) + ": " + frames +
         (end - first == 1 ? " is not here" : " are not here");
}

// Calls use(number, extent) for each of `num_frames` frames of a file in which each has its own size, and adds a line for
// each that throws. Frames are found by their headers, so that no damage hides more than what it hits.
void for_found_frames(const LoneFrameReader& file, std::uint64_t num_frames, std::uint64_t most_payload_bytes,
                      DroppedLines& lines,
                      const std::function<void(std::uint64_t, const FrameExtent&)>& use) {
  std::uint64_t number = 0, expected_offset = kFirstFrameOffset, offset = expected_offset;
  std::string fault;  // of a frame that says it is a later one: its number may be what is damaged
  while (number < num_frames) {
    const std::optional<FoundFrame> found = file.find(offset, number, num_frames, most_payload_bytes);
    if (!found) break;
    try {
      use(found->number, found->extent);
    } catch (const Error& error) {
      offset = found->extent.offset + kAlignment;
      if (found->number > number) {
        if (fault.empty()) fault = error.what();
        continue;
      }
      lines.add(error.what());
      ++number;
      expected_offset = offset;
      continue;
    }
    if (found->number > number) lines.add(line_of_lost(file, expected_offset, number, found->number, fault));
    fault.clear();
    number = found->number + 1;
    expected_offset = offset = found->extent.end();
  }
  if (number < num_frames) lines.add(line_of_lost(file, expected_offset, number, num_frames, fault));
}

// Adds a line for each damaged frame of [first, end).
void list_damaged(LoneFrameReader& file, std::uint64_t first, std::uint64_t end, const ExtentOf& extents,
                  DroppedLines& lines) {
  for (std::uint64_t number = first; number < end;) {
    try {
      file.read(number, extents(number));
      ++number;
    } catch (const Error& error) {
      lines.add(error.what());
      number = next_frame(file, number, extents(number), end, lines);
    }
  }
}

void list_damaged_directory(LoneFrameReader& file, std::uint64_t num_frames, DroppedLines& lines) {
  const DirectoryFrames frames(num_frames);
  if (frames.bytes() > file.bytes()) return;
  list_damaged(
      file, num_frames, frames.num_frames_with_directory(),
      [&](std::uint64_t number) { return frames.extent(number - num_frames, file.bytes()); }, lines);
}

// A manifest that no valid CURRENT names.
Manifest read_unnamed_manifest(const Directory& directory, std::uint64_t number) {
  const auto file = directory.open(manifest_name(number));
  Manifest manifest = parse_manifest(read_text(*file, kMaxManifestBytes), file->path(), WithQuantiles::no);
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
        codec_(manifest_.leaf_shape(), manifest_.has_file(FileKind::fields)),
        path_of_fields_(directory.path_of(file_name(FileKind::fields, manifest_.snapshot.number))),
        leaves_(open(directory, FileKind::leaves)),
        labels_(open(directory, FileKind::labels)),
        fields_(open(directory, FileKind::fields)),
        texts_(open(directory, FileKind::texts)),
        dictionaries_(open(directory, FileKind::dictionaries)) {}

  void run() {
    take_dictionaries();
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
  bool texts_are_ids() const { return manifest_.id_type == IdType::text; }

  // Nothing if the index has no such file, or it cannot be opened.
  std::optional<LoneFrameReader> open(const Directory& directory, FileKind kind) {
    if (!manifest_.has_file(kind)) return std::nullopt;
    try {
      return LoneFrameReader(directory, kind, manifest_.snapshot);
    } catch (const Error& error) {
      found_.dropped.push_back(std::string(error.what()) + lost_with(kind));
      return std::nullopt;
    }
  }

  // What the rows have no longer without the file.
  std::string lost_with(FileKind kind) const {
    switch (kind) {
      case FileKind::labels:
        return texts_are_ids() ? " (all rows of the snapshot, whose ids are there)"
                               : " (all rows without their labels)";
      case FileKind::fields:
        return " (all rows without their fields" + list_of_fields(is_no_stored_text) + ")";
      case FileKind::texts:
        return " (all rows without their texts" + list_of_fields(is_stored_text) + ")";
      case FileKind::dictionaries:
        return " (all rows without their texts" + list_of_fields(has_dictionary) + ")";
      default:
        return " (all rows of the snapshot)";
    }
  }

  static bool is_no_stored_text(const Field& field) { return !is_stored_text(field); }

  // `: "brand", "day"`.
  std::string list_of_fields(const std::function<bool(const Field&)>& is_lost) const {
    std::vector<std::string> names;
    for (const Field& field : manifest_.fields)
      if (is_lost(field)) names.push_back('"' + field.name + '"');
    return list_of(names);
  }

  static std::string list_of(const std::vector<std::string>& items) {
    constexpr std::size_t kShown = 10;
    std::string list;
    for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i)
      list += (i == 0 ? ": " : ", ") + items[i];
    return items.size() > kShown ? list + " and " + std::to_string(items.size() - kShown) + " more" : list;
  }

  // Without the fields of a leaf.
  void list_assumed_missing() {
    std::vector<std::string> attributes;
    for (std::size_t i = 0; i < num_assumed_missing_.size(); ++i)
      if (num_assumed_missing_[i] > 0)
        attributes.push_back('"' + manifest_.attributes[i].name + "\" (" +
                             std::to_string(num_assumed_missing_[i]) + ")");
    if (attributes.empty()) return;
    found_.dropped.push_back(path_of_fields_ +
                             ": which values of attributes were missing is lost with fields; those that are "
                             "the stand-in count as missing" +
                             list_of(attributes));
  }

  void take_dictionaries() {
    const DictionaryFrames frames(manifest_);
    for (std::size_t f = 0; f < manifest_.fields.size(); ++f) {
      if (!has_dictionary(manifest_.fields[f]) || !dictionaries_) continue;
      try {
        found_.manifest.dictionaries[f] = std::make_shared<const Dictionary>(read_dictionary(f, frames));
      } catch (const Error& error) {
        found_.dropped.push_back(std::string(error.what()) + " (all rows without \"" +
                                 manifest_.fields[f].name + "\")");
      }
    }
  }

  Dictionary read_dictionary(std::size_t field, const DictionaryFrames& frames) {
    std::vector<std::byte> bytes;  // grows by frames that are whole
    for (std::uint64_t frame = frames.first(field); frame < frames.last(field); ++frame) {
      const FrameExtent extent = frames.extents()(frame);
      const std::byte* payload = dictionaries_->read(frame, extent);
      bytes.insert(bytes.end(), payload, payload + extent.payload_bytes);
    }
    return storage::read_dictionary(bytes, manifest_.dictionary_sizes[field], dictionaries_->path(),
                                    frames.offset(field));
  }

  void take_leaves() {
    found_.ids.clear();
    found_.label_ends.clear();
    found_.label_text.clear();
    found_.columns.assign(manifest_.attributes.size(), {});
    found_.fields.assign(manifest_.fields.size(), {});
    num_assumed_missing_.assign(manifest_.attributes.size(), 0);
    if (!leaves_) return;
    const std::string path = leaves_->path();
    bad_leaves_.emplace(found_.dropped, "frames of " + path);
    bad_rows_.emplace(found_.dropped, "frames of " + path + " with such rows");
    bad_labels_.emplace(found_.dropped, "frames of labels");
    bad_fields_.emplace(found_.dropped, "frames of fields");
    bad_texts_.emplace(found_.dropped, "frames of texts");
    for_found_frames(*leaves_, manifest_.num_leaves, codec_.most_payload_bytes(), *bad_leaves_,
                     [this](std::uint64_t leaf, const FrameExtent& extent) { take_leaf(leaf, extent); });
    for (std::optional<DroppedLines>* lines :
         {&bad_leaves_, &bad_rows_, &bad_labels_, &bad_fields_, &bad_texts_})
      (*lines)->finish();
    list_assumed_missing();
  }

  void take_leaf(std::uint64_t leaf, const FrameExtent& extent) {
    const std::byte* payload = leaves_->read(leaf, extent);
    LeafRecord record;
    values_.resize(manifest_.leaf_shape().leaf_bytes());
    ids_.resize(leaf_rows());
    const std::string_view fault =
        codec_.decode({payload, extent.payload_bytes}, record, values_.data(), ids_.data());
    if (!fault.empty()) throw_damaged(leaves_->path(), extent.offset, std::string(fault));
    manifest_.value_type == ValueType::float32 ? take_rows<float>(leaf, extent, record)
                                               : take_rows<double>(leaf, extent, record);
  }

  template <typename T>
  void take_rows(std::uint64_t leaf, const FrameExtent& extent, const LeafRecord& record) {
    const std::uint64_t leaf_rows = this->leaf_rows();
    const bool has_labels = manifest_.has_labels && read_label_frame(leaf, record);
    if (!has_labels && texts_are_ids()) return;
    const T* values = reinterpret_cast<const T*>(values_.data());
    const std::optional<LeafFields> fields =
        read_fields(leaf, record, [&](std::size_t attribute, std::size_t row) {
          return static_cast<double>(values[attribute * leaf_rows + row]);
        });
    const LeafTexts texts = read_texts(leaf, record, fields.value_or(LeafFields()));
    std::uint64_t num_bad = 0;
    for (std::uint64_t row = 0; row < record.num_rows; ++row) {
      bool good = true;
      for (std::size_t i = 0; i < found_.columns.size(); ++i)
        good &= std::isfinite(values[i * leaf_rows + row]);
      if (!good || occurred_before(ids_[row])) {
        ++num_bad;
        continue;
      }
      found_.ids.push_back(ids_[row]);
      for (std::size_t i = 0; i < found_.columns.size(); ++i) {
        const T value = values[i * leaf_rows + row];
        const bool misses = is_missing(fields, i, row, static_cast<double>(value));
        if (misses && !fields) ++num_assumed_missing_[i];
        const T saved = misses ? std::numeric_limits<T>::quiet_NaN() : value;
        const auto bytes = std::as_bytes(std::span(&saved, 1));
        found_.columns[i].insert(found_.columns[i].end(), bytes.begin(), bytes.end());
      }
      if (manifest_.has_labels) add_label(has_labels, row);
      for (std::size_t f = 0; f < found_.fields.size(); ++f) add_field(fields, texts, f, row);
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

  static std::span<const std::byte> read_frame(LoneFrameReader& file, std::uint64_t leaf,
                                               const LeafFrame& frame) {
    if (frame.offset % kAlignment != 0 || !file.reaches(frame.offset) || !file.reaches(frame.bytes))
      throw_damaged(file.path(), frame.offset, "there is no frame at the leaf's offset");
    return {file.read(leaf, {frame.offset, frame.bytes, 0}), frame.bytes};
  }

  // Into label_bytes_. Returns false and adds a line if the frame is damaged.
  bool read_label_frame(std::uint64_t leaf, const LeafRecord& record) {
    if (!labels_) return false;
    try {
      const auto allocate = [this](std::size_t text_bytes) {
        label_bytes_.resize(manifest_.leaf_shape().label_end_bytes() + text_bytes);
        return std::span(label_bytes_);
      };
      const std::string_view fault =
          decode_labels(read_frame(*labels_, leaf, record.labels), record.num_rows, leaf_rows(), allocate);
      if (!fault.empty()) throw_damaged(labels_->path(), record.labels.offset, std::string(fault));
      return true;
    } catch (const Error& error) {
      bad_labels_->add(std::string(error.what()) + " (" + std::to_string(record.num_rows) +
                       (texts_are_ids() ? " rows, whose ids are there)" : " rows without their labels)"));
      return false;
    }
  }

  // Nothing, and a line, if the frame is damaged. Valid until the next call.
  std::optional<LeafFields> read_fields(std::uint64_t leaf, const LeafRecord& record,
                                        const FieldDecoder::ValueOf& value) {
    if (!manifest_.has_file(FileKind::fields)) return LeafFields();
    if (!fields_) return std::nullopt;
    try {
      const std::span<const std::byte> frame = read_frame(*fields_, leaf, record.fields);
      if (frame.empty() && manifest_.fields.empty()) return LeafFields();
      std::vector<std::uint32_t> sizes;
      for (const DictionarySize& size : manifest_.dictionary_sizes)
        sizes.push_back(static_cast<std::uint32_t>(size.num_texts));
      const std::string_view fault = FieldDecoder(manifest_.attributes.size(), manifest_.fields, sizes)
                                         .decode(frame, record.num_rows, value, field_bytes_);
      if (!fault.empty()) throw_damaged(fields_->path(), record.fields.offset, std::string(fault));
      const LeafFields fields(field_bytes_.data());
      if (std::ranges::any_of(fields.gaps(),
                              [this](const auto& gaps) { return is_never_missing(gaps.attribute); }))
        throw_damaged(fields_->path(), record.fields.offset,
                      "missing values where the attribute refuses them");
      return fields;
    } catch (const Error& error) {
      bad_fields_->add(std::string(error.what()) + " (" + std::to_string(record.num_rows) +
                       " rows without their fields" + list_of_fields(is_no_stored_text) + ")");
      return std::nullopt;
    }
  }

  // As read_fields; empty instead of nothing, as where the index has no such texts.
  LeafTexts read_texts(std::uint64_t leaf, const LeafRecord& record, const LeafFields& fields) {
    if (!texts_) return {};
    try {
      const auto allocate = [this](std::size_t num_bytes) {
        text_bytes_.resize(num_bytes);
        return std::span(text_bytes_);
      };
      const std::string_view fault = decode_leaf_texts(read_frame(*texts_, leaf, record.texts),
                                                       record.num_rows, fields, manifest_.fields, allocate);
      if (!fault.empty()) throw_damaged(texts_->path(), record.texts.offset, std::string(fault));
      return LeafTexts(text_bytes_.data());
    } catch (const Error& error) {
      bad_texts_->add(std::string(error.what()) + " (" + std::to_string(record.num_rows) +
                      " rows without their texts" + list_of_fields(is_stored_text) + ")");
      return {};
    }
  }

  bool is_missing(const std::optional<LeafFields>& fields, std::size_t attribute, std::uint64_t row,
                  double value) const {
    if (fields) return fields->misses_attribute(attribute, row);
    return manifest_.has_gaps && !is_never_missing(attribute) && value == manifest_.stand_ins[attribute];
  }
  bool is_never_missing(std::size_t attribute) const {
    return manifest_.stand_ins.empty() || manifest_.attributes[attribute].stand_in == StandIn::refuse;
  }

  void add_field(const std::optional<LeafFields>& fields, const LeafTexts& texts, std::size_t f,
                 std::uint64_t row) {
    SavedField& saved = found_.fields[f];
    const Field& field = manifest_.fields[f];
    if (is_stored_text(field)) return add_text(fields, texts, f, row);
    const bool is_lost = has_dictionary(field) && manifest_.dictionaries[f] == nullptr;
    const bool is_missing = is_lost || !fields || fields->misses_field(f, row);
    saved.missing.push_back(is_missing ? 1 : 0);
    saved.keys.push_back(is_missing ? 0 : fields->key(f, row));
  }

  void add_text(const std::optional<LeafFields>& fields, const LeafTexts& texts, std::size_t f,
                std::uint64_t row) {
    SavedField& saved = found_.fields[f];
    const std::string_view text = texts.empty() ? std::string_view() : texts.text(f, row);
    const bool is_missing = texts.empty() || (fields ? fields->misses_field(f, row) : text.empty());
    saved.missing.push_back(is_missing ? 1 : 0);
    saved.text.insert(saved.text.end(), text.begin(), text.end());
    saved.text_ends.push_back(saved.text.size());
  }

  void add_label(bool is_there, std::uint64_t row) {
    if (is_there) {
      const auto* ends = reinterpret_cast<const std::uint32_t*>(label_bytes_.data());
      const auto* text = reinterpret_cast<const char*>(ends + leaf_rows());
      found_.label_text.insert(found_.label_text.end(), text + (row == 0 ? 0 : ends[row - 1]),
                               text + ends[row]);
    }
    found_.label_ends.push_back(found_.label_text.size());
  }

  Salvage& found_;
  const Manifest& manifest_;
  const LeafCodec codec_;
  std::vector<std::byte> values_;  // of the leaf that is being read
  std::vector<std::int64_t> ids_;
  std::vector<std::byte> label_bytes_, field_bytes_, text_bytes_;  // as in memory
  const std::string path_of_fields_;
  std::optional<LoneFrameReader> leaves_, labels_, fields_, texts_, dictionaries_;
  std::optional<DroppedLines> bad_leaves_, bad_rows_, bad_labels_, bad_fields_, bad_texts_;
  std::vector<std::uint64_t> num_assumed_missing_;  // [num_attributes]
  std::vector<std::int64_t> repeated_;              // ids that occur more than once, ascending
  std::vector<char> has_occurred_;                  // whether each of them has
};

// A log that continues the one with this name: one with batches if there is one, as an interrupted checkpoint leaves another.
std::optional<std::pair<LogName, LogOrigin>> log_after(const Directory& directory, const LogName& name) {
  std::optional<std::pair<LogName, LogOrigin>> best;
  for (const std::string& file : directory.list()) {
    const std::uint64_t number = log_number_of(file);
    if (number <= name.number) continue;
    try {
      const std::optional<LogOrigin> origin = read_log_origin(directory, number);
      if (!origin || origin->previous != name.uuid) continue;
      const auto rank = [](const LogOrigin& log) { return std::pair(log.version, log.has_frames); };
      if (!best || rank(*origin) > rank(best->second)) best = {{number, origin->uuid}, *origin};
    } catch (const Error&) {
      // It cannot be read.
    }
  }
  return best;
}

// For a log that ended without an error. The fault if something shows that more was durable; empty if not.
std::string fault_at_end(const Directory& directory, const LogReader& reader, const LogBound& bound) {
  const std::string here = reader.path() + ", byte " + std::to_string(reader.end().offset) + ": ";
  if (reader.name().number < bound.number)
    return here + "the log ends here, but the index was closed with " +
           directory.path_of(log_name(bound.number));
  if (reader.name().number == bound.number && reader.end().offset < bound.bytes)
    return here + "the log is damaged; it was durable to byte " + std::to_string(bound.bytes);
  const auto next = log_after(directory, reader.name());
  if (!next || (!next->second.has_frames && next->second.version <= reader.end().version)) return {};
  return here + "the log ends here, but " + directory.path_of(log_name(next->first.number)) +
         " continues it from a later version";
}

// What is known of the batches behind damage.
struct LostBatches {
  std::uint64_t last_version = 0;
  std::uint64_t num_whole = 0;
  BatchSize size;  // of those that are whole
};

// In a log behind `end`, and in the logs that continue it.
LostBatches find_lost_batches(const Directory& directory, LogName name, LogPosition end,
                              const BatchUser& user) {
  LostBatches lost;
  lost.last_version = end.version;
  while (true) {
    try {
      LogReader reader = LogReader::behind_damage(directory, name, end);
      while (const std::optional<LogReader::Batch> batch = reader.next_behind()) {
        const std::optional<BatchSize> size = user.size_of(batch->body);
        if (!size) continue;
        ++lost.num_whole;
        lost.size.added += size->added;
        lost.size.removed += size->removed;
      }
      lost.last_version = std::max(lost.last_version, reader.newest_version());
    } catch (const Error&) {
      // The log cannot be read, which the fault says already.
    }
    const auto next = log_after(directory, name);
    if (!next) return lost;
    name = next->first;
    end = {sizeof(LogHeader), 0, next->second.version};
    lost.last_version = std::max(lost.last_version, end.version);
  }
}

std::string lost_text(const LostBatches& lost, std::uint64_t first_version) {
  const std::uint64_t num_lost = lost.last_version + 1 - first_version;
  std::string text = num_lost == 1
                         ? "; at least the batch of version " + std::to_string(first_version) + " is lost"
                         : "; at least " + std::to_string(num_lost) + " batches are lost, of versions " +
                               std::to_string(first_version) + " to " + std::to_string(lost.last_version);
  if (lost.num_whole == 0) return text;
  return text + " (" + std::to_string(lost.num_whole) +
         " whole behind the damage: " + std::to_string(lost.size.added) + " rows added, " +
         std::to_string(lost.size.removed) + " removed)";
}

}  // namespace

Salvage salvage(FileSystem& file_system, const std::string& path) {
  const auto directory = file_system.open_directory(path);
  Salvage found;
  find_manifest(*directory, found);
  RowSalvager(*directory, found).run();
  return found;
}

void list_damaged_tree(FileSystem& file_system, const std::string& path, Salvage& found) {
  const auto directory = file_system.open_directory(path);
  const auto list = [&](FileKind kind,
                        const std::function<void(LoneFrameReader&, DroppedLines&)>& list_frames) {
    try {
      LoneFrameReader file(*directory, kind, found.manifest.snapshot);
      DroppedLines lines(found.dropped, "frames of " + file.path());
      list_frames(file, lines);
      lines.finish();
    } catch (const Error& error) {
      found.dropped.emplace_back(error.what());
    }
  };
  const auto list_fixed = [&](FileKind kind, std::uint64_t num_frames, const ExtentOf& extents) {
    list(kind, [&](LoneFrameReader& file, DroppedLines& lines) {
      list_damaged(file, 0, num_frames, extents, lines);
    });
  };
  list_fixed(FileKind::partitions, 1, frames_of_partitions(found.manifest));
  list_fixed(FileKind::nodes, found.manifest.num_nodes(), frames_of_nodes(found.manifest));
  list(FileKind::ids, [&](LoneFrameReader& file, DroppedLines& lines) {
    const std::uint64_t num_frames = num_id_frames(found.manifest.num_rows);
    for_found_frames(file, num_frames, most_id_bytes(), lines,
                     [&](std::uint64_t number, const FrameExtent& extent) { file.read(number, extent); });
    list_damaged_directory(file, num_frames, lines);
  });
  try {
    LoneFrameReader file(*directory, FileKind::leaves, found.manifest.snapshot);
    DroppedLines lines(found.dropped, "frames of " + file.path());
    if (file.bytes() == found.manifest.file(FileKind::leaves).bytes)
      list_damaged_directory(file, found.manifest.num_leaves, lines);
    lines.finish();
  } catch (const Error&) {
    // The file is missing, which was named with its leaves.
  }
}

// Whether that write had been reported as done nothing says: the newest batch may be damaged, too.
std::string torn_end_text(const std::string& log_path, std::uint64_t num_bytes) {
  return log_path + ": " + std::to_string(num_bytes) +
         " bytes at its end are no whole batch: what a crash or a power failure left of the last write, "
         "or a last batch that is damaged";
}

SalvagedLog salvage_log(FileSystem& file_system, const std::string& path, Salvage& found,
                        const BatchUser& user) {
  SalvagedLog log;
  const auto directory = file_system.open_directory(path);
  LogName name = found.manifest.log;
  LogPosition end{sizeof(LogHeader), 0, found.manifest.version};
  std::string fault;
  try {
    while (true) {
      // Passes no bound: with it, a log that is too short would return nothing.
      LogReader reader(*directory, name, end.version, LogBound{});
      while (const std::optional<LogReader::Batch> batch = reader.next()) {
        end = reader.end();
        try {
          user.apply(batch->body);
        } catch (const FormatError& error) {
          throw FormatError(reader.path() + ", a batch before byte " + std::to_string(end.offset) + ": " +
                            error.what());
        }
        ++log.num_applied;
      }
      end = reader.end();
      if (!reader.successor()) {
        fault = fault_at_end(*directory, reader, found.bound);
        if (fault.empty() && reader.torn_bytes() > 0)
          found.dropped.push_back(torn_end_text(reader.path(), reader.torn_bytes()));
        break;
      }
      name = *reader.successor();
      end = {sizeof(LogHeader), 0, end.version};
    }
  } catch (const Error& error) {
    fault = error.what();
  }
  if (fault.empty()) return log;
  LostBatches lost = find_lost_batches(*directory, name, end, user);
  const std::uint64_t applied_version = found.manifest.version + log.num_applied;
  const bool ends_early = name.number == found.bound.number && end.offset < found.bound.bytes;
  if (ends_early) lost.last_version = std::max(lost.last_version, end.version + 1);
  log.num_lost = lost.last_version - applied_version;
  if (log.num_lost > 0) fault += lost_text(lost, applied_version + 1);
  found.dropped.push_back(std::move(fault));
  return log;
}

}  // namespace culmen::storage
