#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "culmen/error.h"
#include "index/storage/format.h"
#include "index/storage/manifest.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/store.h"

namespace culmen::storage {
namespace {

std::string read_text(const ReadableFile& file, std::uint64_t max_bytes) {
  if (file.size() > max_bytes)
    throw_damaged(file.path(), max_bytes, "the file is longer than one of its kind can be");
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string read_current(const Directory& directory) {
  constexpr std::uint64_t kMaxCurrentBytes = 256;
  return read_text(*directory.open(kCurrentName), kMaxCurrentBytes);
}

Manifest read_manifest(const Directory& directory, const Current& current) {
  const auto file = directory.open(manifest_name(current.snapshot_number));
  if (file->size() != current.manifest_bytes)
    throw_damaged(file->path(), std::min(file->size(), current.manifest_bytes),
                  "the file has " + std::to_string(file->size()) + " bytes; CURRENT says " +
                      std::to_string(current.manifest_bytes));
  const std::string text = read_text(*file, kMaxManifestBytes);
  if (digest_of(std::as_bytes(std::span(text))) != current.manifest_digest)
    throw_damaged(file->path(), 0,
                  "the digest does not match: the file is damaged, or CURRENT names another");
  Manifest manifest = parse_manifest(text, file->path());
  if (manifest.snapshot.number != current.snapshot_number)
    throw_damaged(file->path(), 0, "the manifest of another snapshot");
  return manifest;
}

void check_stats(const Manifest& manifest, const std::string& path) {
  if (manifest.value_type == ValueType::float64) return;
  for (const AttributeStats& stats : manifest.stats)
    for (double extreme : {stats.minimum, stats.maximum})
      if (std::fabs(extreme) > std::numeric_limits<float>::max() ||
          static_cast<double>(static_cast<float>(extreme)) != extreme)
        throw FormatError(path + ": an attribute of float32 has a minimum or maximum that is none");
}

std::shared_ptr<Snapshot> snapshot_of(const Manifest& manifest) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->attributes = manifest.attributes;
  snapshot->value_type = manifest.value_type;
  snapshot->has_labels = manifest.has_labels;
  snapshot->stats = manifest.stats;
  snapshot->units = manifest.units;
  snapshot->exact_sums = manifest.exact_sums;
  snapshot->block_rows = static_cast<int>(manifest.block_rows);
  snapshot->num_tuples = manifest.num_tuples;
  snapshot->rounded_values = manifest.rounded_values;
  snapshot->version = manifest.version;
  snapshot->layout = BoundLayout(snapshot->num_attributes());
  return snapshot;
}

std::shared_ptr<Snapshot> load_current(const Directory& directory, const std::string& current_text) {
  const Current current = parse_current(current_text, directory.path_of(kCurrentName));
  const Manifest manifest = read_manifest(directory, current);
  check_stats(manifest, directory.path_of(manifest_name(current.snapshot_number)));
  // All are opened before the first is read: from here on a new publish may remove them.
  const auto open = [&](FileKind kind) {
    return BlockFileReader(directory, kind, manifest.snapshot, manifest.file(kind));
  };
  BlockFileReader partitions = open(FileKind::partitions), leaves = open(FileKind::leaves),
                  nodes = open(FileKind::nodes);
  std::optional<BlockFileReader> labels;
  if (manifest.has_labels)
    labels.emplace(directory, FileKind::labels, manifest.snapshot, manifest.file(FileKind::labels));
  auto snapshot = snapshot_of(manifest);
  const std::vector<std::uint32_t> leaves_of_partition = read_partitions(manifest, partitions, *snapshot);
  const std::vector<std::uint64_t> label_bytes =
      read_leaves(manifest, leaves_of_partition, leaves, *snapshot);
  if (labels) read_labels(manifest, label_bytes, *labels, *snapshot);
  read_nodes(manifest, nodes, *snapshot);
  return snapshot;
}

}  // namespace

std::shared_ptr<Snapshot> load(FileSystem& file_system, const std::string& path) {
  const auto directory = file_system.open_directory(path);
  std::string current = read_current(*directory);
  while (true) {
    try {
      return load_current(*directory, current);
    } catch (const Error&) {
      // A publish may have retired the files between our reading of CURRENT and our opening them.
      std::string now = read_current(*directory);
      if (now == current) throw;
      current = std::move(now);
    }
  }
}

}  // namespace culmen::storage
