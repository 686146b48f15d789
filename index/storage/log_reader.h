// Reads one log, as far as its chain of frames is whole, and tells a torn end from damage.
//
// What a power cut leaves behind the last sync may be lost, torn or out of order, and was not acknowledged.
// So a bad frame ends the log, unless there is proof that it was durable once: then it is damage.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/storage/file_system.h"
#include "index/storage/log_format.h"

namespace culmen::storage {

// How far a log is known to have been durable. CURRENT says so of the last log when an index was closed.
struct LogBound {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chain = 0;  // checksum of the header of the last frame before

  friend bool operator==(const LogBound&, const LogBound&) = default;
};

class LogReader {
 public:
  struct Batch {
    std::uint64_t version;
    std::span<const std::byte> body;  // until the next call
  };

  // Checks the header. FormatError if it is damaged or another log's, or if its first version is not the one
  // after `version`. Of `bound` only what it says of this log is used.
  LogReader(const Directory& directory, const LogName& name, std::uint64_t version, const LogBound& bound);

  // Takes the file that has the log's name by now, if it holds what was read so far: false if it does not, or
  // if there is none. Then the log was replaced, and this reader stays where it is.
  bool reopen(const Directory& directory);

  // Looks for frames that were added meanwhile. All that can be read is durable on return.
  void refresh();

  // The next batch; nothing if there is none, as of the last refresh. FormatError naming the byte if what
  // follows was durable and is damaged. After it, refresh() and a second attempt are allowed.
  std::optional<Batch> next();

  // The log that this one says comes next; set once there are no more frames.
  const std::optional<LogName>& successor() const { return successor_; }

  const LogName& name() const { return name_; }
  const std::string& path() const { return file_->path(); }
  const LogPosition& end() const { return end_; }
  std::uint64_t file_bytes() const { return file_->size(); }
  // Bytes behind the last whole frame, without the zeros at the end of the file. Known once there is no more
  // batch.
  std::uint64_t torn_bytes() const { return torn_bytes_; }

  [[noreturn]] void throw_damaged_here(const std::string& what) const;

 private:
  void check_header(std::uint64_t version);
  std::span<const std::byte> window(std::uint64_t offset, std::uint64_t bytes);
  std::optional<LogFrameHeader> header_at(std::uint64_t offset);
  // The rest of the frame at the end of the chain, or nothing if it is not whole.
  std::optional<std::span<const std::byte>> rest_of(const LogFrameHeader& header);
  void advance_to(const LogPosition& position);
  LogName sealed_successor(std::span<const std::byte> body) const;
  void require_torn();

  std::unique_ptr<ReadableFile> file_;
  LogName name_;
  LogBound bound_;  // of this log, or all zero
  std::uint64_t seed_;
  LogPosition end_;
  std::uint64_t last_header_ = 0;  // where the header begins whose checksum is end_.chain
  std::uint64_t torn_bytes_ = 0;
  std::optional<LogName> successor_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
};

// What the log of that number says it goes on from, and whether anything stands in it.
struct LogOrigin {
  Uuid previous = {};
  std::uint64_t version = 0;  // that was durable in the log before, when this one was made
  bool has_frames = false;    // then the seal of the log before was durable, too
};
// Nothing if its header is not whole: its making was interrupted.
std::optional<LogOrigin> read_log_origin(const Directory& directory, std::uint64_t number);

}  // namespace culmen::storage
