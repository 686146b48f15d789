// The hotel table of the demo: eight believable, plausibly correlated attributes and a unique name for each
// row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "culmen/table.h"

namespace culmen {

class HotelGenerator {
 public:
  static constexpr std::int64_t kFirstId = 1000000;

  HotelGenerator(std::uint64_t seed, std::uint32_t stream);

  static std::vector<Attribute> attributes();

  // Decimal values are the doubles nearest to their decimal text. `values`: one for each of attributes().
  void make_row(std::uint64_t row, std::span<double> values) const;

  // UTF-8, such as "Hotel Aurora Kraków" or, once the words are used up, "Hotel Aurora Kraków 2". No two rows
  // share a name.
  void append_name(std::uint64_t row, std::string& text) const;

 private:
  struct NameParts;
  NameParts name_parts(std::uint64_t row) const;

  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint32_t name_shift_;
  std::uint32_t name_factor_;
};

}  // namespace culmen
