// FramedEntries: entries of a fixed size, one for each row of an index, as a file has them: 1024 in a frame, and a directory of the
// frames. Reads a frame at most once: all at first, or each when it is needed. Or whenever it is needed, and keeps none.
#pragma once

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/pages.h"
#include "culmen/open.h"
#include "index/slot_source.h"
#include "index/storage/frame_directory.h"
#include "index/storage/frame_file.h"

namespace culmen::storage {

inline constexpr std::uint64_t kIdsPerFrame = 1024;

// Of an index of so many rows; without those of the file's directory.
constexpr std::uint64_t num_id_frames(std::uint64_t num_rows) {
  return (num_rows + kIdsPerFrame - 1) / kIdsPerFrame;
}

// Writes them. Many threads call encode(entries, payload), which appends the payload of a frame to no bytes.
template <typename Entry, typename Encode>
void write_framed_entries(std::span<const Entry> entries, std::uint64_t most_frame_bytes,
                          const Encode& encode, FrameFileWriter& file) {
  write_sized_frames(
      num_id_frames(entries.size()), most_frame_bytes,
      [&](std::uint64_t number, std::vector<std::byte>& payload) {
        const std::uint64_t first = number * kIdsPerFrame;
        encode(entries.subspan(first, std::min(kIdsPerFrame, entries.size() - first)), payload);
      },
      file);
}

template <typename Entry>
class FramedEntries {
 public:
  // Memory for frames that are not kept. Has none until one is read.
  using Frame = std::vector<Entry>;
  // Returns false if the payload is not that of so many good entries.
  using Decode = std::function<bool(std::span<const std::byte> payload, std::span<Entry> entries)>;

  // fault: what a bad frame has.
  FramedEntries(std::uint64_t num_entries, std::uint64_t most_frame_bytes, FrameFileReader file,
                Loading loading, bool keeps_frames, Decode decode, const char* fault)
      : num_entries_(num_entries),
        num_frames_(num_id_frames(num_entries)),
        keeps_frames_(keeps_frames),
        decode_(std::move(decode)),
        fault_(fault),
        file_(std::move(file)),
        directory_(num_frames_, most_frame_bytes, file_) {
    directory_.start();
    // Pages cost nothing until they are written, and a file that lies about its length fails before that.
    entries_ = PageBuffer<Entry>(num_entries, num_entries,
                                 loading == Loading::whole ? PageSize::huge : PageSize::small);
    read_ = std::make_unique<SlotsRead>(num_frames_);
    if (loading == Loading::on_touch) return;
    directory_.check_all();
    file_.read(0, num_frames_, directory_.extents(), [this](std::uint64_t number, const std::byte* payload) {
      read_->require(number, [&] { take(number, payload, kept(number)); });
    });
  }

  std::uint64_t size() const { return num_entries_; }
  std::uint64_t num_frames() const { return num_frames_; }
  const FrameFileReader& file() const { return file_; }

  std::span<const Entry> frame(std::uint64_t number) const {
    read_->require(number, [&] { read_frame(number, kept(number)); });
    return kept(number);
  }
  // Valid until `mine` is used again.
  std::span<const Entry> frame(std::uint64_t number, Frame& mine) const {
    if (keeps_frames_) return frame(number);
    mine.resize(entries_in(number));
    read_frame(number, mine);
    return mine;
  }

  // Reads the rest, and checks the directory and the file's digest.
  void read_all() const {
    tbb::parallel_for(std::uint64_t{0}, num_frames_,
                      [&](std::uint64_t number) { static_cast<void>(frame(number)); });
    directory_.check_all();
    file_.check_digest();
  }

  [[noreturn]] void fail(std::uint64_t number) const {
    throw_damaged(file_.path(), directory_.extent(number).offset + sizeof(FrameHeader), fault_);
  }

 private:
  std::uint64_t entries_in(std::uint64_t frame) const {
    return std::min(kIdsPerFrame, num_entries_ - frame * kIdsPerFrame);
  }
  std::span<Entry> kept(std::uint64_t number) const {
    return entries_.span().subspan(number * kIdsPerFrame, entries_in(number));
  }
  void take(std::uint64_t number, const std::byte* payload, std::span<Entry> entries) const {
    if (!decode_({payload, directory_.extent(number).payload_bytes}, entries)) fail(number);
  }
  void read_frame(std::uint64_t number, std::span<Entry> entries) const {
    file_.read_one(number, directory_.extent(number),
                   [&](const std::byte* payload) { take(number, payload, entries); });
  }

  const std::uint64_t num_entries_;
  const std::uint64_t num_frames_;
  const bool keeps_frames_;
  const Decode decode_;
  const char* const fault_;
  mutable FrameFileReader file_;
  FrameDirectory directory_;
  mutable PageBuffer<Entry> entries_;        // zero where no frame was read
  mutable std::unique_ptr<SlotsRead> read_;  // frames
};

}  // namespace culmen::storage
