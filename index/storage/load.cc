#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/read_session.h"
#include "index/snapshot_fields.h"
#include "index/storage/format.h"
#include "index/storage/frame_files.h"
#include "index/storage/id_file.h"
#include "index/storage/leaf_reader.h"
#include "index/storage/manifest.h"
#include "index/storage/node_reader.h"
#include "index/storage/slot_files.h"
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

// Slots for all leaves and nodes, none of which is read.
void make_arena(const Manifest& manifest, PageSize pages, Snapshot& snapshot) {
  snapshot.arena = std::make_shared<SlotArena>(snapshot.leaf_shape(), snapshot.layout, manifest.num_leaves,
                                               manifest.num_nodes(), pages);
  snapshot.num_leaves = snapshot.leaf_slots = manifest.num_leaves;
  snapshot.num_nodes = snapshot.node_slots = manifest.num_nodes();
  snapshot.height = static_cast<int>(manifest.level_nodes.size());
  if (snapshot.height > 0) snapshot.root = static_cast<std::uint32_t>(manifest.num_nodes() - 1);
}

std::shared_ptr<Snapshot> read_whole(const Manifest& manifest, const std::string& path, FrameFiles& files) {
  auto snapshot = std::make_shared<Snapshot>(manifest.metadata());
  LeafReader leaves(manifest, read_partitions(manifest, files[FileKind::partitions], *snapshot),
                    files[FileKind::leaves], *snapshot);
  NodeReader nodes(manifest, files[FileKind::nodes], *snapshot);
  leaves.start();
  nodes.start();
  make_arena(manifest, PageSize::huge, *snapshot);
  const FramesOfLeaves frames = leaves.read_all();
  if (files.has(FileKind::labels)) read_labels(frames.labels, files[FileKind::labels], *snapshot);
  if (files.has(FileKind::dictionaries))
    read_dictionaries(manifest, files[FileKind::dictionaries], *snapshot);
  if (files.has(FileKind::fields)) {
    read_fields(frames.fields, files[FileKind::fields], *snapshot);
    check_has_gaps(manifest, files[FileKind::fields], *snapshot);
  }
  if (files.has(FileKind::texts)) read_leaf_texts(frames.texts, files[FileKind::texts], *snapshot);
  leaves.check_ranges();
  leaves.check_late_splits();
  nodes.read_all();
  check_exact_sums(manifest, filled_stats(*snapshot), path);
  const auto ids = open_ids(manifest, files.take(FileKind::ids), Loading::whole);
  ids->check_all(*snapshot);
  snapshot->id_lookup = ids;
  return snapshot;
}

std::shared_ptr<Snapshot> read_on_touch(const Manifest& manifest, const std::string& path, FrameFiles files,
                                        std::uint64_t memory) {
  auto snapshot = std::make_shared<Snapshot>(manifest.metadata());
  std::vector<std::uint32_t> leaves_of_partition =
      read_partitions(manifest, files[FileKind::partitions], *snapshot);
  if (files.has(FileKind::dictionaries))
    read_dictionaries(manifest, files[FileKind::dictionaries], *snapshot);
  const auto ids =
      open_ids(manifest, files.take(FileKind::ids), Loading::on_touch, memory == kUnlimitedMemory);
  snapshot->filed_tree = std::make_shared<const FiledTree>(
      FiledTree{manifest.num_leaves, leaves_of_partition, level_starts(manifest.level_nodes)});
  auto source =
      std::make_unique<SlotFiles>(manifest, std::move(files), ids, std::move(leaves_of_partition), *snapshot);
  make_arena(manifest, PageSize::small, *snapshot);
  source->attach(snapshot->tree());
  snapshot->arena->set_source(std::move(source));
  if (memory != kUnlimitedMemory && manifest.num_leaves > 0) snapshot->arena->limit_memory(memory);
  snapshot->id_lookup = ids;
  const ReadSession session(*snapshot);
  check_exact_sums(manifest, filled_stats(*snapshot), path);  // reads the root
  return snapshot;
}

}  // namespace

std::shared_ptr<Snapshot> read_snapshot(const Directory& directory, const Manifest& manifest, Loading loading,
                                        std::uint64_t memory) {
  const std::string path = directory.path_of(manifest_name(manifest.snapshot.number));
  check_stats(manifest, path);
  FrameFiles files(directory, manifest);
  return loading == Loading::whole ? read_whole(manifest, path, files)
                                   : read_on_touch(manifest, path, std::move(files), memory);
}

}  // namespace culmen::storage
