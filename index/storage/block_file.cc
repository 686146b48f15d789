#include "index/storage/block_file.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace culmen::storage {
namespace {

// Large enough that the calls cost nothing beside the bytes, small enough that a chunk is still in the
// last-level cache when its second reader, the copy, comes by.
constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kBatchBytes = std::uint64_t{16} << 20;
// So many chunks are planned at a time: the plan must not grow with what a sparse file says of its length.
constexpr std::size_t kPlannedChunks = 256;

// The end of the run of blocks from `first` on that fits `max_bytes`; at least one block.
std::uint64_t run_end(std::uint64_t first, std::uint64_t last, const PlaceOf& place_of,
                      std::uint64_t max_bytes) {
  const std::uint64_t start = place_of(first).offset;
  std::uint64_t end = first + 1;
  while (end < last && place_of(end).end() - start <= max_bytes) ++end;
  return end;
}

std::uint64_t run_bytes(std::uint64_t first, std::uint64_t end, const PlaceOf& place_of) {
  return place_of(end - 1).end() - place_of(first).offset;
}

FileHeader file_header(const SnapshotName& snapshot, std::uint64_t num_blocks) {
  FileHeader header;
  header.num_blocks = num_blocks;
  header.snapshot_number = snapshot.number;
  return header;
}

BlockHeader block_header(FileKind kind, const SnapshotName& snapshot, std::uint64_t number,
                         const BlockPlace& place) {
  BlockHeader header;
  header.kind = kind;
  header.level = place.level;
  header.number = number;
  header.payload_bytes = place.payload_bytes;
  header.uuid = snapshot.uuid;
  return header;
}

constexpr BlockPlace kFileHeaderPlace{0, sizeof(FileHeader), kFileHeaderLevel};

// A block's bytes behind its checksum.
std::span<const std::byte> covered_bytes(std::span<const std::byte> block) {
  return block.subspan(sizeof(BlockHeader::checksum));
}

void check_checksum(const std::string& path, std::uint64_t offset, std::uint64_t expected,
                    std::uint64_t checksum) {
  if (checksum != expected)
    throw_damaged(path, offset, "the checksum of this block does not match: the file is damaged");
}

void check_header(const std::string& path, std::uint64_t offset, const BlockHeader& header,
                  const BlockHeader& expected) {
  if (std::memcmp(&header.magic, &expected.magic, sizeof header - sizeof header.checksum) != 0)
    throw_damaged(path, offset, "this block belongs to another index or to another place in it");
}

// Returns the checksum.
std::uint64_t check_block(const std::string& path, std::uint64_t offset, std::span<const std::byte> block,
                          const BlockHeader& expected) {
  BlockHeader header;
  std::memcpy(&header, block.data(), sizeof header);
  check_checksum(path, offset, header.checksum, checksum_of(covered_bytes(block)));
  check_header(path, offset, header, expected);
  return header.checksum;
}

// Checks a block that is larger than a chunk. In a hole of a sparse file that ends with the header.
void check_in_pieces(const ReadableFile& file, std::uint64_t offset, std::uint64_t bytes,
                     const BlockHeader& expected) {
  BlockHeader header;
  file.read(offset, std::as_writable_bytes(std::span(&header, 1)));
  check_header(file.path(), offset, header, expected);
  constexpr std::uint64_t kCovered = sizeof header.checksum;  // from here on
  check_checksum(file.path(), offset, header.checksum,
                 checksum_of(file, offset + kCovered, bytes - kCovered, 0));
}

// Room for so many bytes, of which what was there before is nothing.
void make_room(std::vector<std::byte>& buffer, std::uint64_t bytes) {
  if (buffer.size() < bytes) buffer = {};
  buffer.resize(std::max<std::uint64_t>(buffer.size(), bytes));
}

}  // namespace

BlockFileWriter::BlockFileWriter(Directory& directory, FileKind kind, const SnapshotName& snapshot,
                                 std::uint64_t num_blocks)
    : kind_(kind),
      snapshot_(snapshot),
      num_blocks_(num_blocks),
      file_(directory.create(file_name(kind, snapshot.number))),
      checksums_(num_blocks + 1) {
  write_file_header();
}

std::uint64_t BlockFileWriter::seal(const BlockHeader& header, std::span<std::byte> block) const {
  BlockHeader sealed = header;
  std::memcpy(block.data(), &sealed, sizeof sealed);
  sealed.checksum = checksum_of(covered_bytes(block));
  std::memcpy(block.data(), &sealed, sizeof sealed);
  return sealed.checksum;
}

void BlockFileWriter::write_file_header() {
  std::array<std::byte, kFirstBlockOffset> block = {};
  const FileHeader header = file_header(snapshot_, num_blocks_);
  std::memcpy(block.data() + sizeof(BlockHeader), &header, sizeof header);
  checksums_[0] = seal(block_header(kind_, snapshot_, 0, kFileHeaderPlace), block);
  file_->write(0, block);
  bytes_ = block.size();
}

