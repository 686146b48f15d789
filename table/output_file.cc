#include "table/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "culmen/error.h"

namespace culmen::io {
namespace {

[[noreturn]] void throw_io_error(const std::string& path, const char* what, int error) {
  throw IoError("cannot " + std::string(what) + " " + path + ": " + std::generic_category().message(error));
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path_ == "-") {
    path_ = "standard output";
    descriptor_ = STDOUT_FILENO;
  } else {
    open_temporary();
  }
}

OutputFile::~OutputFile() {
  if (temporary_path_.empty()) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  ::unlink(temporary_path_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t num_written = ::write(descriptor_, bytes.data(), bytes.size());
    if (num_written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(num_written));
    } else if (errno != EINTR) {
      throw_io_error(path_, "write", errno);
    }
  }
}

void OutputFile::commit() {
  if (temporary_path_.empty()) return;
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_io_error(path_, "write", errno);
  if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "write", errno);
  temporary_path_.clear();
}

// Names are numbered within the process, because two threads may write the same path. Skips files that an earlier
// process with the same number left.
void OutputFile::open_temporary() {
  static std::atomic<std::uint64_t> next_number{0};
  do {
    temporary_path_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(next_number++) + ".tmp";
    descriptor_ = above_standard_streams(
        ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) throw_io_error(path_, "create", errno);
}

}  // namespace culmen::io
