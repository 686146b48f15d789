// What a call that must fail says.
#pragma once

#include <exception>
#include <string>

namespace culmen::test {

// The message of the Expected that `call` throws; else a text that no test expects.
template <typename Expected>
std::string error_of(const auto& call) {
  try {
    call();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another kind of exception: ") + error.what();
  }
  return "no exception";
}

}  // namespace culmen::test
