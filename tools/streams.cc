#include "tools/streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "base/descriptor.h"
#include "culmen/error.h"

namespace culmen::tools {
namespace {

bool is_closed(int file) {
  return ::fcntl(file, F_GETFD) < 0 && errno == EBADF;
}

}  // namespace

void prepare_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // sent for a file at the limit of ulimit -f
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (!is_closed(stream)) continue;
    // open() returns the lowest free number, which is that of the stream.
    if (::open("/dev/null", O_WRONLY) < 0)
      throw IoError("cannot open /dev/null: " + std::generic_category().message(errno));
  }
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) != 0;
}
bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) != 0;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

std::size_t stdout_width() {
  if (!stdout_is_terminal()) return 0;
  if (const char* const columns = std::getenv("COLUMNS")) {
    const std::string_view text = columns;
    std::size_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc{} && end == text.data() + text.size() && width > 0) return width;
  }
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void write_message(std::string_view text) noexcept {
  static_cast<void>(write_all(STDERR_FILENO, text));
}

}  // namespace culmen::tools
