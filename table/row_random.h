// The random numbers of one row: a Philox stream that depends only on (seed, stream, row).
//
// This file and the generators use only integers and operations that IEEE 754 rounds exactly (+ - * / sqrt). The last
// bit of log, exp, pow and cos differs between C libraries, and a table must have the same bytes everywhere.
#pragma once

#include <cstdint>

#include "table/philox.h"

namespace culmen {

class RowRandom {
 public:
  CULMEN_HOST_DEVICE constexpr RowRandom(std::uint64_t seed, std::uint32_t stream, std::uint64_t row)
      : counter_{{0, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), stream}},
        key_(philox_key(seed)) {}

  CULMEN_HOST_DEVICE constexpr std::uint32_t next_word() {
    if (num_used_ == 4) {
      block_ = philox4x32(counter_, key_);
      ++counter_.word[0];
      num_used_ = 0;
    }
    return block_.word[num_used_++];
  }

  // k * 2^-24 in [0, 1): every value is a float32.
  CULMEN_HOST_DEVICE constexpr double uniform() { return next_24_bits() * kUlp; }

  // (k + 1) * 2^-24 in (0, 1], for divisors.
  CULMEN_HOST_DEVICE constexpr double uniform_above_zero() { return (next_24_bits() + 1) * kUlp; }

  CULMEN_HOST_DEVICE constexpr double uniform(double low, double high) {
    return low + (high - low) * uniform();
  }

  // 0 .. size - 1; the bias of at most size / 2^32 does not matter here.
  CULMEN_HOST_DEVICE constexpr std::uint32_t below(std::uint32_t size) {
    return static_cast<std::uint32_t>((std::uint64_t{next_word()} * size) >> 32);
  }

  // The mean of num_draws uniforms, scaled to [low, high): bell-shaped from about four draws on. The sum is over
  // integers, so its order does not matter.
  CULMEN_HOST_DEVICE constexpr double peak(double low, double high, int num_draws) {
    std::uint64_t sum = 0;
    for (int i = 0; i < num_draws; ++i) sum += next_24_bits();
    return low + (high - low) * (static_cast<double>(sum) * kUlp / num_draws);
  }

  // Replaces the normal distribution of Börzsönyi's recipes: within [mean - reach, mean + reach), with standard
  // deviation reach / 6.
  CULMEN_HOST_DEVICE constexpr double normal(double mean, double reach) {
    return peak(mean - reach, mean + reach, 12);
  }

 private:
  static constexpr double kUlp = 1.0 / 16777216.0;

  CULMEN_HOST_DEVICE constexpr std::uint32_t next_24_bits() { return next_word() >> 8; }

  PhiloxBlock counter_;  // draw number, row low, row high, stream
  PhiloxKey key_;
  PhiloxBlock block_{};
  int num_used_ = 4;
};

}  // namespace culmen
