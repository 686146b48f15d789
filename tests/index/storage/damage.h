// The index that is damaged, and how many bits of it or of a log are flipped.
#pragma once

#include <tbb/parallel_for.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "tests/cases.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {

// CULMEN_TEST_KIB, or `by_default`: about the size of the files.
inline std::size_t num_kib(std::size_t by_default) {
  const char* wanted = std::getenv("CULMEN_TEST_KIB");
  return wanted == nullptr ? by_default : std::strtoull(wanted, nullptr, 10);
}

// Two levels of nodes, every kind of file.
inline const Snapshot& index_to_damage() {
  static const auto snapshot = make_snapshot(
      {.rows = num_kib(30) * 53 / 3, .attributes = 2, .partitions = 1, .fields = 3, .gaps = true});
  return *snapshot;
}

// The header and the first frames of each file are in this part.
inline constexpr std::size_t kFirstBytes = test::kSanitized ? 256 : 1024;

// Whether an offset in a file is tested: the first ones are, and of the others one in four, under the sanitizers one in
// 64, or all of them if a size is asked for.
inline bool is_sampled(std::size_t byte) {
  const std::size_t step = test::kSanitized ? 64 : num_kib(0) > 0 ? 1 : 4;
  return byte < kFirstBytes || byte % step == byte / step % step;
}

// Every bit of these is flipped: the header, and the head of the first frame.
inline constexpr std::size_t kBytesOfAllBits = 256;

// Whether a bit of a byte is flipped: one of each sampled byte, and all bits of the first bytes, or of all bytes if the
// size asked for does not take hours.
inline bool is_flipped(std::size_t byte, std::size_t bit) {
  constexpr std::size_t kMaxKibOfAllBits = 128;
  const std::size_t wanted = num_kib(0);
  const bool all_bits =
      !test::kSanitized && wanted <= kMaxKibOfAllBits && (wanted > 0 || byte < kBytesOfAllBits);
  return all_bits || (is_sampled(byte) && bit == byte % 8);
}

// CULMEN_TEST_SEED=1 to 16: a sixteenth of the bytes, for as many processes. Threads of one process wait for each
// other's mappings.
inline bool is_ours(std::size_t byte) {
  return test::only_seed() == 0 || byte % 16 == test::only_seed() % 16;
}

// Calls visit(system, name, place, flip), from several threads, for every bit of an index's files that is flipped: it is in
// system, in the file `name`, and `place` says where. A flip() by visit() has to be undone by another.
inline void for_each_flipped_bit(const Files& files, const auto& visit) {
  for (const auto& entry : files) {
    const std::string& name = entry.first;
    tbb::parallel_for(std::size_t{0}, entry.second.size(), [&](std::size_t at) {
      if (!is_ours(at)) return;
      MemoryFileSystem system;
      system.put("index", files);
      Bytes& bytes = system.directories["index"]->names[name]->bytes;
      for (std::size_t bit = 0; bit < 8; ++bit) {
        if (!is_flipped(at, bit)) continue;
        const auto flip = [&] { bytes[at] ^= static_cast<std::byte>(1 << bit); };
        flip();
        visit(system, name, name + " byte " + std::to_string(at) + " bit " + std::to_string(bit), flip);
        flip();
      }
    });
  }
}

}  // namespace culmen::storage
