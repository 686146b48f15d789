// How much of an index or a log is damaged, bit by bit.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "tests/cases.h"

namespace culmen::storage {

// CULMEN_TEST_KIB, or `by_default`: about the size of the files.
inline std::size_t num_kib(std::size_t by_default) {
  const char* wanted = std::getenv("CULMEN_TEST_KIB");
  return wanted == nullptr ? by_default : std::strtoull(wanted, nullptr, 10);
}

// Whether a bit of a byte is flipped: all of them, or one of each byte where that would take hours.
inline bool is_flipped(std::size_t byte, std::size_t bit) {
  constexpr std::size_t kMostKibOfAllBits = 128;
  const bool all_bits = !test::kSanitized && num_kib(0) <= kMostKibOfAllBits;
  return all_bits || bit == byte % 8;
}

// CULMEN_TEST_SEED=1 to 16: a sixteenth of the bytes, so that as many processes may share them. Threads of
// one wait for each other's mappings.
inline bool is_ours(std::size_t byte) {
  return test::only_seed() == 0 || byte % 16 == test::only_seed() % 16;
}

}  // namespace culmen::storage
