#include "tools/output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "culmen/error.h"
#include "tools/streams.h"

namespace culmen::tools {
namespace {

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

}  // namespace

Output::Output(const std::string& path) : path_(path) {
  buffer_.reserve(kBufferBytes);
  if (path_.empty()) return;
  if (!io::is_pipe_or_device(path_)) guard_ = std::make_unique<InterruptGuard>();
  file_.emplace(path_);
}

void Output::write(std::string_view bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  buffer_.append(bytes);
}

void Output::flush() {
  if (guard_) throw_if_interrupted();
  const int error = file_ ? file_->append(buffer_) : write_all(STDOUT_FILENO, buffer_);
  if (error == EPIPE) throw BrokenPipe{};
  if (error != 0) throw_io_error(path_, error);
  buffer_.clear();
}

void Output::finish() {
  flush();
  if (file_)
    file_->commit();
  else
    check_stdout();
}

}  // namespace culmen::tools
