// Appends frames to one log, over zeros that were written in advance.
//
// The first failed write or sync ends its use: the contents of the file are unknown until the next open reads them.
// Nothing is retried, because a second sync may succeed although the first one has lost data.
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
  // Creates a log. Its header is durable on return, its name is not.
  static LogWriter create(Directory& directory, const LogName& name, std::uint64_t version,
                          const Uuid& previous);
  // Opens a log that is durable up to `end`. If the bytes after it are torn, not zero, truncates the file durably.
  static LogWriter resume(Directory& directory, const LogName& name, const LogPosition& end,
                          std::uint64_t file_bytes, bool is_torn);

  // Appends one frame each, in one write. Versions continue from the last one without gaps. After std::bad_alloc the
  // log is unchanged.
  void append(std::span<const LogRecord> group);
  // Appended frames are durable on return.
  void sync();
  // Appends the last frame, durable on return. All frames before must be synced.
  void seal(const LogName& next);
  // Before closing: appended frames are durable on return, and the file ends after them.
  void finish();

  const LogName& name() const { return name_; }
  const LogPosition& end() const { return end_; }
  // Throws IoError if a call failed before.
  void require_sound() const;

 private:
  LogWriter(std::unique_ptr<WritableFile> file, std::string path, const LogName& name, const LogPosition& end,
            std::uint64_t file_bytes);

  std::uint64_t reserve_after(std::uint64_t frame_bytes) const;
  void add_frame(LogFrameKind kind, std::uint64_t version, std::span<const std::byte> body,
                 std::size_t place);
  void write_frames(std::uint64_t room_bytes);
  void sync_file();
  // After a failed call: the next reader of the log must not see batches that were reported as failed.
  void cut_off(std::uint64_t offset);
  template <typename F>
  void try_once(F&& f);

  std::unique_ptr<WritableFile> file_;
  std::string path_;
  LogName name_;
  LogPosition end_;           // of the appended frames
  LogPosition durable_;       // of the synced ones
  std::uint64_t file_bytes_;  // zeros from end_ on
  std::vector<std::byte> frames_;
  bool is_sound_ = true;
  std::string failure_;
};

}  // namespace culmen::storage
