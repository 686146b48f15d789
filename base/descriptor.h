// Descriptors of files that are written. If a standard stream is closed, the next file that the process opens gets
// its number, and whatever the host program prints is written into that file.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace culmen {

// Moves a descriptor that has the number of a standard stream to a higher number. Returns a negative `fd` as it is;
// if the move fails, closes `fd` and returns -1 with errno set.
inline int above_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

// Waits if the file is non-blocking. Returns 0, or the errno of the write that failed.
[[nodiscard]] inline int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t num_written = ::write(fd, bytes.data(), bytes.size());
    if (num_written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(num_written));
    } else if (errno == EAGAIN) {
      pollfd waiting{fd, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace culmen
