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

// Where the header and the first frames of each file are.
inline constexpr std::size_t kFirstBytes = 1024;

// Whether a place in a file is looked at: all, but under the sanitizers behind the first ones one in eight.
inline bool is_sampled(std::size_t byte) {
  return !test::kSanitized || byte < kFirstBytes || byte % 8 == byte / 8 % 8;
}

// Whether a bit of a byte is flipped: one of each that is_sampled, and all bits of those that are looked at closest: the
// first ones or, if a size is asked for that does not take hours, everywhere.
inline bool is_flipped(std::size_t byte, std::size_t bit) {
  constexpr std::size_t kMaxKibOfAllBits = 128;
  const std::size_t wanted = num_kib(0);
  const bool all_bits = !test::kSanitized && wanted <= kMaxKibOfAllBits && (wanted > 0 || byte < kFirstBytes);
  return all_bits || (is_sampled(byte) && bit == byte % 8);
}

// CULMEN_TEST_SEED=1 to 16: a sixteenth of the bytes, so that as many processes may share them. Threads of
// one wait for each other's mappings.
inline bool is_ours(std::size_t byte) {
  return test::only_seed() == 0 || byte % 16 == test::only_seed() % 16;
}

}  // namespace culmen::storage
