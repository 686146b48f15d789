#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "culmen/error.h"
#include "index/node_zone_map.h"
#include "index/snapshot_fields.h"
#include "index/storage/format.h"
#include "index/storage/manifest.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

void check_exact_sums(const Manifest& manifest, std::span<const AttributeStats> stats,
                      const std::string& path) {
  if (manifest.exact_sums && !sums_are_exact(stats, manifest.units))
    throw FormatError(path + ": sums are marked as exact, but can round");
}

void check_float32(const std::string& path, double value) {
  if (std::fabs(value) > std::numeric_limits<float>::max() ||
      static_cast<double>(static_cast<float>(value)) != value)
    throw FormatError(path +
                      ": a float32 attribute has a minimum, maximum or stand-in that is not a float32");
}

void check_stats(const Manifest& manifest, const std::string& path) {
  check_exact_sums(manifest, manifest.stats, path);
  if (manifest.value_type == ValueType::float64) return;
  for (const AttributeStats& stats : manifest.stats) {
    check_float32(path, stats.minimum);
    check_float32(path, stats.maximum);
  }
  for (const double stand_in : manifest.stand_ins) check_float32(path, stand_in);
}

}  // namespace

std::shared_ptr<Snapshot> read_snapshot(const Directory& directory, const Manifest& manifest) {
  const std::string path = directory.path_of(manifest_name(manifest.snapshot.number));
  check_stats(manifest, path);
  // Opens all files before reading the first: a new save may unlink them meanwhile.
  std::array<std::optional<FrameFileReader>, kFileKinds.size()> files;
  const auto file = [&](FileKind kind) -> std::optional<FrameFileReader>& {
    return files[static_cast<std::size_t>(kind) - 1];
  };
  for (const FileKind kind : kFileKinds)
    if (manifest.has_file(kind)) file(kind).emplace(directory, kind, manifest.snapshot, manifest.file(kind));
  auto snapshot = std::make_shared<Snapshot>(manifest.metadata());
  const std::vector<std::uint32_t> leaves_of_partition =
      read_partitions(manifest, *file(FileKind::partitions), *snapshot);
  const FramesOfLeaves frames =
      read_leaves(manifest, leaves_of_partition, *file(FileKind::leaves), *snapshot);
  if (file(FileKind::labels)) read_labels(frames.labels, *file(FileKind::labels), *snapshot);
  if (file(FileKind::dictionaries)) read_dictionaries(manifest, *file(FileKind::dictionaries), *snapshot);
  if (file(FileKind::fields)) read_fields(manifest, frames.fields, *file(FileKind::fields), *snapshot);
  check_ranges(manifest, *file(FileKind::leaves), *snapshot);
  read_nodes(manifest, *file(FileKind::nodes), *snapshot);
  write_node_zone_maps(*snapshot);
  check_exact_sums(manifest, filled_stats(*snapshot), path);
  return snapshot;
}

}  // namespace culmen::storage
