// The functions of a fuzz target. Linked with libFuzzer, or with driver.cc, which calls the same functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Runs the code under test on one input. A fault is a sanitizer report or an exception that leaves it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace culmen::fuzz {

// Inputs near which mutations are worth trying, and tokens worth inserting.
std::vector<std::string> seed_inputs();
std::vector<std::string> tokens();

inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error("broken promise: " + what);
}

// The first byte of an input, which chooses options; 0 when there is none.
inline std::uint8_t take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

}  // namespace culmen::fuzz
