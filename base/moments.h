// Moments: the exact sums of some numbers and of their squares, and from these the mean and the standard deviation, each
// rounded once. So neither the order of the numbers counts, nor who adds which of them, and no square overflows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace culmen {

class Moments {
 public:
  // Finite numbers. One that was added may be removed again.
  void add(double value);
  void remove(double value);
  void add(const Moments& others);

  std::uint64_t count() const { return count_; }
  double mean(bool to_float32 = false) const;  // 0 of no numbers
  // Of these numbers themselves, not an estimate from a sample: the root of the mean squared distance from the mean.
  double deviation() const;

  // The sums as words, which depend on the numbers alone; those of no numbers are empty.
  std::vector<std::uint64_t> words() const;
  // nullopt if they are so wrong that something could overflow.
  static std::optional<Moments> of_words(std::span<const std::uint64_t> words);

 private:
  using Wide = unsigned __int128;  // wraps, so that a removal undoes an addition

  // Of the numbers with one biased exponent: of their mantissas, and of the two halves of the squares of these.
  struct Sums {
    Wide values = 0;  // two's complement
    Wide squares_low = 0, squares_high = 0;
  };

  Sums& sums_of(std::uint64_t exponent);
  template <typename F>
  void for_each_exponent(F&& f) const;

  std::uint64_t count_ = 0;
  // Numbers of a column have few exponents.
  std::vector<Sums> sums_;
  std::vector<std::uint16_t> places_;  // in sums_, by exponent; empty until there is one
};

}  // namespace culmen
