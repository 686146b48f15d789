// The layout of the frame files (docs/format.md). Little-endian, no pointers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/enum_names.h"
#include "index/slot_arena.h"
#include "index/storage/file_system.h"
#include "index/storage/hash.h"

namespace culmen::storage {

static_assert(std::endian::native == std::endian::little,
              "index files are little-endian and are read without conversion");

inline constexpr std::uint32_t kFormatVersion = 11;
// The alignment of frames, and of the sections of a leaf: a cache line, any vector.
inline constexpr std::uint64_t kAlignment = 64;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

enum class FileKind : std::uint16_t {
  leaves = 1,
  nodes = 2,
  labels = 3,
  partitions = 4,
  fields = 5,
  dictionaries = 6,
  ids = 7,
  texts = 8
};
inline constexpr std::array kFileKinds = {FileKind::leaves,     FileKind::nodes,  FileKind::labels,
                                          FileKind::partitions, FileKind::fields, FileKind::dictionaries,
                                          FileKind::ids,        FileKind::texts};
// Those with a frame for each leaf, besides the leaves themselves.
inline constexpr std::array kFilesByLeaf = {FileKind::labels, FileKind::fields, FileKind::texts};
inline constexpr EnumNames<FileKind, kFileKinds.size()> kFileKindNames = {
    "kind of file",
    {{{"leaves", FileKind::leaves},
      {"nodes", FileKind::nodes},
      {"labels", FileKind::labels},
      {"partitions", FileKind::partitions},
      {"fields", FileKind::fields},
      {"dictionaries", FileKind::dictionaries},
      {"ids", FileKind::ids},
      {"texts", FileKind::texts}}}};

inline constexpr std::uint32_t kFrameMagic = 0x4b4c4243;  // "CBLK"
inline constexpr std::uint16_t kFileHeaderLevel = 0xffff;

// Precedes each payload. The reader knows every field but the checksum in advance, so a frame of another index, an
// older version or another position is never mistaken for the requested one.
struct FrameHeader {
  std::uint64_t checksum = 0;         //  0  of everything after it, to the end of the frame, padding included
  std::uint32_t magic = kFrameMagic;  //  8
  FileKind kind = FileKind::leaves;   // 12
  std::uint16_t level = 0;            // 14  of a node; 1 in a directory; in the first frame kFileHeaderLevel
  std::uint64_t number = 0;           // 16  counts from 0 after the first frame
  std::uint64_t payload_bytes = 0;    // 24  without the zeros that fill the frame up to kAlignment
  Uuid uuid = {};                     // 32
  std::uint64_t reserved[2] = {};     // 48
};
static_assert(sizeof(FrameHeader) == 64);

// Payload of the first frame of each file.
struct FileHeader {
  char magic[16] = {'c', 'u', 'l', 'm', 'e', 'n', ' ', 'i', 'n', 'd', 'e', 'x'};  //  0
  std::uint32_t format_version = kFormatVersion;                                  // 16
  std::uint32_t byte_order = 0x01020304;                                          // 20
  std::uint64_t num_frames = 0;                                                   // 24  after this one
  std::uint64_t snapshot_number = 0;                                              // 32
  std::uint64_t reserved[3] = {};                                                 // 40
};
static_assert(sizeof(FileHeader) == 64);

inline constexpr std::uint64_t kFirstFrameOffset = sizeof(FrameHeader) + sizeof(FileHeader);

// A leaf's frame in a file that has one of its own size for each leaf.
struct LeafFrame {
  std::uint64_t offset = 0;  // 0  0 if the index has no such file
  std::uint64_t bytes = 0;   // 8  of payload
};

// What a leaf's payload says besides its columns.
struct LeafRecord {
  std::uint32_t num_rows = 0;
  std::uint32_t partition = 0;
  LeafFrame labels = {};
  LeafFrame fields = {};
  LeafFrame texts = {};
};

// The part of something that has one for each of kFilesByLeaf.
template <typename Parts>
auto& part_of(Parts& parts, FileKind kind) {
  return kind == FileKind::labels ? parts.labels : kind == FileKind::fields ? parts.fields : parts.texts;
}

// The sections of a node's payload: the node, its zone map, its child zones. All but the first are as in memory.
struct NodeSections {
  std::uint64_t node_bytes;      // a multiple of kAlignment
  std::uint64_t zone_map_bytes;  // without padding
  std::uint64_t child_zones_bytes;

  NodeSections(const LeafShape& shape, const BoundLayout& layout)
      : node_bytes(node_bytes_of(layout)),
        zone_map_bytes(kZoneVectors * shape.zone_vector_bytes()),
        child_zones_bytes(ChildZonesLayout{shape.num_attributes, shape.num_fields}.node_bytes()) {}

  std::uint64_t zone_map_offset() const { return node_bytes; }
  std::uint64_t child_zones_offset() const { return zone_map_offset() + aligned(zone_map_bytes); }
  std::uint64_t payload_bytes() const { return child_zones_offset() + aligned(child_zones_bytes); }
};

// The position of a frame in its file.
struct FrameExtent {
  std::uint64_t offset;
  std::uint64_t payload_bytes;
  std::uint16_t level;

  std::uint64_t end() const { return offset + aligned(sizeof(FrameHeader) + payload_bytes); }
};
using ExtentOf = std::function<FrameExtent(std::uint64_t number)>;

// Frames of one size, one after the other.
inline FrameExtent fixed_extent(std::uint64_t number, std::uint64_t payload_bytes, std::uint16_t level) {
  const std::uint64_t stride = aligned(sizeof(FrameHeader) + payload_bytes);
  return {kFirstFrameOffset + number * stride, payload_bytes, level};
}

// Names. Snapshots other than that of CURRENT, and logs outside its chain, are leftovers.
inline constexpr const char* kCurrentName = "CURRENT";
inline constexpr const char* kNewCurrentName = "CURRENT-new";
inline constexpr const char* kLockName = "LOCK";
inline constexpr const char* kShardsName = "SHARDS";  // the manifest of a sharded index (shard/)
inline constexpr std::uint64_t kMaxNumber = 999'999'999'999'999'999;  // of a snapshot, of a log
// No real index gets so far. Files that claim more are rejected, and so are writes beyond it.
inline constexpr std::uint64_t kMaxVersion = std::uint64_t{1} << 62;
std::string manifest_name(std::uint64_t snapshot_number);
std::string file_name(FileKind kind, std::uint64_t snapshot_number);
// The snapshot number in a name of a manifest or a frame file; 0 for any other name.
std::uint64_t snapshot_number_of(const std::string& name);
std::string log_name(std::uint64_t log_number);
// The log number in a name of a log; 0 for any other name.
std::uint64_t log_number_of(const std::string& name);
// Of the directory of a shard.
std::string shard_name(std::uint64_t generation, std::uint64_t shard);
// The generation in such a name; 0 for any other name.
std::uint64_t shard_generation_of(const std::string& name);

// Throws FormatError: "path, byte offset: what".
[[noreturn]] void throw_damaged(const std::string& path, std::uint64_t offset, const std::string& what);

}  // namespace culmen::storage
