// How many random cases a test runs, and which. Every case has a fixed seed, so that a failure can be run again alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace culmen::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// CULMEN_TEST_CASES, or `by_default`; fewer under sanitizers, which make everything some 20 times slower.
inline std::uint64_t num_cases(std::uint64_t by_default) {
  const char* wanted = std::getenv("CULMEN_TEST_CASES");
  if (wanted != nullptr && *wanted != '\0') return std::strtoull(wanted, nullptr, 10);
  return kSanitized ? by_default / 40 + 1 : by_default;
}

// For tests that try every state of a system: the step from one to the next, `sanitized` under sanitizers.
constexpr std::uint64_t step_of_states(std::uint64_t sanitized) {
  return kSanitized ? sanitized : 1;
}

// CULMEN_TEST_SEED asks for the one case with this seed, 0 (or unset) for all of them.
inline std::uint64_t only_seed() {
  const char* wanted = std::getenv("CULMEN_TEST_SEED");
  return wanted == nullptr ? 0 : std::strtoull(wanted, nullptr, 10);
}

// Whether a test that has ended ran all its cases, so that what happens in some of them must have happened.
inline bool ran_all_cases(std::uint64_t by_default) {
  return only_seed() == 0 && num_cases(by_default) >= by_default;
}

inline std::string rerun_command(std::uint64_t seed, const std::string& program, const std::string& filter) {
  return std::string("rerun: CULMEN_TEST_SEED=") + std::to_string(seed) + " " + program +
         " --gtest_filter='" + filter + "'";
}

}  // namespace culmen::test
