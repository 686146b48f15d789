#include "tools/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "culmen/error.h"
#include "tools/streams.h"

namespace culmen::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

[[noreturn]] void throw_io_error(const std::string& path, int error) {
  throw IoError(fmt::format("{}: cannot write: {}", path.empty() ? "standard output" : path,
                            std::generic_category().message(error)));
}

// Some file systems report a full disk only at close.
void check_stdout() {
  const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR) throw_io_error("", errno);
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
    if (file_ < 0) throw_io_error(path_, errno);
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
  if (file_ < 0) throw_io_error(path_, errno);
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
  if (!temporary_.empty()) throw_if_interrupted();
  const int error = write_all(file_, buffer_);
  if (error == EPIPE) throw BrokenPipe{};
  if (error != 0) throw_io_error(path_, error);
  buffer_.clear();
}

void Output::finish() {
  flush();
  if (path_.empty()) check_stdout();
  if (temporary_.empty()) return;
  const int file = std::exchange(file_, -1);
  if (::close(file) != 0) throw_io_error(path_, errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw_io_error(path_, errno);
  temporary_.clear();
}

}  // namespace culmen::tools
