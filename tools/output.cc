#include "tools/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "culmen/error.h"

namespace culmen::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

[[noreturn]] void throw_io_error(const std::string& path, std::string_view doing) {
  const int code = errno;
  throw IoError(
      fmt::format("{}: cannot {}: {}", path.empty() ? "standard output" : path, doing, std::strerror(code)));
}

bool is_pipe_or_device(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

}  // namespace

Output::Output(const std::string& path) : path_(path) {
  buffer_.reserve(kBufferBytes);
  if (path_.empty()) {
    file_ = STDOUT_FILENO;
  } else if (is_pipe_or_device(path_)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) throw_io_error(path_, "write");
  } else {
    open_temporary();
  }
}

void Output::open_temporary() {
  if (fs::is_symlink(path_))
    path_ = fs::weakly_canonical(path_).string();  // replace the target, not the link
  const fs::path target(path_);
  temporary_ = target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  guard_ = std::make_unique<InterruptGuard>();
  file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) throw_io_error(path_, "write");
}

Output::~Output() {
  if (file_ >= 0 && file_ != STDOUT_FILENO) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void Output::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  buffer_.append(bytes);
}

void Output::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    if (!temporary_.empty()) throw_if_interrupted();
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw BrokenPipe{};
    if (written < 0) throw_io_error(path_, "write");
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void Output::finish() {
  flush();
  if (temporary_.empty()) return;
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) throw_io_error(path_, "write");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "write");
  temporary_.clear();
}

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) != 0;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

}  // namespace culmen::tools
