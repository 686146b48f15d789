#include "index/storage/log_writer.h"

#include <cstring>

#include "culmen/error.h"
#include "index/assert.h"
#include "index/storage/directory_files.h"

namespace culmen::storage {
namespace {

// Beyond this the memory of a large batch is not worth keeping for the next one.
constexpr std::size_t kMaxKeptBytes = std::size_t{4} << 20;

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
                     const LogPosition& end)
    : file_(std::move(file)), path_(std::move(path)), name_(name), end_(end), durable_(end) {}

LogWriter LogWriter::create(Directory& directory, const LogName& name, std::uint64_t version,
                            const Uuid& previous) {
  const LogHeader header = log_header(name, version, previous);
  auto file = directory.create(log_name(name.number));
  try {
    file->append(std::as_bytes(std::span(&header, 1)));
    file->sync();
  } catch (...) {
    remove_quietly(directory, log_name(name.number));
    throw;
  }
  return {std::move(file), directory.path_of(log_name(name.number)), name,
          LogPosition{sizeof header, header.checksum, version}};
}

LogWriter LogWriter::resume(Directory& directory, const LogName& name, const LogPosition& end,
                            std::uint64_t file_bytes) {
  auto file = directory.open_to_append(log_name(name.number));
  if (file_bytes > end.offset) {
    file->truncate(end.offset);
    file->sync();
  }
  return {std::move(file), directory.path_of(log_name(name.number)), name, end};
}

void LogWriter::require_sound() const {
  if (!failure_.empty())
    throw IoError("the writer of " + path_ +
                  " stopped after an error; open the index anew. The error was: " + failure_);
}

template <typename F>
void LogWriter::try_once(F&& f) {
  try {
    f();
  } catch (const IoError& error) {
    failure_ = error.what();
    throw;
  }
}

void LogWriter::add_frame(FrameKind kind, std::uint64_t version, std::span<const std::byte> body) {
  const std::size_t start = frames_.size();
  frames_.resize(start + whole_sectors(sizeof(FrameHeader) + body.size()));
  const auto rest = std::span(frames_).subspan(start + sizeof(FrameHeader));
  if (!body.empty()) std::memcpy(rest.data(), body.data(), body.size());
  const std::uint64_t seed = frame_seed(name_.uuid);
  FrameHeader header;
  header.kind = kind;
  header.version = version;
  header.body_bytes = body.size();
  header.body_checksum = checksum_of(rest, seed);
  header.previous = end_.chain;
  header.durable_through = durable_.version;
  header.checksum = checksum_of(header, seed);
  std::memcpy(frames_.data() + start, &header, sizeof header);
  end_ = {end_.offset + (frames_.size() - start), header.checksum, version};
}

void LogWriter::write_frames() {
  try_once([&] { file_->append(frames_); });
  if (frames_.capacity() > kMaxKeptBytes) frames_ = {};
  frames_.clear();
}

void LogWriter::append(std::span<const LogRecord> group) {
  require_sound();
  for (const LogRecord& record : group) {
    CULMEN_ASSERT(record.version == end_.version + 1);
    add_frame(FrameKind::batch, record.version, record.body);
  }
  write_frames();
}

void LogWriter::sync() {
  require_sound();
  if (durable_ == end_) return;
  try {
    try_once([&] { file_->sync(); });
  } catch (const IoError&) {
    // The system may still show what the disk does not have. Whoever reads the log next must not take it for
    // written: it was never acknowledged. Should this fail as well, then the first error says more.
    try {
      file_->truncate(durable_.offset);
    } catch (const IoError&) {
    }
    throw;
  }
  durable_ = end_;
}

void LogWriter::seal(const LogName& next) {
  CULMEN_ASSERT(durable_ == end_);  // a seal says of every frame before it that it was durable
  const SealBody body{next.number, next.uuid};
  add_frame(FrameKind::seal, end_.version, std::as_bytes(std::span(&body, 1)));
  write_frames();
  sync();
}

}  // namespace culmen::storage
