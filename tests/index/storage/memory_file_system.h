// A file system in memory that tracks which bytes and names are durable. Tests make its calls fail, stop it at any call
// as a power cut would, or make it ignore one sync; crash_states.h enumerates the possible states of the disk
// afterwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/storage/file_system.h"
#include "index/storage/log_format.h"

namespace culmen::storage {

using Bytes = std::vector<std::byte>;
using Files = std::map<std::string, Bytes>;  // by their names

// A write since the last sync; without bytes, a truncation at `offset`.
struct MemoryWrite {
  std::size_t offset = 0;
  Bytes bytes;
};

struct MemoryFile {
  Bytes bytes;    // as running programs read it
  Bytes durable;  // certainly on disk
  std::vector<MemoryWrite> unsynced;
  std::vector<MemoryWrite> lost;  // by a failed sync: still readable, but no later sync makes them durable

  void write(std::size_t offset, std::span<const std::byte> added) {
    unsynced.push_back({offset, Bytes(added.begin(), added.end())});
    bytes.resize(std::max(bytes.size(), offset + added.size()));
    std::copy(added.begin(), added.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void truncate(std::size_t size) {
    unsynced.push_back({size, {}});
    bytes.resize(size);
    std::erase_if(lost, [size](const MemoryWrite& write) { return write.offset >= size; });
  }
  void sync() {
    durable = bytes;
    for (const MemoryWrite& write : lost)
      std::fill_n(durable.begin() + static_cast<std::ptrdiff_t>(write.offset), write.bytes.size(),
                  std::byte{0});
    unsynced.clear();
  }
};

// A log without the preallocated zeros after its last frame.
inline Bytes without_room(Bytes log) {
  while (log.size() >= kSectorBytes && std::all_of(log.end() - kSectorBytes, log.end(),
                                                   [](std::byte byte) { return byte == std::byte{0}; }))
    log.resize(log.size() - kSectorBytes);
  return log;
}

// A name created, renamed or removed in a directory since its last sync.
struct NameChange {
  std::string removed;               // empty: none
  std::string added;                 // empty: none
  std::shared_ptr<MemoryFile> file;  // that `added` names
};

using NameMap = std::map<std::string, std::shared_ptr<MemoryFile>>;

struct MemoryDirectoryState {
  NameMap names;
  NameMap durable_names;
  std::vector<NameChange> pending;
  bool durable = false;  // its own name
  bool locked = false;

  void apply(NameMap& map, const NameChange& change) const {
    if (!change.removed.empty()) map.erase(change.removed);
    if (!change.added.empty()) map[change.added] = change.file;
  }
  void change(NameChange change) {
    apply(names, change);
    pending.push_back(std::move(change));
  }
};

// Thrown by the call at which the power fails, and by all later ones.
struct PowerCut {};

enum class FaultKind {
  none,
  io_error,     // the call does nothing and returns EIO; a sync loses the writes
  no_space,     // the call does nothing and returns ENOSPC
  short_write,  // half of the bytes are written, then ENOSPC
  last_byte,    // all of the bytes but the last one
  power_cut,    // this call and all later ones do nothing
};

struct FaultPlan {
  FaultKind kind = FaultKind::none;
  std::uint64_t first_call = 0;  // counted from 0
  bool persistent = false;       // all later calls fail too
};

class MemoryFileSystem : public FileSystem {
 public:
  FaultPlan plan;
  std::uint64_t num_calls = 0;
  std::uint8_t next_uuid = 1;
  std::map<std::string, std::shared_ptr<MemoryDirectoryState>> directories;

  std::function<void()> before_call;            // sees the state that a power cut at this call leaves
  std::uint64_t num_changes = 0;                // calls that changed anything, syncs among them
  std::optional<std::uint64_t> forgotten_sync;  // the one, counted from 0, that does nothing and succeeds
  struct Sync {
    std::string of;
    std::uint64_t call;
  };
  std::vector<Sync> syncs;  // all so far
  // Programs still read what a failed sync lost, and no later sync makes it durable.
  bool failed_sync_keeps_cache = false;

  // Creates `path` with these files, all durable.
  void put(const std::string& path, const std::map<std::string, Bytes>& files) {
    auto state = std::make_shared<MemoryDirectoryState>();
    for (const auto& [name, bytes] : files)
      state->names[name] = std::make_shared<MemoryFile>(MemoryFile{bytes, bytes, {}, {}});
    state->durable_names = state->names;
    state->durable = true;
    directories[path] = std::move(state);
  }

  std::map<std::string, Bytes> files(const std::string& path) const {
    std::map<std::string, Bytes> files;
    for (const auto& [name, file] : directories.at(path)->names) files[name] = file->bytes;
    return files;
  }

  bool make_directory(const std::string& path) override {
    count_call("create directory " + path);
    ++num_changes;
    return directories.try_emplace(path, std::make_shared<MemoryDirectoryState>()).second;
  }
  void remove_directory(const std::string& path) override {
    count_call("remove directory " + path);
    if (!directories.at(path)->names.empty())
      throw IoError("cannot remove directory " + path + ": not empty");
    directories.erase(path);
  }
  std::unique_ptr<Directory> open_directory(const std::string& path) override;
  Uuid random_uuid() override {
    count_call("random numbers");
    Uuid uuid = {};
    uuid.back() = static_cast<std::byte>(next_uuid++);
    return uuid;
  }

  // Whether the next call, a write, is cut short.
  bool count_call(const std::string& doing) {
    if (before_call) before_call();
    const std::uint64_t call = num_calls++;
    const bool persists = plan.persistent || plan.kind == FaultKind::power_cut;
    if (plan.kind == FaultKind::none || call < plan.first_call || (call > plan.first_call && !persists))
      return false;
    switch (plan.kind) {
      case FaultKind::power_cut:
        throw PowerCut{};
      case FaultKind::io_error:
        throw IoError("cannot " + doing + ": Input/output error");
      case FaultKind::no_space:
        throw IoError("cannot " + doing + ": No space left on device");
      default:
        return true;
    }
  }

  // Whether this sync is performed.
  bool count_sync(const std::string& of) {
    count_call("sync " + of);
    ++num_changes;
    syncs.push_back({of, num_calls - 1});
    return forgotten_sync != syncs.size() - 1;
  }

  void sync_file(MemoryFile& file, const std::string& path) {
    try {
      if (count_sync(path)) file.sync();
    } catch (const IoError&) {
      // As on Linux: the unsynced pages are marked clean, so the next sync would succeed.
      if (failed_sync_keeps_cache)
        file.lost = std::exchange(file.unsynced, {});
      else
        file = {file.durable, file.durable, {}, {}};
      throw;
    }
  }
};

class MemoryReadableFile : public ReadableFile {
 public:
  MemoryReadableFile(MemoryFileSystem& system, std::shared_ptr<MemoryFile> file, std::string path)
      : system_(system), file_(std::move(file)), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return size_; }
  void refresh() override {
    system_.count_call("examine " + path_);
    size_ = file_->bytes.size();
  }
  void sync() override { system_.sync_file(*file_, path_); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    system_.count_call("read " + path_);
    if (offset > file_->bytes.size() || out.size() > file_->bytes.size() - offset)
      throw FormatError(path_ + " is cut");
    std::copy_n(file_->bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }

 private:
  MemoryFileSystem& system_;
  std::shared_ptr<MemoryFile> file_;
  std::string path_;
  std::uint64_t size_ = file_->bytes.size();
};

class MemoryWritableFile : public WritableFile {
 public:
  MemoryWritableFile(MemoryFileSystem& system, std::shared_ptr<MemoryFile> file, std::string path)
      : system_(system), file_(std::move(file)), path_(std::move(path)) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    const bool cut = system_.count_call("write to " + path_);
    if (cut)
      bytes = bytes.first(system_.plan.kind == FaultKind::last_byte ? bytes.size() - 1 : bytes.size() / 2);
    file_->write(offset, bytes);
    ++system_.num_changes;
    if (cut) throw IoError("cannot write to " + path_ + ": No space left on device");
  }
  void truncate(std::uint64_t size) override {
    system_.count_call("truncate " + path_);
    file_->truncate(size);
    ++system_.num_changes;
  }
  void sync() override { system_.sync_file(*file_, path_); }

 private:
  MemoryFileSystem& system_;
  std::shared_ptr<MemoryFile> file_;
  std::string path_;
};

class MemoryLock : public DirectoryLock {
 public:
  explicit MemoryLock(std::shared_ptr<MemoryDirectoryState> state) : state_(std::move(state)) {
    state_->locked = true;
  }
  ~MemoryLock() override { state_->locked = false; }

