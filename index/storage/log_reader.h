// Reads one log as far as its chain of frames is valid, and distinguishes a torn end from damage.
//
// A power cut may lose, tear or reorder the frames after the last sync. So an invalid frame ends the log, unless there is
// proof that it was once durable, or was written by an earlier call than a frame after it: then a batch that was reported
// as done is damaged.
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

// How far a log is known to have been durable. CURRENT records it for the last log when an index is closed.
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
    std::span<const std::byte> body;  // valid until the next call
  };

  // Checks the header. Throws FormatError if it is damaged or that of another log, or if the log does not start after
  // `version`. Ignores a `bound` of another log.
  LogReader(const Directory& directory, const LogName& name, std::uint64_t version, const LogBound& bound);

  // Switches to the file that now has the log's name, if it contains what was read so far. Returns false if it does not
  // or if there is none: the log was replaced, and this reader keeps its file.
  bool reopen(const Directory& directory);

  // Makes frames that were appended meanwhile visible. Everything that can be read is durable on return.
  void refresh();

  // The next batch; nothing if there is none, as of the last refresh. Throws FormatError naming the byte if the next
  // frame is damaged and was reported as done. After that, refresh() and a second attempt are allowed.
  std::optional<Batch> next();

  // For next_behind() alone: finds what follows `end`, of a log whose header may be damaged.
  static LogReader behind_damage(const Directory& directory, const LogName& name, const LogPosition& end);
  // The next whole batch of a later version than that of end(), whatever is between them.
  std::optional<Batch> next_behind();
  // The highest version that next_behind() has seen in a header, also of a batch that is not whole.
  std::uint64_t newest_version() const { return newest_version_; }

  // The log that follows, according to the seal. Set after the last frame.
  const std::optional<LogName>& successor() const { return successor_; }

  const LogName& name() const { return name_; }
  const std::string& path() const { return file_->path(); }
  const LogPosition& end() const { return end_; }
  std::uint64_t file_bytes() const { return file_->size(); }
  // Bytes after the last valid frame, without the zeros at the end of the file. Set after the last batch.
  std::uint64_t torn_bytes() const { return torn_bytes_; }

  [[noreturn]] void throw_damaged_here(const std::string& what) const;

 private:
  LogReader(const Directory& directory, const LogName& name, const LogBound& bound);

  void check_header(std::uint64_t version);
  std::span<const std::byte> window(std::uint64_t offset, std::uint64_t bytes);
  std::optional<LogFrameHeader> header_at(std::uint64_t offset);
  // The rest of the frame with this header at `offset`; nothing if it is not valid.
  std::optional<std::span<const std::byte>> rest_of(const LogFrameHeader& header, std::uint64_t offset);
  bool find_sector(std::uint64_t& offset);
  void advance_to(const LogPosition& position);
  LogName sealed_successor(std::span<const std::byte> body) const;
  void require_torn();

  std::unique_ptr<ReadableFile> file_;
  LogName name_;
  LogBound bound_;  // of this log, or all zero
  std::uint64_t seed_;
  LogPosition end_;
  std::uint64_t last_header_ = 0;  // offset of the header whose checksum is end_.chain
  std::uint64_t torn_bytes_ = 0;
  std::uint64_t behind_ = 0;  // where next_behind() goes on
  std::uint64_t newest_version_ = 0;
  std::optional<LogName> successor_;
  std::vector<std::byte> window_;
  std::uint64_t window_offset_ = 0;
};

// What a log continues, according to its header, and whether it has frames.
struct LogOrigin {
  Uuid uuid = {};
  Uuid previous = {};
  std::uint64_t version = 0;  // durable in the previous log when this one was created
  bool has_frames = false;    // if so, the seal of the previous log was durable
};
// Returns nothing if the header is invalid, because creating the log was interrupted.
std::optional<LogOrigin> read_log_origin(const Directory& directory, std::uint64_t number);

}  // namespace culmen::storage
