// Enumerates the possible states of a disk after a power cut.
//
// The model is harsher than real file systems: of the names made, renamed and removed since the directory was
// last synced any subset may be lost, and of the writes since a file was last synced each may be lost, kept,
// cut off, torn at its beginning, zero or junk, independently of the others. A rename is atomic: its two
// names change together or not at all.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "index/storage/hash.h"
#include "tests/cases.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::storage {

// To recognize states that were examined before.
inline std::uint64_t state_hash(const Files& files, std::uint64_t seed) {
  std::uint64_t hash = seed;
  for (const auto& [name, bytes] : files) {
    hash = checksum_of(std::as_bytes(std::span(name)), hash);
    hash = checksum_of(bytes, hash);
  }
  return hash;
}

enum class Fate { lost, kept, zeros, junk, cut, torn };
inline constexpr Fate kFates[] = {Fate::lost, Fate::kept, Fate::zeros, Fate::junk, Fate::cut, Fate::torn};

// Applies the surviving part of the write to `disk`. `at`: where it is cut off, or where the surviving part begins.
inline void apply(Bytes& disk, const MemoryWrite& write, Fate fate, std::size_t at, std::mt19937& random) {
  if (write.bytes.empty()) {
    if (fate != Fate::lost && disk.size() > write.offset) disk.resize(write.offset);
    return;
  }
  if (fate == Fate::lost || (fate == Fate::cut && at == 0)) return;
  const std::size_t size = fate == Fate::cut ? at : write.bytes.size();
  if (disk.size() < write.offset + size) disk.resize(write.offset + size);
  const auto start = disk.begin() + static_cast<std::ptrdiff_t>(write.offset);
  const auto skipped = static_cast<std::ptrdiff_t>(fate == Fate::torn ? at : 0);
  switch (fate) {
    case Fate::zeros:
      std::fill_n(start, size, std::byte{0});
      break;
    case Fate::junk:
      std::generate_n(start, size, [&] { return static_cast<std::byte>(random()); });
      break;
    default:
      std::fill_n(start, skipped, std::byte{0});
      std::copy(write.bytes.begin() + skipped, write.bytes.begin() + static_cast<std::ptrdiff_t>(size),
                start + skipped);
  }
}

inline constexpr std::size_t kMaxNameMaps = test::kSanitized ? 32 : 256;

// Calls f(names, is_extreme) for all subsets of the name changes if they are few; otherwise for the empty one, the full
// one and a sample.
inline void for_each_name_map(const MemoryDirectoryState& state, std::mt19937& random, std::size_t max_maps,
                              const std::function<void(const NameMap&, bool)>& f) {
  const std::size_t all_subsets = std::size_t{1} << state.pending.size();
  for (std::size_t i = 0; i < std::min(all_subsets, max_maps); ++i) {
    const std::size_t subset = all_subsets <= max_maps ? i
                               : i == 0                ? 0
                               : i == 1                ? all_subsets - 1
                                                       : random() % all_subsets;
    NameMap names = state.durable_names;
    for (std::size_t change = 0; change < state.pending.size(); ++change)
      if (subset >> change & 1) state.apply(names, state.pending[change]);
    f(names, subset == 0 || subset == all_subsets - 1);
  }
}

// Calls f(files) for each subset of names with the same fate for all writes, at a random offset; files is nullopt if
// the directory itself is lost. For snapshots, which write much and sync once.
inline void for_each_crash_state(const MemoryFileSystem& system, const std::string& path,
                                 std::mt19937& random,
                                 const std::function<void(const std::optional<Files>&)>& f) {
  const auto found = system.directories.find(path);
  if (found == system.directories.end()) return f(std::nullopt);
  const MemoryDirectoryState& state = *found->second;
  if (!state.durable) f(std::nullopt);
  for_each_name_map(state, random, kMaxNameMaps, [&](const NameMap& names, bool) {
    for (Fate fate : kFates) {
      bool has_unsynced = false;
      Files files;
      for (const auto& [name, file] : names) {
        Bytes& disk = files[name] = file->durable;
        for (const MemoryWrite& write : file->unsynced)
          apply(disk, write, fate, random() % std::max<std::size_t>(write.bytes.size(), 1), random);
        has_unsynced |= !file->unsynced.empty();
      }
      f(files);
      if (!has_unsynced) break;  // all fates are alike
    }
  });
}

// The fate of one write.
struct WriteFate {
  Fate fate = Fate::lost;
  std::size_t at = 0;
};

// Every state of a directory with few unsynced writes: for each subset of names, every combination of complete fates;
// for the extreme subsets also each write truncated and torn at every `stride`-th byte, while all others are kept or
// lost.
class CrashStates {
 public:
  CrashStates(const MemoryDirectoryState& state, std::size_t stride, std::size_t max_maps,
              std::mt19937& random)
      : state_(state), stride_(stride), max_maps_(max_maps), random_(random) {}

  void for_each(const std::function<void(const Files&)>& f) {
    for_each_name_map(state_, random_, max_maps_, [&](const NameMap& names, bool is_extreme) {
      collect(names);
      for_each_combination([&] { f(files(names)); });
      if (is_extreme) for_each_tear([&] { f(files(names)); });
    });
  }

 private:
  static constexpr std::size_t kMaxCombinations = 256;

  void collect(const NameMap& names) {
    writes_.clear();
    for (const auto& [name, file] : names)
      for (const MemoryWrite& write : file->unsynced) writes_.push_back(&write);
    fates_.assign(writes_.size(), {});
  }

  template <typename F>
  void for_each_combination(F&& f) {
    const std::size_t all = std::size_t{1} << std::min<std::size_t>(2 * writes_.size(), 60);
    for (std::size_t i = 0; i < std::min(all, kMaxCombinations); ++i) {
      std::size_t code = all <= kMaxCombinations ? i : random_();
      for (WriteFate& fate : fates_) {
        fate = {kFates[code % 4], 0};
        code /= 4;
      }
      f();
    }
  }

  template <typename F>
  void for_each_tear(F&& f) {
    for (std::size_t w = 0; w < writes_.size(); ++w) {
      for (Fate others : {Fate::kept, Fate::lost}) {
        if (writes_.size() == 1 && others == Fate::lost) continue;
        fates_.assign(writes_.size(), {others, 0});
        for (Fate fate : {Fate::cut, Fate::torn}) {
          for (std::size_t at = 1; at < writes_[w]->bytes.size(); at += stride_) {
            fates_[w] = {fate, at};
            f();
          }
        }
      }
    }
  }

  Files files(const NameMap& names) {
    Files files;
    auto fate = fates_.begin();
    for (const auto& [name, file] : names) {
      Bytes& disk = files[name] = file->durable;
      for (const MemoryWrite& write : file->unsynced) {
        apply(disk, write, fate->fate, fate->at, random_);
        ++fate;
      }
    }
    return files;
  }

  const MemoryDirectoryState& state_;
  const std::size_t stride_;
  const std::size_t max_maps_;
  std::mt19937& random_;
  std::vector<const MemoryWrite*> writes_;
  std::vector<WriteFate> fates_;
};

}  // namespace culmen::storage
