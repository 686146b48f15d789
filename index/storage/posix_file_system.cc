// FileSystem on POSIX calls. Directories stay open and names are resolved inside them (openat), so moving or replacing
// a directory cannot mix two indexes. A name that is a symbolic link is never followed.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "culmen/error.h"
#include "index/storage/file_system.h"

namespace culmen::storage {
namespace {

// The usual modes. The umask or an access control list of the directory restricts them.
constexpr mode_t kFileMode = 0666;
constexpr mode_t kDirectoryMode = 0777;
// Bytes per system call. The kernel's own limit is just below 2 GiB.
constexpr std::size_t kMaxTransferBytes = std::size_t{1} << 30;

[[noreturn]] void throw_system_error(const std::string& doing, const std::string& path, int error) {
  throw IoError("cannot " + doing + " " + path + ": " + std::generic_category().message(error));
}

// Calls f again while a signal interrupts it.
template <typename F>
auto uninterrupted(F&& f) {
  auto result = f();
  while (result == -1 && errno == EINTR) result = f();
  return result;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);  // an error here concerns only unsynced data
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct stat status_of(const Descriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_system_error("examine", path, errno);
  return status;
}

// O_NONBLOCK: opening a pipe or a device must not wait for its other end.
Descriptor open_regular(int directory, const std::string& name, int flags, const std::string& path) {
  Descriptor file(above_standard_streams(uninterrupted([&] {
    return ::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                    kFileMode);
  })));
  if (file.get() < 0 && errno == ELOOP) throw FormatError(path + " is a symbolic link, not a regular file");
  if (file.get() < 0) throw_system_error("open", path, errno);
  if (!S_ISREG(status_of(file, path).st_mode)) throw FormatError(path + " is not a regular file");
  return file;
}

// Some read-only file systems reject sync. They have nothing to sync.
bool is_read_only(const Descriptor& file) {
  struct statvfs status {};
  return ::fstatvfs(file.get(), &status) == 0 && (status.f_flag & ST_RDONLY) != 0;
}

// Syncs the data and the metadata that reading it requires: the size, but not the times.
void sync_file(const Descriptor& file, const std::string& path) {
  if (uninterrupted([&] { return ::fdatasync(file.get()); }) == 0) return;
  const int error = errno;
  if (!is_read_only(file)) throw_system_error("sync", path, error);
}

class PosixReadableFile : public ReadableFile {
 public:
  PosixReadableFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {
    PosixReadableFile::refresh();
  }

  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return size_; }
  void refresh() override { size_ = static_cast<std::uint64_t>(status_of(file_, path_).st_size); }
  void sync() override { sync_file(file_, path_); }
  void will_need(std::uint64_t offset, std::uint64_t bytes) const override {
    ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
  }

  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got = uninterrupted([&] {
        return ::pread(file_.get(), out.data(), std::min(out.size(), kMaxTransferBytes),
                       static_cast<off_t>(offset));
      });
      if (got < 0) throw_system_error("read", path_ + " at byte " + std::to_string(offset), errno);
      if (got == 0)
        throw FormatError(path_ + " ends at byte " + std::to_string(offset) +
                          ": it was truncated while being read");
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }

  std::uint64_t data_from(std::uint64_t offset) const override {
    const off_t data = ::lseek(file_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (data < 0) return errno == ENXIO ? std::max(offset, size_) : offset;  // else: no support for holes
    return std::min(static_cast<std::uint64_t>(data), std::max(offset, size_));
  }

 private:
  Descriptor file_;
  std::string path_;
  std::uint64_t size_ = 0;
};

class PosixWritableFile : public WritableFile {
 public:
  PosixWritableFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = uninterrupted([&] {
        return ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), kMaxTransferBytes),
                        static_cast<off_t>(offset));
      });
      if (put < 0) throw_system_error("write to", path_, errno);
      offset += static_cast<std::uint64_t>(put);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
  }

  void truncate(std::uint64_t size) override {
    if (uninterrupted([&] { return ::ftruncate(file_.get(), static_cast<off_t>(size)); }) != 0)
      throw_system_error("truncate", path_, errno);
  }

  void sync() override { sync_file(file_, path_); }

 private:
  Descriptor file_;
  std::string path_;
};

class PosixLock : public DirectoryLock {
 public:
  explicit PosixLock(Descriptor file) : file_(std::move(file)) {}

 private:
  Descriptor file_;  // closing it releases the lock
};

std::string lock_owner(const Descriptor& file) {
  char text[32];
  const ssize_t size = ::pread(file.get(), text, sizeof text, 0);
  const char* end =
      std::find_if_not(text, text + std::max<ssize_t>(size, 0), [](char c) { return c >= '0' && c <= '9'; });
  return end == text ? "another process"
                     : "process " + std::string(text, static_cast<std::size_t>(end - text));
}

