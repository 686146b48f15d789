// Ids: the next one to assign, and a keyed hash. Ids are user input: with a known hash, an attacker can choose
// thousands of ids that all collide, and each look-up then walks past all of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace culmen {

// The id after `largest`; `largest` itself if there is none.
constexpr std::int64_t id_after(std::int64_t largest) {
  return largest == std::numeric_limits<std::int64_t>::max() ? largest : largest + 1;
}

class IdHash {
 public:
  IdHash() : keys_(process_keys()) {}

  // All 64 bits are well mixed. Collisions are possible.
  std::uint64_t operator()(std::int64_t id) const noexcept {
    // Folds the product with a secret factor, then mixes, so that consecutive ids are far apart.
    const unsigned __int128 product =
        static_cast<unsigned __int128>(static_cast<std::uint64_t>(id) ^ keys_[0]) * keys_[1];
    std::uint64_t x = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    x = (x ^ (x >> 32)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  using Keys = std::array<std::uint64_t, 2>;
  static const Keys& process_keys();  // drawn once per process; the second is odd

  Keys keys_;
};

using HashedIds = std::unordered_set<std::int64_t, IdHash>;
template <typename Value>
using IdTable = std::unordered_map<std::int64_t, Value, IdHash>;

}  // namespace culmen
