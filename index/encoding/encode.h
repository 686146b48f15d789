// ColumnEncoder: the shortest of the forms of packed_column.h for each column. The same values give the same bytes,
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/encoding/packed_column.h"

namespace culmen::encoding {

// Which forms there may be. Without deltas each value can be decoded alone.
struct ColumnForms {
  bool deltas = true;
  int most_exponent = kMostExponent;
};

class ColumnEncoder {
 public:
  explicit ColumnEncoder(const ColumnForms& forms = {}) : forms_(forms) {}

  // Appends the column. T: float, double, std::int64_t. 1 to 65,536 values of any bits.
  template <typename T>
  void encode(std::span<const T> values, std::vector<std::byte>& bytes);

 private:
  // How to pack numbers, and how many bytes they then take.
  struct Packing {
    bool has_deltas = false;
    int bits = 0;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
  };

  template <typename T>
  bool find_decimals(std::span<const T> values);
  void shorten_decimals();
  Packing best_packing(std::span<const std::uint64_t> numbers) const;
  static void append_numbers(std::span<const std::uint64_t> numbers, const Packing& packing,
                             std::vector<std::byte>& bytes);
  template <typename T>
  void append(std::span<const T> values, std::uint8_t form, const Packing& packing,
              std::span<const std::uint64_t> numbers, std::vector<std::byte>& bytes) const;

  const ColumnForms forms_;
  std::vector<std::uint64_t> decimals_, bits_;
  int exponent_ = 0;
  std::vector<std::uint16_t> exceptions_;
};

}  // namespace culmen::encoding
