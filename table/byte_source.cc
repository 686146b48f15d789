#include "table/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "culmen/error.h"

namespace culmen::io {
namespace {

[[noreturn]] void throw_io_error(const std::string& action, const std::string& name, int error_number) {
  throw IoError("cannot " + action + " " + name + ": " + std::generic_category().message(error_number));
}

}  // namespace

std::size_t bytes_to_read(const ByteSource& source, std::size_t most) {
  constexpr std::uint64_t kFew = std::uint64_t{64} << 10;
  const std::optional<std::uint64_t> num_bytes = source.num_bytes();
  if (!num_bytes || *num_bytes >= most) return most;
  return static_cast<std::size_t>(std::min<std::uint64_t>(std::max(*num_bytes + 1, kFew), most));
}

std::size_t MemorySource::read(char* out, std::size_t num_bytes) {
  const std::size_t count = std::min(num_bytes, bytes_.size() - position_);
  if (count > 0) std::memcpy(out, bytes_.data() + position_, count);
  position_ += count;
  return count;
}

bool MemorySource::rewind() {
  position_ = 0;
  return true;
}

FileSource::FileSource(const std::string& path)
    : FileSource(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path) {}

std::unique_ptr<FileSource> FileSource::standard_input() {
  const int copy = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);  // a descriptor that we close
  return std::unique_ptr<FileSource>(new FileSource(copy, "standard input"));
}

FileSource::FileSource(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {
  if (descriptor_ < 0) throw_io_error("open", name_, errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || S_ISDIR(status.st_mode)) {
    const int error_number = S_ISDIR(status.st_mode) ? EISDIR : errno;
    ::close(descriptor_);
    throw_io_error("read", name_, error_number);
  }
  if (!S_ISREG(status.st_mode)) return;
  // Another process may already have read part of standard input.
  start_ = std::max<off_t>(::lseek(descriptor_, 0, SEEK_CUR), 0);
  size_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size - start_, 0));
}

FileSource::~FileSource() {
  ::close(descriptor_);
}

std::size_t FileSource::read(char* out, std::size_t num_bytes) {
  std::size_t count = 0;
  while (count < num_bytes) {
    const ssize_t got = ::read(descriptor_, out + count, num_bytes - count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io_error("read", name_, errno);
    if (got == 0) break;
    count += static_cast<std::size_t>(got);
  }
  position_ += count;
  return count;
}

bool FileSource::rewind() {
  if (!size_ || ::lseek(descriptor_, start_, SEEK_SET) < 0) return false;
  position_ = 0;
  return true;
}

std::optional<std::size_t> FileSource::read_available(char* out, std::size_t num_bytes,
                                                      std::chrono::milliseconds patience) {
  pollfd waiting{descriptor_, POLLIN, 0};
  const int num_ready = ::poll(&waiting, 1, static_cast<int>(patience.count()));
  if (num_ready == 0 || (num_ready < 0 && errno == EINTR))
    return std::nullopt;  // the caller checks for signals
  const ssize_t got = ::read(descriptor_, out, num_bytes);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  if (got < 0) throw_io_error("read", name_, errno);
  position_ += static_cast<std::size_t>(got);
  return static_cast<std::size_t>(got);
}

SampledSource::SampledSource(ByteSource& source, std::size_t num_bytes) : source_(source) {
  // The buffer grows with what is read: a source that does not know its length is often short.
  constexpr std::size_t kFirstBytes = std::size_t{1} << 14;
  const std::size_t most = bytes_to_read(source, num_bytes);
  std::size_t num_read = 0;
  while (!is_whole_ && num_read < most) {
    sample_.resize(std::min(most, std::max(kFirstBytes, 8 * num_read)));
    num_read += source_.read(sample_.data() + num_read, sample_.size() - num_read);
    is_whole_ = num_read < sample_.size();
  }
  sample_.resize(num_read);
}

SampledSource::SampledSource(ByteSource& pipe, std::size_t num_bytes, const std::function<void()>& on_wait,
                             const std::function<bool(std::string_view)>& is_enough)
    : source_(pipe), sample_(bytes_to_read(pipe, num_bytes), '\0') {
  std::size_t num_read = 0;
  while (!is_whole_ && num_read < sample_.size() && !is_enough({sample_.data(), num_read})) {
    const std::optional<std::size_t> got =
        source_.read_available(sample_.data() + num_read, sample_.size() - num_read, kPatience);
    is_whole_ = got == std::size_t{0};
    num_read += got.value_or(0);
    if (!got) on_wait();
  }
  sample_.resize(num_read);
}

bool SampledSource::has_two_lines(std::string_view text) {
  return std::ranges::count(text, '\n') >= 2;
}

std::size_t SampledSource::take_sample(char* out, std::size_t num_bytes) {
  const std::size_t count = std::min(num_bytes, sample_.size() - position_);
  if (count > 0) std::memcpy(out, sample_.data() + position_, count);
  position_ += count;
  return count;
}

std::size_t SampledSource::read(char* out, std::size_t num_bytes) {
  const std::size_t count = take_sample(out, num_bytes);
  return count == num_bytes ? count : count + source_.read(out + count, num_bytes - count);
}

std::optional<std::size_t> SampledSource::read_available(char* out, std::size_t num_bytes,
                                                         std::chrono::milliseconds patience) {
  const std::size_t count = take_sample(out, num_bytes);
  return count > 0 ? count : source_.read_available(out, num_bytes, patience);
}

bool SampledSource::rewind() {
  if (!source_.rewind()) return false;
  position_ = sample_.size();  // the source has it again
  return true;
}

std::size_t RecordedSource::read(char* out, std::size_t num_bytes) {
  const std::size_t num_kept = std::min(num_bytes, bytes_.size() - position_);
  if (num_kept > 0) std::memcpy(out, bytes_.data() + position_, num_kept);
  const std::size_t num_fresh = num_kept < num_bytes ? pipe_.read(out + num_kept, num_bytes - num_kept) : 0;
  bytes_.insert(bytes_.end(), out + num_kept, out + num_kept + num_fresh);
  position_ += num_kept + num_fresh;
  return num_kept + num_fresh;
}

bool RecordedSource::rewind() {
  position_ = 0;
  return true;
}

}  // namespace culmen::io
