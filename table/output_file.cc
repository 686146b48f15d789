#include "table/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "culmen/error.h"

namespace culmen::io {
namespace {

[[noreturn]] void throw_io_error(const std::string& path, const char* what, int error) {
  throw IoError("cannot " + std::string(what) + " " + path + ": " + std::generic_category().message(error));
}

// Follows links also to a file that does not exist yet.
std::string behind_links(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the kernel
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(target, error); ++i)
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  return target.string();
}

}  // namespace

bool is_pipe_or_device(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  if (path_ == "-") {
    path_ = "standard output";
    descriptor_ = STDOUT_FILENO;
  } else if (is_pipe_or_device(path_)) {
    descriptor_ = above_standard_streams(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (descriptor_ < 0) throw_io_error(path_, "write", errno);
  } else {
    open_temporary();
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0 && descriptor_ != STDOUT_FILENO) ::close(descriptor_);
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  if (const int error = append(bytes); error != 0) throw_io_error(path_, "write", error);
}

int OutputFile::append(std::string_view bytes) {
  return write_all(descriptor_, bytes);
}

void OutputFile::commit() {
  if (descriptor_ == STDOUT_FILENO) return;
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_io_error(path_, "write", errno);
  if (temporary_path_.empty()) return;
  if (std::rename(temporary_path_.c_str(), target_path_.c_str()) != 0) throw_io_error(path_, "write", errno);
  temporary_path_.clear();
}

// Names are numbered within the process, because two threads may write the same path. Skips files that an earlier
// process with the same number left.
void OutputFile::open_temporary() {
  static std::atomic<std::uint64_t> next_number{0};
  target_path_ = behind_links(path_);
  struct stat old {};
  const bool replaces = ::stat(target_path_.c_str(), &old) == 0;
  const mode_t mode = replaces ? old.st_mode & 0777 : 0666;
  do {
    temporary_path_ =
        target_path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(next_number++) + ".tmp";
    descriptor_ = above_standard_streams(
        ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_path_.clear();
    throw_io_error(path_, "create", error);
  }
  if (replaces) ::fchmod(descriptor_, mode);  // the umask may have removed bits
}

}  // namespace culmen::io
