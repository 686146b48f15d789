#include "index/storage/frame_directory.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace culmen::storage {
namespace {

// Of payloads that are made at a time.
constexpr std::uint64_t kPayloadBytesAtOnce = std::uint64_t{16} << 20;

// Frames of the directory: another level than the others'.
constexpr std::uint16_t kDirectoryLevel = 1;

// The payload of a frame of the directory: the offset of the first frame, then the bytes of payload of each.
constexpr std::uint64_t directory_bytes(std::uint64_t num_frames) {
  return sizeof(std::uint64_t) + num_frames * sizeof(std::uint32_t);
}

void append_frames(std::uint64_t first, std::uint64_t end, const MakePayload& make, FrameFileWriter& file,
                   std::vector<FrameExtent>& extents) {
  std::vector<std::vector<std::byte>> payloads(end - first);
  tbb::parallel_for(first, end, [&](std::uint64_t number) { make(number, payloads[number - first]); });
  std::uint64_t offset = file.bytes();
  for (const std::vector<std::byte>& payload : payloads) {
    extents.push_back({offset, payload.size(), 0});
    offset = extents.back().end();
  }
  file.append(
      first, end, [&](std::uint64_t number) { return extents[number]; },
      [&](std::uint64_t number, std::byte* to) { std::ranges::copy(payloads[number - first], to); });
}

}  // namespace

std::uint64_t DirectoryFrames::frames_in(std::uint64_t part) const {
  return std::min(kFramesPerDirectory, num_frames_ - part * kFramesPerDirectory);
}

FrameExtent DirectoryFrames::extent_from(std::uint64_t part, std::uint64_t first_offset) const {
  const std::uint64_t stride = aligned(sizeof(FrameHeader) + directory_bytes(kFramesPerDirectory));
  return {first_offset + part * stride, directory_bytes(frames_in(part)), kDirectoryLevel};
}

std::vector<FrameExtent> append_sized_frames(std::uint64_t num_frames,
                                             const std::function<std::uint64_t(std::uint64_t)>& about_bytes,
                                             const MakePayload& make, FrameFileWriter& file) {
  std::vector<FrameExtent> extents;
  extents.reserve(num_frames);
  for (std::uint64_t first = 0, end = 0; first < num_frames; first = end) {
    std::uint64_t bytes = about_bytes(end++);
    while (end < num_frames && (bytes += about_bytes(end)) <= kPayloadBytesAtOnce) ++end;
    append_frames(first, end, make, file, extents);
  }
  return extents;
}

void write_sized_frames(std::uint64_t num_frames, std::uint64_t most_payload_bytes, const MakePayload& make,
                        FrameFileWriter& file) {
  const std::vector<FrameExtent> extents = append_sized_frames(
      num_frames, [=](std::uint64_t) { return most_payload_bytes; }, make, file);
  const DirectoryFrames directory(num_frames);
  if (num_frames == 0) return;
  const std::uint64_t first_offset = file.bytes();
  file.append(
      num_frames, directory.num_frames_with_directory(),
      [&](std::uint64_t number) { return directory.extent_from(number - num_frames, first_offset); },
      [&](std::uint64_t number, std::byte* to) {
        const std::uint64_t part = number - num_frames, first = part * kFramesPerDirectory;
        std::memcpy(to, &extents[first].offset, sizeof(std::uint64_t));
        for (std::uint64_t i = 0; i < directory.frames_in(part); ++i) {
          const auto bytes = static_cast<std::uint32_t>(extents[first + i].payload_bytes);
          std::memcpy(to + directory_bytes(i), &bytes, sizeof bytes);
        }
      });
}

FrameDirectory::FrameDirectory(std::uint64_t num_frames, std::uint64_t most_payload_bytes,
                               FrameFileReader& file)
    : num_frames_(num_frames), most_payload_bytes_(most_payload_bytes), frames_(num_frames), file_(file) {}

void FrameDirectory::start() {
  constexpr std::uint64_t kShortestFrame = aligned(sizeof(FrameHeader) + 1);
  const std::uint64_t least = kFirstFrameOffset + frames_.bytes() + num_frames_ * kShortestFrame;
  if (num_frames_ == 0) file_.require_end(kFirstFrameOffset);
  if (file_.bytes() < least)
    throw_damaged(file_.path(), file_.bytes(),
                  "the file is too short for " + std::to_string(num_frames_) + " frames");
  file_.read_file_header(frames_.num_frames_with_directory());
  // Pages cost nothing until they are written.
  offsets_ = PageBuffer<std::uint64_t>(num_frames_, num_frames_, PageSize::small);
  payload_bytes_ = PageBuffer<std::uint32_t>(num_frames_, num_frames_, PageSize::small);
  read_ = std::make_unique<SlotsRead>(frames_.size());
}

void FrameDirectory::fail(std::uint64_t part) const {
  throw_damaged(file_.path(), frames_.extent(part, file_.bytes()).offset + sizeof(FrameHeader),
                "the directory of the file's frames is wrong");
}

void FrameDirectory::take(std::uint64_t part, const std::byte* payload) const {
  const std::uint64_t end = file_.bytes() - frames_.bytes();
  FrameExtent extent{0, 0, 0};
  std::memcpy(&extent.offset, payload, sizeof extent.offset);
  if (extent.offset < kFirstFrameOffset || extent.offset > end || extent.offset % kAlignment != 0) fail(part);
  for (std::uint64_t i = 0; i < frames_.frames_in(part); ++i) {
    const std::uint64_t number = part * kFramesPerDirectory + i;
    std::memcpy(&payload_bytes_[number], payload + directory_bytes(i), sizeof(std::uint32_t));
    extent.payload_bytes = payload_bytes_[number];
    if (extent.payload_bytes == 0 || extent.payload_bytes > most_payload_bytes_ || extent.end() > end)
      fail(part);
    offsets_[number] = extent.offset;
    extent.offset = extent.end();
  }
}

FrameExtent FrameDirectory::extent(std::uint64_t number) const {
  const std::uint64_t part = number / kFramesPerDirectory;
  read_->require(part, [&] {
    file_.read_one(num_frames_ + part, frames_.extent(part, file_.bytes()),
                   [&](const std::byte* payload) { take(part, payload); });
  });
  return {offsets_[number], payload_bytes_[number], 0};
}

void FrameDirectory::check_all() const {
  std::uint64_t offset = kFirstFrameOffset;
  for (std::uint64_t part = 0; part < frames_.size(); ++part) {
    const std::uint64_t first = part * kFramesPerDirectory;
    if (extent(first).offset != offset) fail(part);
    offset = extent(first + frames_.frames_in(part) - 1).end();
  }
  if (offset != file_.bytes() - frames_.bytes()) fail(frames_.size() - 1);
}

}  // namespace culmen::storage