void BlockFileWriter::write(const PlaceOf& place_of,
                            const std::function<void(std::uint64_t, std::byte*)>& fill) {
  std::vector<std::byte> batch;
  for (std::uint64_t first = 0, end = 0; first < num_blocks_; first = end) {
    end = run_end(first, num_blocks_, place_of, kBatchBytes);
    CULMEN_ASSERT(place_of(first).offset == bytes_);
    batch.assign(run_bytes(first, end, place_of), std::byte{0});
    tbb::parallel_for(first, end, [&](std::uint64_t number) {
      const BlockPlace place = place_of(number);
      const auto block = std::span(batch).subspan(place.offset - bytes_, place.end() - place.offset);
      fill(number, block.data() + sizeof(BlockHeader));
      checksums_[number + 1] = seal(block_header(kind_, snapshot_, number, place), block);
    });
    file_->write(bytes_, batch);
    bytes_ += batch.size();
  }
}

FileEntry BlockFileWriter::finish() {
  file_->sync();
  return {bytes_, digest_of(std::as_bytes(std::span(checksums_)))};
}

BlockFileReader::BlockFileReader(const Directory& directory, FileKind kind, const SnapshotName& snapshot,
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

void BlockFileReader::require_end(std::uint64_t end) const {
  if (end != entry_.bytes)
    throw_damaged(path(), std::min(end, entry_.bytes),
                  "the file has " + std::to_string(entry_.bytes) + " bytes; its blocks end at byte " +
                      std::to_string(end));
}

void BlockFileReader::read_file_header(std::uint64_t num_blocks) {
  if (entry_.bytes < kFirstBlockOffset)
    throw_damaged(path(), entry_.bytes, "the file ends within its header");
  checksums_ = PageBuffer<std::uint64_t>(num_blocks + 1);
  std::array<std::byte, kFirstBlockOffset> block{};
  file_->read(0, block);
  checksums_[0] = check_block(path(), 0, block, block_header(kind_, snapshot_, 0, kFileHeaderPlace));
  const FileHeader expected = file_header(snapshot_, num_blocks);
  if (std::memcmp(block.data() + sizeof(BlockHeader), &expected, sizeof expected) != 0)
    throw_damaged(path(), sizeof(BlockHeader), "the file's header and the manifest contradict each other");
}

void BlockFileReader::read_chunk(std::uint64_t first, std::uint64_t last, const PlaceOf& place_of,
                                 std::vector<std::byte>& buffer,
                                 const std::function<void(std::uint64_t, const std::byte*)>& use) {
  const std::uint64_t start = place_of(first).offset, bytes = run_bytes(first, last, place_of);
  if (bytes > kChunkBytes)  // then it is one block
    check_in_pieces(*file_, start, bytes, block_header(kind_, snapshot_, first, place_of(first)));
  make_room(buffer, bytes);
  const auto chunk = std::span(buffer).first(bytes);
  file_->read(start, chunk);
  for (std::uint64_t number = first; number < last; ++number) {
    const BlockPlace place = place_of(number);
    const auto block = chunk.subspan(place.offset - start, place.end() - place.offset);
    checksums_[number + 1] =
        check_block(path(), place.offset, block, block_header(kind_, snapshot_, number, place));
    use(number, block.data() + sizeof(BlockHeader));
  }
}

void BlockFileReader::read(std::uint64_t first, std::uint64_t last, const PlaceOf& place_of,
                           const std::function<void(std::uint64_t, const std::byte*)>& use) {
  tbb::enumerable_thread_specific<std::vector<std::byte>> buffers;
  while (first < last) {
    std::vector<std::uint64_t> chunk_first = {first};
    while (chunk_first.back() < last && chunk_first.size() <= kPlannedChunks)
      chunk_first.push_back(run_end(chunk_first.back(), last, place_of, kChunkBytes));
    tbb::parallel_for(std::size_t{1}, chunk_first.size(), [&](std::size_t chunk) {
      read_chunk(chunk_first[chunk - 1], chunk_first[chunk], place_of, buffers.local(), use);
    });
    first = chunk_first.back();
  }
}

void BlockFileReader::check_digest() const {
  if (digest_of(std::as_bytes(checksums_.span())) != entry_.digest)
    throw_damaged(path(), 0, "the blocks of this file are not the ones that the manifest names");
}

LoneBlockReader::LoneBlockReader(const Directory& directory, FileKind kind, const SnapshotName& snapshot)
    : kind_(kind), snapshot_(snapshot), file_(directory.open(file_name(kind, snapshot.number))) {}

const std::byte* LoneBlockReader::read(std::uint64_t number, const BlockPlace& place) {
  const std::uint64_t bytes = place.end() - place.offset;
  if (!reaches(place.offset) || bytes > file_->size() - place.offset)
    throw_damaged(path(), file_->size(), "the file ends within or before block " + std::to_string(number));
  const BlockHeader expected = block_header(kind_, snapshot_, number, place);
  if (bytes > kChunkBytes) check_in_pieces(*file_, place.offset, bytes, expected);
  make_room(block_, bytes);
  const auto block = std::span(block_).first(bytes);
  file_->read(place.offset, block);
  check_block(path(), place.offset, block, expected);
  return block_.data() + sizeof(BlockHeader);
}

}  // namespace culmen::storage
