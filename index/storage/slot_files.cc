#include "index/storage/slot_files.h"

#include <tbb/parallel_for.h>

#include <string>
#include <utility>

#include "index/snapshot_fields.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

FrameExtent extent_of(const LeafFrame& frame) {
  return {frame.offset, frame.bytes, 0};
}

}  // namespace

SlotFiles::SlotFiles(const Manifest& manifest, FrameFiles files, std::shared_ptr<const FiledIds> ids,
                     std::vector<std::uint32_t> leaves_of_partition, const IndexMetadata& metadata)
    : SlotSource(manifest.num_leaves, manifest.num_nodes(), files.has(FileKind::fields)),
      manifest_(manifest),
      dictionary_sizes_(culmen::dictionary_sizes(metadata)),
      files_(std::move(files)),
      ids_(std::move(ids)),
      snapshot_(metadata),
      leaves_(manifest_, std::move(leaves_of_partition), files_[FileKind::leaves], snapshot_),
      nodes_(manifest_, files_[FileKind::nodes], snapshot_) {
  leaves_.start();
  nodes_.start();
  for (const FileKind kind : kFilesByLeaf)
    if (files_.has(kind)) files_[kind].read_file_header(manifest_.num_leaves);
}

void SlotFiles::attach(const TreeRoot& tree) {
  static_cast<TreeRoot&>(snapshot_) = tree;
  snapshot_.arena = std::shared_ptr<SlotArena>(std::shared_ptr<void>(), tree.arena.get());
}

// The frame of a leaf in another file, which has it.
LeafFrame SlotFiles::checked_frame(FileKind kind, std::uint64_t leaf) {
  const LeafFrame frame = leaves_.frame_in(kind, leaf);
  const std::uint64_t bytes = files_[kind].bytes();
  // Larger numbers could overflow.
  const bool fits = frame.offset <= bytes && frame.bytes <= bytes && extent_of(frame).end() <= bytes;
  if (!fits)
    leaves_.fail(leaf, "the leaf's " + std::string(kFileKindNames.name(kind)) + " are at the wrong offset");
  return frame;
}

std::uint64_t SlotFiles::read_leaf(std::size_t leaf, bool is_beside) {
  leaves_.read_one(leaf);
  return snapshot_.arena->bytes_of_leaf(is_beside);
}

std::uint64_t SlotFiles::read_node(std::size_t node, bool is_beside) {
  nodes_.read_one(node);
  return snapshot_.arena->bytes_of_node(is_beside);
}

template <typename Take>
std::uint64_t SlotFiles::read_by_leaf(FileKind kind, std::size_t leaf, const Take& take) {
  FrameFileReader& file = files_[kind];
  const LeafFrame frame = checked_frame(kind, leaf);
  std::uint64_t bytes = 0;
  file.read_one(leaf, extent_of(frame),
                [&](const std::byte* payload) { bytes = take(frame, payload, file); });
  return bytes;
}

std::uint64_t SlotFiles::read_labels(std::size_t leaf) {
  return read_by_leaf(FileKind::labels, leaf,
                      [&](const LeafFrame& frame, const std::byte* payload, const FrameFileReader& file) {
                        return take_labels(frame, leaf, payload, file, snapshot_);
                      });
}

std::uint64_t SlotFiles::read_fields(std::size_t leaf) {
  if (!files_.has(FileKind::fields)) return 0;
  return read_by_leaf(FileKind::fields, leaf,
                      [&](const LeafFrame& frame, const std::byte* payload, const FrameFileReader& file) {
                        return take_fields(frame, leaf, payload, dictionary_sizes_, file, snapshot_);
                      });
}

std::uint64_t SlotFiles::read_texts(std::size_t leaf) {
  return read_by_leaf(FileKind::texts, leaf,
                      [&](const LeafFrame& frame, const std::byte* payload, const FrameFileReader& file) {
                        return take_leaf_texts(frame, leaf, payload, file, snapshot_);
                      });
}

void SlotFiles::read_every_slot() {
  const SlotArena& arena = *snapshot_.arena;
  tbb::parallel_for(std::uint64_t{0}, manifest_.num_leaves, [&](std::uint64_t leaf) {
    static_cast<void>(arena.labels(leaf));
    static_cast<void>(arena.fields(leaf));
    static_cast<void>(arena.texts(leaf));
  });
  tbb::parallel_for(std::uint64_t{0}, manifest_.num_nodes(),
                    [&](std::uint64_t node) { static_cast<void>(arena.node(node)); });
}

void SlotFiles::read_rest() {
  snapshot_.arena->use_huge_pages();
  read_every_slot();
  const FramesOfLeaves frames = leaves_.check_all();
  for (const FileKind kind : kFilesByLeaf) {
    if (!files_.has(kind)) continue;
    files_[kind].require_end(part_of(frames, kind).end());
    files_[kind].check_digest();
  }
  if (files_.has(FileKind::fields)) check_has_gaps(manifest_, files_[FileKind::fields], snapshot_);
  leaves_.check_ranges();
  leaves_.check_late_splits();
  nodes_.check_all();
  ids_->check_all(snapshot_);
}

}  // namespace culmen::storage
