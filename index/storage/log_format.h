// The layout of a log (docs/format.md): a header, then frames, all in whole sectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "index/storage/format.h"

namespace culmen::storage {

// A power cut during a write may destroy every sector that the write touches. So no two frames share a sector.
inline constexpr std::uint64_t kSectorBytes = 512;

constexpr std::uint64_t whole_sectors(std::uint64_t bytes) {
  return (bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
}

// Identifies a log. The uuid distinguishes it from another file of the same name.
struct LogName {
  std::uint64_t number = 0;  // the n of WAL-n
  Uuid uuid = {};

  friend bool operator==(const LogName&, const LogName&) = default;
};

// The first sector.
struct LogHeader {
  std::uint64_t checksum = 0;                                           //  0  of all that follows
  char magic[16] = {'c', 'u', 'l', 'm', 'e', 'n', ' ', 'l', 'o', 'g'};  //  8
  std::uint32_t format_version = kFormatVersion;                        // 24
  std::uint32_t byte_order = 0x01020304;                                // 28
  std::uint64_t number = 0;                                             // 32
  std::uint64_t version = 0;  // 40  of the index before the first frame
  Uuid uuid = {};             // 48
  Uuid previous = {};         // 64  of the log that this one continues; 0: it starts with a snapshot
  std::uint8_t reserved[kSectorBytes - 80] = {};  // 80
};
static_assert(sizeof(LogHeader) == kSectorBytes);

enum class LogFrameKind : std::uint16_t { batch = 1, seal = 2 };
inline constexpr std::uint32_t kLogFrameMagic = 0x4d524643;  // "CFRM"

// Precedes each body. Zeros fill the frame up to a whole sector; body_checksum covers them.
//
// Both checksums are seeded by the log's uuid, so no contents of a body look like a frame, except a copy of one of this
// log, and what that says was durable still is.
struct LogFrameHeader {
  std::uint64_t checksum = 0;               //  0  of the rest of this header
  std::uint32_t magic = kLogFrameMagic;     //  8
  LogFrameKind kind = LogFrameKind::batch;  // 12
  std::uint16_t place = 0;            // 14  in the write that appended the frame, from 1 on; 0: not known
  std::uint64_t version = 0;          // 16  after this batch; of a seal, the last one
  std::uint64_t body_bytes = 0;       // 24
  std::uint64_t body_checksum = 0;    // 32  of the body and the zeros after it
  std::uint64_t previous = 0;         // 40  checksum of the header before this one, or of the log's header
  std::uint64_t durable_through = 0;  // 48  the highest version that was durable when this was written
};
static_assert(sizeof(LogFrameHeader) == 56);

// The last version that an earlier write had appended when the writer began to write this frame; 0: not known. So it was
// reported as done, at least with Durability::os, but may not have been durable.
constexpr std::uint64_t appended_before(const LogFrameHeader& header) {
  return header.place == 0 || header.place > header.version ? 0 : header.version - header.place;
}

// Body of a seal: the last frame, which names the log that follows.
struct SealBody {
  std::uint64_t next_number = 0;  // 0
  Uuid next_uuid = {};            // 8
};
static_assert(sizeof(SealBody) == 24);

// A position between two frames.
struct LogPosition {
  std::uint64_t offset = 0;
  std::uint64_t chain = 0;    // checksum of the header before it
  std::uint64_t version = 0;  // of the last batch before it

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

std::uint64_t checksum_of(const LogHeader& header);
std::uint64_t checksum_of(const LogFrameHeader& header, std::uint64_t seed);
std::uint64_t frame_seed(const Uuid& uuid);

}  // namespace culmen::storage
