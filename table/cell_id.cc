#include "table/cell_id.h"

#include <charconv>
#include <system_error>

#include "table/text.h"

namespace culmen::io {

CellId parse_cell_id(std::string_view text, std::optional<IdType> type) {
  if (type != IdType::uint64) {
    const ParsedInteger integer = parse_integer(text);
    if (type || integer.kind != NumberKind::out_of_range) return {integer.kind, integer.value};
  }
  const ParsedUnsigned number = parse_unsigned(text);
  if (type) return {number.kind, id_of_uint64(number.value)};
  return {number.kind, static_cast<std::int64_t>(number.value), true};
}

std::string_view expected_id(std::optional<IdType> type) {
  return type == IdType::uint64 ? "an integer from 0 to 2^64 - 1" : "a 64-bit integer";
}

std::string_view reason_of_range(std::optional<IdType> type) {
  if (!type) return ", beyond the ranges of int64 and uint64";
  return type == IdType::uint64 ? ", beyond the range of uint64, which the ids are"
                                : ", beyond the range of int64: ids above it need an index of uint64 ids";
}

void IdRangeFound::add(std::size_t position, std::int64_t bits, bool is_large) {
  if (bits >= 0) return;
  std::optional<std::size_t>& first = is_large ? large : negative;
  if (!first) first = position;
}

void IdRangeFound::append(const IdRangeFound& next, std::size_t num_before) {
  if (!negative && next.negative) negative = num_before + *next.negative;
  if (!large && next.large) large = num_before + *next.large;
}

void make_uint64_ids(std::span<std::int64_t> bits) {
  for (std::int64_t& id : bits) id = id_of_uint64(static_cast<std::uint64_t>(id));
}

}  // namespace culmen::io
