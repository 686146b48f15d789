// Appends frames to one log.
//
// The first write or sync that fails ends it: what a file holds then is for the next open to find out.
// Nothing is tried again, since a second sync would succeed without having kept what the first one lost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "index/storage/file_system.h"
#include "index/storage/log_format.h"

namespace culmen::storage {

struct LogRecord {
  std::uint64_t version = 0;
  std::span<const std::byte> body;
};

class LogWriter {
 public:
  // A new log, whose header is durable on return; its name is not.
  static LogWriter create(Directory& directory, const LogName& name, std::uint64_t version,
                          const Uuid& previous);
  // A log that is there and durable up to `end`. What stands behind is cut off, durably.
  static LogWriter resume(Directory& directory, const LogName& name, const LogPosition& end,
                          std::uint64_t file_bytes);

  // One frame each, in one write. Versions go on from the last one without a gap.
  void append(std::span<const LogRecord> group);
  // What was appended is durable on return.
  void sync();
  // The last frame, durable on return. All that stands before it has been synced.
  void seal(const LogName& next);

  const LogName& name() const { return name_; }
  const LogPosition& end() const { return end_; }
  // Throws IoError if a call failed before.
  void require_sound() const;

 private:
  LogWriter(std::unique_ptr<WritableFile> file, std::string path, const LogName& name,
            const LogPosition& end);

  void add_frame(FrameKind kind, std::uint64_t version, std::span<const std::byte> body);
  void write_frames();
  template <typename F>
  void try_once(F&& f);

  std::unique_ptr<WritableFile> file_;
  std::string path_;
  LogName name_;
  LogPosition end_;      // behind what was appended
  LogPosition durable_;  // behind what was synced
  std::vector<std::byte> frames_;
  std::string failure_;
};

}  // namespace culmen::storage
