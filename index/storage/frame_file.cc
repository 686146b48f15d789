#include "index/storage/frame_file.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace culmen::storage {
namespace {

// Large enough that system calls cost little, small enough that a chunk is still in the last-level cache when it is
// copied after its checksum.
constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kBatchBytes = std::uint64_t{16} << 20;
// Chunks planned at a time. Limits memory, since a sparse file may claim any length.
constexpr std::size_t kPlannedChunks = 256;

// The end of the run of frames from `first` on that fits `max_bytes`; at least one frame.
std::uint64_t run_end(std::uint64_t first, std::uint64_t last, const ExtentOf& extent_of,
                      std::uint64_t max_bytes) {
  const std::uint64_t start = extent_of(first).offset;
  std::uint64_t end = first + 1;
  while (end < last && extent_of(end).end() - start <= max_bytes) ++end;
  return end;
}

std::uint64_t run_bytes(std::uint64_t first, std::uint64_t end, const ExtentOf& extent_of) {
  return extent_of(end - 1).end() - extent_of(first).offset;
}

FileHeader file_header(const SnapshotName& snapshot, std::uint64_t num_frames) {
  FileHeader header;
  header.num_frames = num_frames;
  header.snapshot_number = snapshot.number;
  return header;
}

FrameHeader frame_header(FileKind kind, const SnapshotName& snapshot, std::uint64_t number,
                         const FrameExtent& extent) {
  FrameHeader header;
  header.kind = kind;
  header.level = extent.level;
  header.number = number;
  header.payload_bytes = extent.payload_bytes;
  header.uuid = snapshot.uuid;
  return header;
}

constexpr FrameExtent kFileHeaderExtent{0, sizeof(FileHeader), kFileHeaderLevel};

// A frame's bytes after its checksum.
std::span<const std::byte> covered_bytes(std::span<const std::byte> frame) {
  return frame.subspan(sizeof(FrameHeader::checksum));
}

void check_checksum(const std::string& path, std::uint64_t offset, std::uint64_t expected,
                    std::uint64_t checksum) {
  if (checksum != expected)
    throw_damaged(path, offset, "the checksum of this frame does not match: the file is damaged");
}

void check_header(const std::string& path, std::uint64_t offset, const FrameHeader& header,
                  const FrameHeader& expected) {
  if (std::memcmp(&header.magic, &expected.magic, sizeof header - sizeof header.checksum) != 0)
    throw_damaged(path, offset, "this frame belongs to another index or to another position in it");
}

// Returns the checksum.
std::uint64_t check_frame(const std::string& path, std::uint64_t offset, std::span<const std::byte> frame,
                          const FrameHeader& expected) {
  FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof header);
  check_checksum(path, offset, header.checksum, checksum_of(covered_bytes(frame)));
  check_header(path, offset, header, expected);
  return header.checksum;
}

// Checks a frame that is larger than a chunk. A hole in a sparse file fails at the header.
void check_in_pieces(const ReadableFile& file, std::uint64_t offset, std::uint64_t bytes,
                     const FrameHeader& expected) {
  FrameHeader header;
  file.read(offset, std::as_writable_bytes(std::span(&header, 1)));
  check_header(file.path(), offset, header, expected);
  constexpr std::uint64_t kCovered = sizeof header.checksum;  // from here on
  check_checksum(file.path(), offset, header.checksum,
                 checksum_of(file, offset + kCovered, bytes - kCovered, 0));
}

// Reads and checks one frame. Gets memory for a long one only after its checksum was right.
std::unique_ptr<std::byte[]> read_frame(const ReadableFile& file, const FrameExtent& extent,
                                        const FrameHeader& expected) {
  const std::uint64_t bytes = extent.end() - extent.offset;
  if (bytes > kChunkBytes) check_in_pieces(file, extent.offset, bytes, expected);
  auto frame = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const std::span<std::byte> all(frame.get(), bytes);
  file.read(extent.offset, all);
  check_frame(file.path(), extent.offset, all, expected);
  return frame;
}

// Makes the buffer at least so large. Its contents are undefined.
void make_room(std::vector<std::byte>& buffer, std::uint64_t bytes) {
  if (buffer.size() < bytes) buffer = {};
  buffer.resize(std::max<std::uint64_t>(buffer.size(), bytes));
}

}  // namespace

