#include "base/ids.h"

#include <chrono>
#include <random>

namespace culmen {
namespace {

std::uint64_t random_word() noexcept {
  try {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  } catch (...) {  // no source of randomness: the clock is hard to predict as well
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
           0x9e3779b97f4a7c15;
  }
}

}  // namespace

const IdHash::Keys& IdHash::process_keys() {
  static const Keys keys = {random_word(), random_word() | 1};
  return keys;
}

}  // namespace culmen
