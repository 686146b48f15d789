// A file system in memory that knows which bytes and names are durable. Tests make its calls fail, stop it at
// any call as a power cut would, and ask for the states in which a disk may be found afterwards.
//
// The model is harsher than real file systems: of the names made, renamed and removed since the directory was
// last synced any subset may be lost; of the bytes appended since a file was last synced any
// may be lost, cut off, zero or junk. A rename is atomic: its two names change together or not at all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "index/storage/file_system.h"

namespace culmen::storage {

using Bytes = std::vector<std::byte>;

struct MemoryFile {
  Bytes bytes;             // as running programs see it
  std::size_t synced = 0;  // how many of them are durable
};

// Something made, renamed or removed in a directory since its last sync.
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

// Thrown by the call at which the power goes, and by all that follow.
struct PowerCut {};

enum class FaultKind {
  none,
  io_error,     // the call does nothing and says EIO; a sync loses what it should have kept
  no_space,     // the call does nothing and says ENOSPC
  short_write,  // half of the bytes are written, then ENOSPC
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

  // Makes `path` with these files, all durable.
  void put(const std::string& path, const std::map<std::string, Bytes>& files) {
    auto state = std::make_shared<MemoryDirectoryState>();
    for (const auto& [name, bytes] : files)
      state->names[name] = std::make_shared<MemoryFile>(MemoryFile{bytes, bytes.size()});
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

  // Whether the call about to be made, a write, is to be cut in half.
  bool count_call(const std::string& doing) {
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

  // Calls f(files) for the states in which the directory may be found after a power cut now; files is empty
  // (nullopt) where the directory itself is lost. `random` draws the junk.
  void for_each_crash_state(
      const std::string& path, std::mt19937& random,
      const std::function<void(const std::optional<std::map<std::string, Bytes>>&)>& f) const;
};

class MemoryReadableFile : public ReadableFile {
 public:
  MemoryReadableFile(MemoryFileSystem& system, std::shared_ptr<MemoryFile> file, std::string path)
      : system_(system), file_(std::move(file)), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return file_->bytes.size(); }
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
};

class MemoryWritableFile : public WritableFile {
 public:
  MemoryWritableFile(MemoryFileSystem& system, std::shared_ptr<MemoryFile> file, std::string path)
      : system_(system), file_(std::move(file)), path_(std::move(path)) {}
  void append(std::span<const std::byte> bytes) override {
    const bool cut = system_.count_call("write to " + path_);
    if (cut) bytes = bytes.first(bytes.size() / 2);
    file_->bytes.insert(file_->bytes.end(), bytes.begin(), bytes.end());
    if (cut) throw IoError("cannot write to " + path_ + ": No space left on device");
  }
  void sync() override {
    try {
      system_.count_call("sync " + path_);
    } catch (const IoError&) {
      // As Linux does: the unsynced pages are dropped and marked clean, and the next sync would succeed.
      file_->bytes.resize(file_->synced);
      throw;
    }
    file_->synced = file_->bytes.size();
  }

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
    state_->change({"", name, file});
    return std::make_unique<MemoryWritableFile>(system_, file, path_of(name));
  }
  std::unique_ptr<DirectoryLock> lock(const std::string& name) override {
    system_.count_call("lock " + path_of(name));
    if (state_->locked) throw IoError(path_ + " is being written by another process");
    if (!state_->names.count(name)) state_->change({"", name, std::make_shared<MemoryFile>()});
    return std::make_unique<MemoryLock>(state_);
  }
  void rename(const std::string& from, const std::string& to) override {
    system_.count_call("rename " + path_of(from));
    state_->change({from, to, state_->names.at(from)});
  }
  void remove(const std::string& name) override {
    system_.count_call("remove " + path_of(name));
    if (!state_->names.count(name))
      throw IoError("cannot remove " + path_of(name) + ": No such file or directory");
    state_->change({name, "", nullptr});
  }
  std::vector<std::string> list() const override {
    system_.count_call("list " + path_);
    std::vector<std::string> names;
    for (const auto& [name, file] : state_->names) names.push_back(name);
    return names;
  }
  void sync() override {
    system_.count_call("sync directory " + path_);
    state_->durable_names = state_->names;
    state_->pending.clear();
  }
  void sync_parent() override {
    system_.count_call("sync the parent of " + path_);
    state_->durable = true;
  }

 private:
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

// How the unsynced end of a file may be found after a power cut.
enum class Tail { lost, kept, zeros, junk, cut, torn };
inline constexpr Tail kTails[] = {Tail::lost, Tail::kept, Tail::zeros, Tail::junk, Tail::cut, Tail::torn};

inline Bytes after_power_cut(const MemoryFile& file, Tail tail, std::mt19937& random) {
  Bytes bytes = file.bytes;
  const std::size_t unsynced = bytes.size() - file.synced;
  if (unsynced == 0 || tail == Tail::kept) return bytes;
  const std::size_t at = file.synced + random() % unsynced;
  const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(file.synced);
  const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (tail) {
    case Tail::lost:
      bytes.resize(file.synced);
      break;
    case Tail::cut:
      bytes.resize(at);
      break;
    case Tail::zeros:
      std::fill(start, bytes.end(), std::byte{0});
      break;
    case Tail::junk:
      std::generate(start, bytes.end(), [&] { return static_cast<std::byte>(random()); });
      break;
    default:
      std::fill(start, middle, std::byte{0});
      break;  // torn: its end made it, its beginning did not
  }
  return bytes;
}

inline void MemoryFileSystem::for_each_crash_state(
    const std::string& path, std::mt19937& random,
    const std::function<void(const std::optional<std::map<std::string, Bytes>>&)>& f) const {
  const auto found = directories.find(path);
  if (found == directories.end()) return f(std::nullopt);
  const MemoryDirectoryState& state = *found->second;
  if (!state.durable) f(std::nullopt);
  // All subsets of the changes of names if they are few, else the two extremes and a sample.
  constexpr std::size_t kMaxSubsets = 256;
  const std::size_t all_subsets = std::size_t{1} << state.pending.size();
  for (std::size_t i = 0; i < std::min(all_subsets, kMaxSubsets); ++i) {
    const std::size_t subset = all_subsets <= kMaxSubsets ? i
                               : i == 0                   ? 0
                               : i == 1                   ? all_subsets - 1
                                                          : random() % all_subsets;
    NameMap names = state.durable_names;
    for (std::size_t change = 0; change < state.pending.size(); ++change)
      if (subset >> change & 1) state.apply(names, state.pending[change]);
    for (Tail tail : kTails) {
      bool has_unsynced = false;
      std::map<std::string, Bytes> files;
      for (const auto& [name, file] : names) {
        has_unsynced |= file->synced < file->bytes.size();
        files[name] = after_power_cut(*file, tail, random);
      }
      f(files);
      if (!has_unsynced) break;  // all tails are alike
    }
  }
}

}  // namespace culmen::storage