FrameFileWriter::FrameFileWriter(Directory& directory, FileKind kind, const SnapshotName& snapshot,
                                 std::uint64_t num_frames)
    : kind_(kind),
      snapshot_(snapshot),
      num_frames_(num_frames),
      file_(directory.create(file_name(kind, snapshot.number))),
      checksums_(num_frames + 1) {
  write_file_header();
}

std::uint64_t FrameFileWriter::seal(const FrameHeader& header, std::span<std::byte> frame) const {
  FrameHeader sealed = header;
  std::memcpy(frame.data(), &sealed, sizeof sealed);
  sealed.checksum = checksum_of(covered_bytes(frame));
  std::memcpy(frame.data(), &sealed, sizeof sealed);
  return sealed.checksum;
}

void FrameFileWriter::write_file_header() {
  std::array<std::byte, kFirstFrameOffset> frame = {};
  const FileHeader header = file_header(snapshot_, num_frames_);
  std::memcpy(frame.data() + sizeof(FrameHeader), &header, sizeof header);
  checksums_[0] = seal(frame_header(kind_, snapshot_, 0, kFileHeaderExtent), frame);
  file_->write(0, frame);
  bytes_ = frame.size();
}

void FrameFileWriter::write(const ExtentOf& extent_of,
                            const std::function<void(std::uint64_t, std::byte*)>& fill) {
  append(0, num_frames_, extent_of, fill);
}

void FrameFileWriter::append(std::uint64_t from, std::uint64_t last, const ExtentOf& extent_of,
                             const std::function<void(std::uint64_t, std::byte*)>& fill) {
  std::vector<std::byte> batch;
  for (std::uint64_t first = from, end = 0; first < last; first = end) {
    end = run_end(first, last, extent_of, kBatchBytes);
    CULMEN_ASSERT(extent_of(first).offset == bytes_);
    batch.assign(run_bytes(first, end, extent_of), std::byte{0});
    tbb::parallel_for(first, end, [&](std::uint64_t number) {
      const FrameExtent extent = extent_of(number);
      const auto frame = std::span(batch).subspan(extent.offset - bytes_, extent.end() - extent.offset);
      fill(number, frame.data() + sizeof(FrameHeader));
      checksums_[number + 1] = seal(frame_header(kind_, snapshot_, number, extent), frame);
    });
    file_->write(bytes_, batch);
    bytes_ += batch.size();
  }
}

FileEntry FrameFileWriter::finish() {
  file_->sync();
  return {bytes_, digest_of(std::as_bytes(std::span(checksums_)))};
}

FrameFileReader::FrameFileReader(const Directory& directory, FileKind kind, const SnapshotName& snapshot,
                                 const FileEntry& entry)
    : kind_(kind),
      snapshot_(snapshot),
      entry_(entry),
      file_(directory.open(file_name(kind, snapshot.number))) {
  if (file_->size() != entry.bytes)
    throw_damaged(path(), std::min(file_->size(), entry.bytes),
                  "the file has " + std::to_string(file_->size()) + " bytes; the manifest says " +
                      std::to_string(entry.bytes));
}

void FrameFileReader::require_end(std::uint64_t end) const {
  if (end != entry_.bytes)
    throw_damaged(path(), std::min(end, entry_.bytes),
                  "the file has " + std::to_string(entry_.bytes) + " bytes; its frames end at byte " +
                      std::to_string(end));
}

void FrameFileReader::read_file_header(std::uint64_t num_frames) {
  if (entry_.bytes < kFirstFrameOffset)
    throw_damaged(path(), entry_.bytes, "the file ends within its header");
  checksums_ = PageBuffer<std::uint64_t>(num_frames + 1, num_frames + 1, PageSize::small);
  std::array<std::byte, kFirstFrameOffset> frame{};
  file_->read(0, frame);
  checksums_[0] = check_frame(path(), 0, frame, frame_header(kind_, snapshot_, 0, kFileHeaderExtent));
  const FileHeader expected = file_header(snapshot_, num_frames);
  if (std::memcmp(frame.data() + sizeof(FrameHeader), &expected, sizeof expected) != 0)
    throw_damaged(path(), sizeof(FrameHeader), "the file's header contradicts the manifest");
}

