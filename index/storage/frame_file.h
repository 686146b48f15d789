// Files of checksummed frames. Written front to back in parallel batches, read in parallel chunks.
//
// A file may be sparse and its header may claim anything, so readers allocate no memory because of either: only chunks
// of a fixed size, and beyond that a frame whose checksum matched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/pages.h"
#include "index/storage/file_system.h"
#include "index/storage/format.h"
#include "index/storage/hash.h"

namespace culmen::storage {

// The snapshot to which frames belong.
struct SnapshotName {
  Uuid uuid = {};
  std::uint64_t number = 0;  // the n of MANIFEST-n
};

// The manifest's entry for a frame file. The digest covers the checksums of its frames, in file order, so the manifest
// covers every byte and no byte is hashed twice.
struct FileEntry {
  std::uint64_t bytes = 0;
  Digest digest;

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

class FrameFileWriter {
 public:
  FrameFileWriter(Directory& directory, FileKind kind, const SnapshotName& snapshot,
                  std::uint64_t num_frames);

  // Appends frames 0 .. num_frames-1. Many threads call fill(number, payload), where the payload is zeroed.
  void write(const ExtentOf& extent_of, const std::function<void(std::uint64_t, std::byte*)>& fill);
  // The same for the next frames, [from, last).
  void append(std::uint64_t from, std::uint64_t last, const ExtentOf& extent_of,
              const std::function<void(std::uint64_t, std::byte*)>& fill);

  // So far.
  std::uint64_t bytes() const { return bytes_; }

  // Syncs the file.
  FileEntry finish();

 private:
  void write_file_header();
  std::uint64_t seal(const FrameHeader& header, std::span<std::byte> frame) const;

  const FileKind kind_;
  const SnapshotName snapshot_;
  const std::uint64_t num_frames_;
  std::unique_ptr<WritableFile> file_;
  std::uint64_t bytes_ = 0;
  std::vector<std::uint64_t> checksums_;
};

class FrameFileReader {
 public:
  // Opens the file and checks its size; reads nothing.
  FrameFileReader(const Directory& directory, FileKind kind, const SnapshotName& snapshot,
                  const FileEntry& entry);

  const std::string& path() const { return file_->path(); }
  std::uint64_t bytes() const { return entry_.bytes; }

  // Throws FormatError if the file does not end at `end`, the end of its last frame.
  void require_end(std::uint64_t end) const;

  // Call first: reads the file's header frame. The caller has checked that the file is long enough for `num_frames`.
  void read_file_header(std::uint64_t num_frames);

  // Reads frames [first, last). Many threads call use(number, payload) for frames whose checksum and header match.
  // `payload` is aligned for any number.
  void read(std::uint64_t first, std::uint64_t last, const ExtentOf& extent_of,
            const std::function<void(std::uint64_t, const std::byte*)>& use);

  // Reads one frame, and calls use(payload) if its checksum and header match. Concurrent calls are allowed. The caller has checked that the file is long enough.
  void read_one(std::uint64_t number, const FrameExtent& extent,
                const std::function<void(const std::byte*)>& use);

  // A hint: it will be read soon.
  void will_need(const FrameExtent& extent) const {
    file_->will_need(extent.offset, extent.end() - extent.offset);
  }

  // Call last, after every frame was read.
  void check_digest() const;

 private:
  void read_chunk(std::uint64_t first, std::uint64_t last, const ExtentOf& extent_of,
                  std::vector<std::byte>& buffer,
                  const std::function<void(std::uint64_t, const std::byte*)>& use);

  const FileKind kind_;
  const SnapshotName snapshot_;
  const FileEntry entry_;
  std::unique_ptr<ReadableFile> file_;
  PageBuffer<std::uint64_t> checksums_;  // of the header frame, then of frame 0, 1, ...
};

struct FoundFrame {
  std::uint64_t number;
  FrameExtent extent;
};

// Reads single frames of a damaged file, each checked by its own checksum and header alone.
class LoneFrameReader {
 public:
  LoneFrameReader(const Directory& directory, FileKind kind, const SnapshotName& snapshot);

  const std::string& path() const { return file_->path(); }

  // The first whole frame at `offset` or after it that is one of [first, end) by its header, and no longer than these are. Nobody
  // has looked at its checksum: its header may be damaged, and so may what it says about its number and length.
  std::optional<FoundFrame> find(std::uint64_t offset, std::uint64_t first, std::uint64_t end,
                                 std::uint64_t most_payload_bytes) const;

  std::uint64_t bytes() const { return file_->size(); }
  // Returns true if a byte of a frame at this offset is in the file.
  bool reaches(std::uint64_t offset) const { return offset < file_->size(); }
  // As ReadableFile: the first byte from `offset` on that may be non-zero.
  std::uint64_t data_from(std::uint64_t offset) const { return file_->data_from(offset); }

  // The payload, valid until the next call. Throws FormatError or IoError if the frame is not whole.
  const std::byte* read(std::uint64_t number, const FrameExtent& extent);

 private:
  const FileKind kind_;
  const SnapshotName snapshot_;
  std::unique_ptr<ReadableFile> file_;
  std::unique_ptr<std::byte[]> frame_;
};

}  // namespace culmen::storage
