// Ids in cells. Where no one says whether they are int64 or uint64, all of a file tell: they are uint64 if one is 2^63 or
// more. Until then they have the bits of their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "culmen/id_type.h"
#include "table/number.h"

namespace culmen::io {

struct CellId {
  NumberKind kind = NumberKind::not_a_number;  // as ParsedInteger's
  std::int64_t id = 0;
  bool is_large = false;  // 2^63 or more
};

// Without a type the id has the bits of the number, an int64 or a large uint64.
CellId parse_cell_id(std::string_view text, std::optional<IdType> type);

// What a cell should have held, and why an integer of another range is refused.
std::string_view expected_id(std::optional<IdType> type);
std::string_view reason_of_range(std::optional<IdType> type);

// Which ids tell what all are: positions of the first ones, if there are any.
struct IdRangeFound {
  std::optional<std::size_t> negative, large;

  IdType type() const { return large ? IdType::uint64 : IdType::int64; }
  // Of the next id, or of those behind `num_before`.
  void add(std::size_t position, std::int64_t bits, bool is_large);
  void append(const IdRangeFound& next, std::size_t num_before);
};

// Makes ids of uint64 out of their bits.
void make_uint64_ids(std::span<std::int64_t> bits);

}  // namespace culmen::io
