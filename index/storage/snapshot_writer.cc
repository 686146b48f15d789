#include "index/storage/snapshot_writer.h"

#include "base/floating_point_scope.h"
#include "index/storage/directory_files.h"
#include "index/storage/frame_directory.h"
#include "index/storage/id_file.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {

SnapshotWriter::SnapshotWriter(const Snapshot& snapshot, const Uuid& index_uuid, const SnapshotName& name,
                               const LogName& log, Directory& directory)
    : snapshot_(snapshot), manifest_(describe(snapshot)), directory_(directory) {
  manifest_.index_uuid = index_uuid;
  manifest_.snapshot = name;
  manifest_.log = log;
}

SnapshotWriter::~SnapshotWriter() {
  if (switched_) return;
  quietly([this] {
    for (FileKind kind : kFileKinds) remove_quietly(directory_, file_name(kind, manifest_.snapshot.number));
    remove_quietly(directory_, manifest_name(manifest_.snapshot.number));
  });
}

void SnapshotWriter::run(const LogBound& log) {
  const FloatingPointScope floating_point;  // keeps subnormal numbers
  write_frame_files();
  write_manifest();
  current_.log = log;
  switch_current(directory_, current_, switched_);
}

template <typename Write>
void SnapshotWriter::write_frame_file(FileKind kind, std::uint64_t num_frames, Write&& write) {
  FrameFileWriter file(directory_, kind, manifest_.snapshot, num_frames);
  write(file);
  manifest_.file(kind) = file.finish();
}

void SnapshotWriter::write_frame_files() {
  FramesOfLeaves frames;
  for (const FileKind kind : kFilesByLeaf) {
    if (!manifest_.has_file(kind)) continue;
    write_frame_file(kind, manifest_.num_leaves, [&](FrameFileWriter& file) {
      part_of(frames, kind) = write_leaf_frames(snapshot_, kind, file);
    });
  }
  if (manifest_.has_file(FileKind::dictionaries)) {
    const DictionaryFrames texts(manifest_);
    write_frame_file(FileKind::dictionaries, texts.size(),
                     [&](FrameFileWriter& file) { write_dictionaries(snapshot_, texts, file); });
  }
  write_frame_file(FileKind::leaves, DirectoryFrames(manifest_.num_leaves).num_frames_with_directory(),
                   [&](FrameFileWriter& file) {
                     write_leaves(snapshot_, frames, manifest_.has_file(FileKind::fields), file);
                   });
  write_frame_file(FileKind::nodes, manifest_.num_nodes(),
                   [&](FrameFileWriter& file) { write_nodes(snapshot_, file); });
  write_frame_file(FileKind::partitions, 1,
                   [&](FrameFileWriter& file) { write_partitions(snapshot_, file); });
  write_frame_file(FileKind::ids,
                   DirectoryFrames(num_id_frames(manifest_.num_rows)).num_frames_with_directory(),
                   [&](FrameFileWriter& file) { write_ids(snapshot_, manifest_.snapshot.uuid, file); });
}

void SnapshotWriter::write_manifest() {
  const std::string text = to_text(manifest_);
  write_text(directory_, manifest_name(manifest_.snapshot.number), text);
  current_ = {manifest_.snapshot.number, text.size(), digest_of(std::as_bytes(std::span(text))), {}};
}

}  // namespace culmen::storage
