// ColumnEncoder: the shortest of the forms of packed_column.h for each column. The same values give the same bytes,
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culmen::encoding {

class ColumnEncoder {
 public:
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
  static Packing best_packing(std::span<const std::uint64_t> numbers);
  static void append_numbers(std::span<const std::uint64_t> numbers, const Packing& packing,
                             std::vector<std::byte>& bytes);
  template <typename T>
  void append(std::span<const T> values, std::uint8_t form, const Packing& packing,
              std::span<const std::uint64_t> numbers, std::vector<std::byte>& bytes) const;

  std::vector<std::uint64_t> decimals_, bits_;
  int exponent_ = 0;
  std::vector<std::uint16_t> exceptions_;
};

}  // namespace culmen::encoding