// For the error message of the next process that wants the lock. Ignores errors, such as a full disk.
void write_owner(const Descriptor& file) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) == 0) static_cast<void>(::pwrite(file.get(), pid.data(), pid.size(), 0) > 0);
}

class PosixDirectory : public Directory {
 public:
  PosixDirectory(Descriptor directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  bool is_at_its_path() const override {
    const struct stat here = status_of(directory_, path_);
    struct stat there {};
    return ::stat(path_.c_str(), &there) == 0 && there.st_dev == here.st_dev && there.st_ino == here.st_ino;
  }

  std::unique_ptr<ReadableFile> open(const std::string& name) const override {
    return std::make_unique<PosixReadableFile>(open_regular(directory_.get(), name, O_RDONLY, path_of(name)),
                                               path_of(name));
  }

  std::unique_ptr<WritableFile> create(const std::string& name) override {
    Descriptor file = open_regular(directory_.get(), name, O_WRONLY | O_CREAT | O_EXCL, path_of(name));
    return std::make_unique<PosixWritableFile>(std::move(file), path_of(name));
  }

  std::unique_ptr<WritableFile> open_to_write(const std::string& name) override {
    Descriptor file = open_regular(directory_.get(), name, O_WRONLY, path_of(name));
    return std::make_unique<PosixWritableFile>(std::move(file), path_of(name));
  }

  std::unique_ptr<DirectoryLock> lock(const std::string& name) override {
    Descriptor file = open_regular(directory_.get(), name, O_RDWR | O_CREAT, path_of(name));
    if (uninterrupted([&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno != EWOULDBLOCK) throw_system_error("lock", path_of(name), errno);
      throw IoError(path_ + " is being written by " + lock_owner(file));
    }
    // Its last owner may have removed the name between our open and flock. Then no other process sees our lock.
    if (status_of(file, path_of(name)).st_nlink == 0)
      throw IoError(path_ + " is being written by another process");
    write_owner(file);
    return std::make_unique<PosixLock>(std::move(file));
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::renameat(directory_.get(), from.c_str(), directory_.get(), to.c_str()) != 0)
      throw_system_error("rename " + path_of(from) + " to", path_of(to), errno);
  }

  void remove(const std::string& name) override {
    if (::unlinkat(directory_.get(), name.c_str(), 0) != 0)
      throw_system_error("remove", path_of(name), errno);
  }

  std::vector<std::string> list() const override {
    Descriptor fresh(
        ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // with its own position
    if (fresh.get() < 0) throw_system_error("list", path_, errno);
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fresh.get()), ::closedir);
    if (stream == nullptr) throw_system_error("list", path_, errno);
    fresh.release();
    std::vector<std::string> names;
    for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0)
      names.emplace_back(entry->d_name);
    if (errno != 0) throw_system_error("list", path_, errno);
    std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
    std::sort(names.begin(), names.end());
    return names;
  }

  void sync() override { sync_directory(directory_); }

  void sync_parent() override {
    const Descriptor parent(::openat(directory_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (parent.get() < 0) throw_system_error("open the parent of", path_, errno);
    sync_directory(parent);
  }

 private:
  void sync_directory(const Descriptor& directory) const {
    if (uninterrupted([&] { return ::fsync(directory.get()); }) == 0) return;
    const int error = errno;
    if (!is_read_only(directory)) throw_system_error("sync directory", path_, error);
  }

  Descriptor directory_;
  std::string path_;
};

class PosixFileSystem : public FileSystem {
 public:
  bool make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), kDirectoryMode) != 0) {
      if (errno == EEXIST) return false;
      throw_system_error("create directory", path, errno);
    }
    return true;
  }

  void remove_directory(const std::string& path) override {
    if (::rmdir(path.c_str()) != 0) throw_system_error("remove directory", path, errno);
  }

  std::unique_ptr<Directory> open_directory(const std::string& path) override {
    Descriptor directory(
        uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (directory.get() < 0 && errno == ENOTDIR)
      throw NoIndex(path + " holds no index: it is not a directory");
    if (directory.get() < 0 && errno == ENOENT) throw NoIndex("there is no directory " + path);
    if (directory.get() < 0) throw_system_error("open directory", path, errno);
    return std::make_unique<PosixDirectory>(std::move(directory), path);
  }

  Uuid random_uuid() override {
    Uuid uuid;
    if (uninterrupted([&] { return ::getrandom(uuid.data(), uuid.size(), 0); }) !=
        static_cast<ssize_t>(uuid.size()))
      throw_system_error("read", "the system's random numbers", errno);
    return uuid;
  }
};

}  // namespace

FileSystem& posix() {
  static PosixFileSystem file_system;
  return file_system;
}

}  // namespace culmen::storage
