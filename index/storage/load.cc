#include <cmath>
#include <limits>
#include <optional>

#include "culmen/error.h"
#include "index/node_zone_map.h"
#include "index/storage/format.h"
#include "index/storage/manifest.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

void check_stats(const Manifest& manifest, const std::string& path) {
  if (manifest.exact_sums && !sums_are_exact(manifest.stats, manifest.units))
    throw FormatError(path + ": sums are marked as exact, but can round");
  if (manifest.value_type == ValueType::float64) return;
  for (const AttributeStats& stats : manifest.stats)
    for (double extreme : {stats.minimum, stats.maximum})
      if (std::fabs(extreme) > std::numeric_limits<float>::max() ||
          static_cast<double>(static_cast<float>(extreme)) != extreme)
        throw FormatError(path + ": a float32 attribute has a minimum or maximum that is not a float32");
}

}  // namespace

std::shared_ptr<Snapshot> read_snapshot(const Directory& directory, const Manifest& manifest) {
  check_stats(manifest, directory.path_of(manifest_name(manifest.snapshot.number)));
  // Opens all files before reading the first: a new save may unlink them meanwhile.
  const auto open = [&](FileKind kind) {
    return FrameFileReader(directory, kind, manifest.snapshot, manifest.file(kind));
  };
  FrameFileReader partitions = open(FileKind::partitions), leaves = open(FileKind::leaves),
                  nodes = open(FileKind::nodes);
  std::optional<FrameFileReader> labels;
  if (manifest.has_labels)
    labels.emplace(directory, FileKind::labels, manifest.snapshot, manifest.file(FileKind::labels));
  auto snapshot = std::make_shared<Snapshot>(manifest.metadata());
  const std::vector<std::uint32_t> leaves_of_partition = read_partitions(manifest, partitions, *snapshot);
  const std::vector<std::uint64_t> label_bytes =
      read_leaves(manifest, leaves_of_partition, leaves, *snapshot);
  if (labels) read_labels(manifest, label_bytes, *labels, *snapshot);
  read_nodes(manifest, nodes, *snapshot);
  write_node_zone_maps(*snapshot);
  return snapshot;
}

}  // namespace culmen::storage
