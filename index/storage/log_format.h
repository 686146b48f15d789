// The layout of a log, as docs/format.md describes it: a header, then frames, all in whole sectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "index/storage/format.h"

namespace culmen::storage {

// A log whose power goes while it is written to may lose more than the bytes just written: the whole sector
// that they share with others. So no two frames share one.
inline constexpr std::uint64_t kSectorBytes = 512;

constexpr std::uint64_t whole_sectors(std::uint64_t bytes) {
  return (bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
}

// Which log: the uuid tells one that was meant from another that took its name.
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
  Uuid previous = {};         // 64  of the log that this one goes on from; 0: it starts with a snapshot
  std::uint8_t reserved[kSectorBytes - 80] = {};  // 80
};
static_assert(sizeof(LogHeader) == kSectorBytes);

enum class LogFrameKind : std::uint16_t { batch = 1, seal = 2 };
inline constexpr std::uint32_t kLogFrameMagic = 0x4d524643;  // "CFRM"

// In front of each body. A frame ends with zeros up to a whole sector; its last checksum covers them.
//
// Both checksums are seeded by the log's uuid: whatever bytes somebody puts into a body, none of them makes a
// frame. A copy of one of this log does, but what that says was durable still is.
struct LogFrameHeader {
  std::uint64_t checksum = 0;               //  0  of the rest of this header
  std::uint32_t magic = kLogFrameMagic;     //  8
  LogFrameKind kind = LogFrameKind::batch;  // 12
  std::uint16_t reserved = 0;               // 14
  std::uint64_t version = 0;                // 16  that a batch makes; of a seal, the last one
  std::uint64_t body_bytes = 0;             // 24
  std::uint64_t body_checksum = 0;          // 32  of the body and the zeros behind it
  std::uint64_t previous = 0;               // 40  checksum of the header before this one, be it the log's own
  std::uint64_t durable_through = 0;        // 48  the highest version that was durable when this was written
};
static_assert(sizeof(LogFrameHeader) == 56);

// Body of a seal: no frame follows, the log that does is this one.
struct SealBody {
  std::uint64_t next_number = 0;  // 0
  Uuid next_uuid = {};            // 8
};
static_assert(sizeof(SealBody) == 24);

// A place between two frames.
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