 private:
  std::shared_ptr<MemoryDirectoryState> state_;
};

class MemoryDirectory : public Directory {
 public:
  MemoryDirectory(MemoryFileSystem& system, std::shared_ptr<MemoryDirectoryState> state, std::string path)
      : system_(system), state_(std::move(state)), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }

  std::unique_ptr<ReadableFile> open(const std::string& name) const override {
    system_.count_call("open " + path_of(name));
    const auto found = state_->names.find(name);
    if (found == state_->names.end())
      throw IoError("cannot open " + path_of(name) + ": No such file or directory");
    return std::make_unique<MemoryReadableFile>(system_, found->second, path_of(name));
  }
  std::unique_ptr<WritableFile> create(const std::string& name) override {
    system_.count_call("create " + path_of(name));
    if (state_->names.count(name)) throw IoError("cannot create " + path_of(name) + ": File exists");
    auto file = std::make_shared<MemoryFile>();
    change({"", name, file});
    return std::make_unique<MemoryWritableFile>(system_, file, path_of(name));
  }
  std::unique_ptr<WritableFile> open_to_write(const std::string& name) override {
    system_.count_call("open " + path_of(name));
    return std::make_unique<MemoryWritableFile>(system_, state_->names.at(name), path_of(name));
  }
  std::unique_ptr<DirectoryLock> lock(const std::string& name) override {
    system_.count_call("lock " + path_of(name));
    if (state_->locked) throw IoError(path_ + " is being written by another process");
    if (!state_->names.count(name)) change({"", name, std::make_shared<MemoryFile>()});
    return std::make_unique<MemoryLock>(state_);
  }
  void rename(const std::string& from, const std::string& to) override {
    system_.count_call("rename " + path_of(from));
    change({from, to, state_->names.at(from)});
  }
  void remove(const std::string& name) override {
    system_.count_call("remove " + path_of(name));
    if (!state_->names.count(name))
      throw IoError("cannot remove " + path_of(name) + ": No such file or directory");
    change({name, "", nullptr});
  }
  std::vector<std::string> list() const override {
    system_.count_call("list " + path_);
    std::vector<std::string> names;
    for (const auto& [name, file] : state_->names) names.push_back(name);
    return names;
  }
  void sync() override {
    if (!system_.count_sync("directory " + path_)) return;
    state_->durable_names = state_->names;
    state_->pending.clear();
  }
  void sync_parent() override {
    if (system_.count_sync("the parent of " + path_)) state_->durable = true;
  }

 private:
  void change(NameChange change) {
    state_->change(std::move(change));
    ++system_.num_changes;
  }

  MemoryFileSystem& system_;
  std::shared_ptr<MemoryDirectoryState> state_;
  std::string path_;
};

inline std::unique_ptr<Directory> MemoryFileSystem::open_directory(const std::string& path) {
  count_call("open directory " + path);
  const auto found = directories.find(path);
  if (found == directories.end())
    throw IoError("cannot open directory " + path + ": No such file or directory");
  return std::make_unique<MemoryDirectory>(*this, found->second, path);
}

}  // namespace culmen::storage
