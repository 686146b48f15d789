// A few bits for each number of a set: they tell most other numbers at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culmen {

class KeyBits {
 public:
  // Of a filter's ranges, whose bits are made for each query.
  static constexpr std::uint64_t kMaxKeys = 1 << 16;

  KeyBits() = default;  // of no set
  explicit KeyBits(std::uint64_t num_keys)
      : words_(std::bit_ceil(std::max(kMinBits, kBitsOfKey * num_keys)) / 64) {}

  void add(std::int64_t key) { words_[bit_of(key) / 64] |= std::uint64_t{1} << bit_of(key) % 64; }

  bool empty() const { return words_.empty(); }
  bool may_contain(std::int64_t key) const { return (words_[bit_of(key) / 64] >> bit_of(key) % 64 & 1) != 0; }

  // Sets one bit per key, in words of 64 from the lowest bit on: whether the set contains it. is_member is asked about
  // the few keys that may be.
  template <typename IsMember>
  void write_mask(std::span<const std::int64_t> keys, std::uint64_t* mask, const IsMember& is_member) const {
    for (std::size_t begin = 0; begin < keys.size(); begin += 64) {
      const std::span<const std::int64_t> some =
          keys.subspan(begin, std::min<std::size_t>(64, keys.size() - begin));
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < some.size(); ++i) word |= std::uint64_t{may_contain(some[i])} << i;
      for (std::uint64_t left = word; left != 0; left &= left - 1)
        if (!is_member(some[static_cast<std::size_t>(std::countr_zero(left))])) word &= ~(left & -left);
      mask[begin / 64] = word;
    }
  }

 private:
  static constexpr std::uint64_t kBitsOfKey = 16, kMinBits = 4096;

  std::size_t bit_of(std::int64_t key) const {
    return static_cast<std::size_t>(key) & (64 * words_.size() - 1);
  }

  std::vector<std::uint64_t> words_;  // a power of two of them
};

}  // namespace culmen
