// What storage asks of the operating system, behind an interface: tests lose power and break disks behind it.
//
// Calls throw IoError naming the path and the system's reason. Files are named inside their directory, never
// by path, so nothing outside it can be reached. Const calls may be made from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/uuid.h"

namespace culmen::storage {

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual const std::string& path() const = 0;
  virtual std::uint64_t size() const = 0;  // when it was opened or last looked at
  // Looks at the size anew, of a file that another process may be appending to.
  virtual void refresh() = 0;
  // What can be read now is durable on return, whoever wrote it.
  virtual void sync() = 0;
  // Fills `out` with the bytes from `offset` on; a file that ends before that is an error.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // The first byte from `offset` on that may be other than 0, size() if there is none: what lies between is a
  // hole, which takes no room on the disk and may be terabytes long.
  virtual std::uint64_t data_from(std::uint64_t offset) const { return offset; }
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Over what stands at `offset`, and on from the end of the file.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Gives up what stands behind the first `size` bytes. Durable after the next sync.
  virtual void truncate(std::uint64_t size) = 0;
  // Durable on return. After a failure the bytes may be gone from the system's cache: never call it again.
  virtual void sync() = 0;
};

// Held until destroyed, at the latest until its process ends.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class Directory {
 public:
  virtual ~Directory() = default;
  virtual const std::string& path() const = 0;
  std::string path_of(const std::string& name) const { return path() + "/" + name; }
  // Whether the path still leads here, and not to another directory that was put in its place, or to none.
  virtual bool is_at_its_path() const { return true; }

  // FormatError if it is anything but a regular file.
  virtual std::unique_ptr<ReadableFile> open(const std::string& name) const = 0;
  // A new file, with the permissions that the umask leaves. An error if the name is taken.
  virtual std::unique_ptr<WritableFile> create(const std::string& name) = 0;
  // A file that is there.
  virtual std::unique_ptr<WritableFile> open_to_write(const std::string& name) = 0;
  // IoError naming the process that holds it, if another does.
  virtual std::unique_ptr<DirectoryLock> lock(const std::string& name) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& name) = 0;
  virtual std::vector<std::string> list() const = 0;  // sorted, without . and ..
  virtual void sync() = 0;                            // names made, renamed and removed so far are durable
  virtual void sync_parent() = 0;                     // the directory's own name is durable
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // With the permissions that the umask leaves. False: something of that name is there already.
  virtual bool make_directory(const std::string& path) = 0;
  virtual void remove_directory(const std::string& path) = 0;
  virtual std::unique_ptr<Directory> open_directory(const std::string& path) = 0;
  virtual Uuid random_uuid() = 0;
};

// The real one.
FileSystem& posix();

}  // namespace culmen::storage
