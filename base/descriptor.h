// Descriptors of files that are written. If a standard stream is closed, the next file that the process opens gets
// its number, and whatever the host program prints is written into that file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace culmen
