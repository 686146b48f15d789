// The hotel table of the demo: eight plausible, correlated attributes, the city, the day of the opening, which is not
// always known, and a unique name for each row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/table.h"

namespace culmen {

class HotelGenerator {
 public:
  static constexpr std::int64_t kFirstId = 1000000;

  HotelGenerator(std::uint64_t seed, std::uint32_t stream);

  static std::vector<Attribute> attributes();

  // Writes one value per attribute; each is the double nearest to a short decimal number.
  void make_row(std::uint64_t row, std::span<double> values) const;

  std::string_view city(std::uint64_t row) const;

  // The day when the hotel opened, of one hotel in eight unknown: days since 1970-01-01, and 0 to 60 years before the
  // renovation that make_row writes.
  std::optional<std::int64_t> opening_day(std::uint64_t row) const;

  // Appends a unique UTF-8 name: "Hotel Aurora Kraków" or, once all combinations are used, "Hotel Aurora Kraków 2".
  void append_name(std::uint64_t row, std::string& text) const;

 private:
  std::uint32_t name_number(std::uint64_t row) const;

  std::uint64_t seed_;
  std::uint32_t stream_;
  std::uint32_t name_shift_;
  std::uint32_t name_factor_;
};

}  // namespace culmen
