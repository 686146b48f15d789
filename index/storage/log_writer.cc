#include "index/storage/log_writer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/assert.h"
#include "culmen/error.h"
#include "index/storage/directory_files.h"

namespace culmen::storage {
namespace {

// A buffer larger than this is freed after use.
constexpr std::size_t kMaxKeptBytes = std::size_t{4} << 20;
// After small frames the writer reserves zeros, half as many as the log has bytes. Most later frames then leave the
// size of the file unchanged, so a sync writes only data. With larger frames the metadata hardly matters.
constexpr std::size_t kMaxReservingBytes = std::size_t{16} << 10;
constexpr std::uint64_t kMaxReservedBytes = std::uint64_t{256} << 10;

LogHeader log_header(const LogName& name, std::uint64_t version, const Uuid& previous) {
  LogHeader header;
  header.number = name.number;
  header.version = version;
  header.uuid = name.uuid;
  header.previous = previous;
  header.checksum = checksum_of(header);
  return header;
}

}  // namespace

LogWriter::LogWriter(std::unique_ptr<WritableFile> file, std::string path, const LogName& name,
                     const LogPosition& end, std::uint64_t file_bytes)
    : file_(std::move(file)),
      path_(std::move(path)),
      name_(name),
      end_(end),
      durable_(end),
      file_bytes_(file_bytes) {}

LogWriter LogWriter::create(Directory& directory, const LogName& name, std::uint64_t version,
                            const Uuid& previous) {
  const LogHeader header = log_header(name, version, previous);
  auto file = directory.create(log_name(name.number));
  try {
    file->write(0, std::as_bytes(std::span(&header, 1)));
    file->sync();
  } catch (...) {
    remove_quietly(directory, log_name(name.number));
    throw;
  }
  return {std::move(file), directory.path_of(log_name(name.number)), name,
          LogPosition{sizeof header, header.checksum, version}, sizeof header};
}

LogWriter LogWriter::resume(Directory& directory, const LogName& name, const LogPosition& end,
                            std::uint64_t file_bytes, bool is_torn) {
  auto file = directory.open_to_write(log_name(name.number));
  if (is_torn) {
    file->truncate(end.offset);
    file->sync();
  }
  return {std::move(file), directory.path_of(log_name(name.number)), name, end,
          is_torn ? end.offset : file_bytes};
}

void LogWriter::require_sound() const {
  if (!is_sound_)
    throw IoError("the writer of " + path_ +
                  " stopped after an error; open the index again. The error was: " + failure_);
}

template <typename F>
void LogWriter::try_once(F&& f) {
  is_sound_ = false;
  try {
    f();
  } catch (const IoError& error) {
    failure_ = error.what();
    throw;
  }
  is_sound_ = true;
}

std::uint64_t LogWriter::reserve_after(std::uint64_t frame_bytes) const {
  const std::uint64_t end = end_.offset + frame_bytes;
  if (end <= file_bytes_ || frame_bytes > kMaxReservingBytes) return 0;
  return whole_sectors(std::min(end / 2, kMaxReservedBytes));
}

void LogWriter::add_frame(LogFrameKind kind, std::uint64_t version, std::span<const std::byte> body,
                          std::size_t place) {
  const std::size_t start = frames_.size();
  frames_.resize(start + whole_sectors(sizeof(LogFrameHeader) + body.size()));
  const auto rest = std::span(frames_).subspan(start + sizeof(LogFrameHeader));
  if (!body.empty()) std::memcpy(rest.data(), body.data(), body.size());
  const std::uint64_t seed = frame_seed(name_.uuid);
  LogFrameHeader header;
  header.kind = kind;
  if (place <= std::numeric_limits<std::uint16_t>::max()) header.place = static_cast<std::uint16_t>(place);
  header.version = version;
  header.body_bytes = body.size();
  header.body_checksum = checksum_of(rest, seed);
  header.previous = end_.chain;
  header.durable_through = durable_.version;
  header.checksum = checksum_of(header, seed);
  std::memcpy(frames_.data() + start, &header, sizeof header);
  end_ = {end_.offset + (frames_.size() - start), header.checksum, version};
}

void LogWriter::write_frames(std::uint64_t reserved_bytes) {
  const std::uint64_t start = end_.offset - frames_.size();
  frames_.resize(frames_.size() + reserved_bytes);
  try {
    try_once([&] { file_->write(start, frames_); });
  } catch (const IoError&) {
    cut_off(start);  // a full disk may have written some whole frames
    throw;
  }
  file_bytes_ = std::max(file_bytes_, start + frames_.size());
  if (frames_.capacity() > kMaxKeptBytes) frames_ = {};
  frames_.clear();
}

void LogWriter::cut_off(std::uint64_t offset) {
  try {
    file_->truncate(offset);
    file_->sync();
  } catch (const IoError&) {  // the caller reports the first error
  }
}

void LogWriter::append(std::span<const LogRecord> group) {
  std::uint64_t bytes = 0;
  for (const LogRecord& record : group) bytes += whole_sectors(sizeof(LogFrameHeader) + record.body.size());
  require_sound();
  const std::uint64_t reserved_bytes = reserve_after(bytes);
  frames_.reserve(bytes + reserved_bytes);  // nothing below allocates
  std::size_t place = 0;
  for (const LogRecord& record : group) {
    CULMEN_ASSERT(record.version == end_.version + 1);
    add_frame(LogFrameKind::batch, record.version, record.body, ++place);
  }
  write_frames(reserved_bytes);
}

void LogWriter::sync() {
  require_sound();
  if (durable_ != end_) sync_file();
}

void LogWriter::sync_file() {
  try {
    try_once([&] { file_->sync(); });
  } catch (const IoError&) {
    cut_off(durable_.offset);  // the page cache may still show what the disk does not have
    throw;
  }
  durable_ = end_;
}

void LogWriter::seal(const LogName& next) {
  CULMEN_ASSERT(durable_ == end_);  // a seal implies that every frame before it was durable
  require_sound();
  const SealBody body{next.number, next.uuid};
  frames_.reserve(kSectorBytes);
  constexpr std::size_t kUnknownPlace = 0;  // all before it is durable, which says more
  add_frame(LogFrameKind::seal, end_.version, std::as_bytes(std::span(&body, 1)), kUnknownPlace);
  write_frames(0);
  sync();
}

void LogWriter::finish() {
  require_sound();
  if (file_bytes_ == end_.offset) return sync();
  try_once([&] { file_->truncate(end_.offset); });
  file_bytes_ = end_.offset;
  sync_file();
}

}  // namespace culmen::storage
