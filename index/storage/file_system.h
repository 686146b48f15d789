// The file system as storage sees it. Tests implement the interface to simulate power cuts and failing disks.
//
// Calls throw IoError with the path and the system's reason. Files are named relative to their directory, so nothing
// outside it can be reached. Const calls are thread-safe.
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
  virtual std::uint64_t size() const = 0;  // as of open() or the last refresh()
  // Updates the size of a file that another process may be appending to.
  virtual void refresh() = 0;
  // Everything that can be read now is durable on return, whoever wrote it.
  virtual void sync() = 0;
  // Fills `out` with the bytes from `offset` on. Throws if the file ends before.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // The first byte from `offset` on that may be non-zero, or size(). The bytes between are a hole, which takes no disk
  // space and may be terabytes long.
  virtual std::uint64_t data_from(std::uint64_t offset) const { return offset; }
  // A hint: these bytes may be read soon.
  virtual void will_need(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) const {}
};

class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Overwrites the bytes from `offset` on and extends the file if necessary.
  virtual void write(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  // Drops everything after the first `size` bytes. Durable after the next sync.
  virtual void truncate(std::uint64_t size) = 0;
  // Durable on return. Never call it again after a failure: the bytes may have left the system's cache.
  virtual void sync() = 0;
};

// Held until it is destroyed or its process ends.
class DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
};

class Directory {
 public:
  virtual ~Directory() = default;
  virtual const std::string& path() const = 0;
  std::string path_of(const std::string& name) const { return path() + "/" + name; }
  // Returns false if the path now leads to another directory or to none.
  virtual bool is_at_its_path() const { return true; }

  // Throws FormatError if it is not a regular file.
  virtual std::unique_ptr<ReadableFile> open(const std::string& name) const = 0;
  // Creates a file with the permissions that the umask leaves. Throws if the name exists.
  virtual std::unique_ptr<WritableFile> create(const std::string& name) = 0;
  // An existing file.
  virtual std::unique_ptr<WritableFile> open_to_write(const std::string& name) = 0;
  // Throws IoError naming the process that holds the lock, if another does.
  virtual std::unique_ptr<DirectoryLock> lock(const std::string& name) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& name) = 0;
  virtual std::vector<std::string> list() const = 0;  // sorted, without . and ..
  virtual void sync() = 0;                            // names created, renamed and removed so far are durable
  virtual void sync_parent() = 0;                     // the directory's own name is durable
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Creates a directory with the permissions that the umask leaves. Returns false if the name exists.
  virtual bool make_directory(const std::string& path) = 0;
  virtual void remove_directory(const std::string& path) = 0;
  virtual std::unique_ptr<Directory> open_directory(const std::string& path) = 0;
  virtual Uuid random_uuid() = 0;
};

// The operating system's.
FileSystem& posix();

}  // namespace culmen::storage
