// Appends frames to one log, into zeros that were written before where there are some.
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
  // A log that is there and durable up to `end`. What stands behind is zero, or torn: then it is cut off,
  // durably.
  static LogWriter resume(Directory& directory, const LogName& name, const LogPosition& end,
                          std::uint64_t file_bytes, bool is_torn);

  // One frame each, in one write. Versions go on from the last one without a gap. After std::bad_alloc
  // nothing has happened.
  void append(std::span<const LogRecord> group);
  // What was appended is durable on return.
  void sync();
  // The last frame, durable on return. All that stands before it has been synced.
  void seal(const LogName& next);
  // What was appended is durable on return, and nothing stands behind it: for a log that is to be closed.
  void finish();

  const LogName& name() const { return name_; }
  const LogPosition& end() const { return end_; }
  // Throws IoError if a call failed before.
  void require_sound() const;

 private:
  LogWriter(std::unique_ptr<WritableFile> file, std::string path, const LogName& name, const LogPosition& end,
            std::uint64_t file_bytes);

  std::uint64_t room_behind(std::uint64_t frame_bytes) const;
  void add_frame(LogFrameKind kind, std::uint64_t version, std::span<const std::byte> body);
  void write_frames(std::uint64_t room_bytes);
  void sync_file();
  // After a failed call: whoever reads the log next must not take for written what was reported as failed.
  void cut_off(std::uint64_t offset);
  template <typename F>
  void try_once(F&& f);

  std::unique_ptr<WritableFile> file_;
  std::string path_;
  LogName name_;
  LogPosition end_;           // behind what was appended
  LogPosition durable_;       // behind what was synced
  std::uint64_t file_bytes_;  // from the end on all of them are zero
  std::vector<std::byte> frames_;
  bool is_sound_ = true;
  std::string failure_;
};

}  // namespace culmen::storage
