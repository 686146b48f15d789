// Files whose frames have sizes that only their contents decide: after the last frame there are frames of the file's
// directory, which say how long the others are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/pages.h"
#include "index/slot_source.h"
#include "index/storage/frame_file.h"

namespace culmen::storage {

inline constexpr std::uint64_t kFramesPerDirectory = 1024;

// Where the frames of the directory are, in a file of so many other frames.
class DirectoryFrames {
 public:
  explicit DirectoryFrames(std::uint64_t num_frames) : num_frames_(num_frames) {}

  std::uint64_t size() const { return (num_frames_ + kFramesPerDirectory - 1) / kFramesPerDirectory; }
  // Of the file, the directory included.
  std::uint64_t num_frames_with_directory() const { return num_frames_ + size(); }
  std::uint64_t frames_in(std::uint64_t part) const;
  // Of frame num_frames + part of a file of so many bytes.
  FrameExtent extent(std::uint64_t part, std::uint64_t file_bytes) const {
    return extent_from(part, file_bytes - bytes());
  }
  FrameExtent extent_from(std::uint64_t part, std::uint64_t first_offset) const;
  std::uint64_t bytes() const { return size() == 0 ? 0 : extent_from(size() - 1, 0).end(); }

 private:
  std::uint64_t num_frames_;
};

// Appends the payload of a frame to no bytes.
using MakePayload = std::function<void(std::uint64_t number, std::vector<std::byte>& payload)>;

// Appends the first frames of a file, and returns where they are. Many threads call make(number, payload); about_bytes(number) says how much memory
// that takes, so that only so many are made at a time.
std::vector<FrameExtent> append_sized_frames(std::uint64_t num_frames,
                                             const std::function<std::uint64_t(std::uint64_t)>& about_bytes,
                                             const MakePayload& make, FrameFileWriter& file);

// Writes `num_frames` frames and their directory. Many threads call make(number, payload). The file was made for
// DirectoryFrames(num_frames).num_frames_with_directory() frames.
void write_sized_frames(std::uint64_t num_frames, std::uint64_t most_payload_bytes, const MakePayload& make,
                        FrameFileWriter& file);

// Reads a frame of the directory at most once: all at first, or each when one of its frames is needed.
class FrameDirectory {
 public:
  // The file outlives it.
  FrameDirectory(std::uint64_t num_frames, std::uint64_t most_payload_bytes, FrameFileReader& file);

  // Call first: checks that the file is long enough, and reads its header.
  void start();

  // Where the frame is: within the file, before its directory. Throws FormatError or IoError.
  FrameExtent extent(std::uint64_t number) const;
  // This object must outlive the result.
  ExtentOf extents() const {
    return [this](std::uint64_t number) { return extent(number); };
  }

  // Reads all that was not read yet. Throws FormatError unless the frames are one after the other, from the file's header
  // to its directory.
  void check_all() const;

 private:
  void take(std::uint64_t part, const std::byte* payload) const;
  [[noreturn]] void fail(std::uint64_t part) const;

  const std::uint64_t num_frames_;
  const std::uint64_t most_payload_bytes_;
  const DirectoryFrames frames_;
  FrameFileReader& file_;
  mutable PageBuffer<std::uint64_t> offsets_;
  mutable PageBuffer<std::uint32_t> payload_bytes_;
  mutable std::unique_ptr<SlotsRead> read_;  // frames of the directory
};

}  // namespace culmen::storage