void FrameFileReader::read_chunk(std::uint64_t first, std::uint64_t last, const ExtentOf& extent_of,
                                 std::vector<std::byte>& buffer,
                                 const std::function<void(std::uint64_t, const std::byte*)>& use) {
  const std::uint64_t start = extent_of(first).offset, bytes = run_bytes(first, last, extent_of);
  if (bytes > kChunkBytes)  // a single frame
    check_in_pieces(*file_, start, bytes, frame_header(kind_, snapshot_, first, extent_of(first)));
  make_room(buffer, bytes);
  const auto chunk = std::span(buffer).first(bytes);
  file_->read(start, chunk);
  for (std::uint64_t number = first; number < last; ++number) {
    const FrameExtent extent = extent_of(number);
    const auto frame = chunk.subspan(extent.offset - start, extent.end() - extent.offset);
    checksums_[number + 1] =
        check_frame(path(), extent.offset, frame, frame_header(kind_, snapshot_, number, extent));
    use(number, frame.data() + sizeof(FrameHeader));
  }
}

void FrameFileReader::read(std::uint64_t first, std::uint64_t last, const ExtentOf& extent_of,
                           const std::function<void(std::uint64_t, const std::byte*)>& use) {
  tbb::enumerable_thread_specific<std::vector<std::byte>> buffers;
  while (first < last) {
    std::vector<std::uint64_t> chunk_first = {first};
    while (chunk_first.back() < last && chunk_first.size() <= kPlannedChunks)
      chunk_first.push_back(run_end(chunk_first.back(), last, extent_of, kChunkBytes));
    tbb::parallel_for(std::size_t{1}, chunk_first.size(), [&](std::size_t chunk) {
      read_chunk(chunk_first[chunk - 1], chunk_first[chunk], extent_of, buffers.local(), use);
    });
    first = chunk_first.back();
  }
}

void FrameFileReader::read_one(std::uint64_t number, const FrameExtent& extent,
                               const std::function<void(const std::byte*)>& use) {
  const std::unique_ptr<std::byte[]> frame =
      read_frame(*file_, extent, frame_header(kind_, snapshot_, number, extent));
  std::uint64_t checksum;
  std::memcpy(&checksum, frame.get(), sizeof checksum);
  std::atomic_ref(checksums_[number + 1]).store(checksum, std::memory_order_relaxed);
  use(frame.get() + sizeof(FrameHeader));
}

void FrameFileReader::check_digest() const {
  if (digest_of(std::as_bytes(checksums_.span())) != entry_.digest)
    throw_damaged(path(), 0, "the digest does not match: these are not the frames that the manifest names");
}

LoneFrameReader::LoneFrameReader(const Directory& directory, FileKind kind, const SnapshotName& snapshot)
    : kind_(kind), snapshot_(snapshot), file_(directory.open(file_name(kind, snapshot.number))) {}

std::optional<FoundFrame> LoneFrameReader::find(std::uint64_t offset, std::uint64_t first, std::uint64_t end,
                                                std::uint64_t most_payload_bytes) const {
  constexpr std::array<std::byte, sizeof(FrameHeader)> kNothing = {};
  FrameHeader header;
  while (offset < bytes() && bytes() - offset >= sizeof header) {
    file_->read(offset, std::as_writable_bytes(std::span(&header, 1)));
    const FrameExtent extent{offset, header.payload_bytes, 0};
    FrameHeader expected = frame_header(kind_, snapshot_, header.number, extent);
    expected.checksum = header.checksum;
    const bool is_frame = header.number >= first && header.number < end &&
                          header.payload_bytes <= most_payload_bytes && extent.end() <= bytes() &&
                          std::memcmp(&header, &expected, sizeof header) == 0;
    if (is_frame) return FoundFrame{header.number, extent};
    const bool is_hole = std::memcmp(&header, kNothing.data(), sizeof header) == 0;
    offset += kAlignment;
    if (is_hole) offset = data_from(offset) / kAlignment * kAlignment;
  }
  return std::nullopt;
}

const std::byte* LoneFrameReader::read(std::uint64_t number, const FrameExtent& extent) {
  const std::uint64_t bytes = extent.end() - extent.offset;
  if (!reaches(extent.offset) || bytes > file_->size() - extent.offset)
    throw_damaged(path(), file_->size(), "the file ends within or before frame " + std::to_string(number));
  frame_ = read_frame(*file_, extent, frame_header(kind_, snapshot_, number, extent));
  return frame_.get() + sizeof(FrameHeader);
}

}  // namespace culmen::storage
