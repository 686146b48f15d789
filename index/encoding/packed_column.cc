#include "index/encoding/packed_column.h"

namespace culmen::encoding {
namespace {

// Bytes that are taken from the front, as long as there are enough of them.
class Taker {
 public:
  explicit Taker(std::span<const std::byte> bytes) : bytes_(bytes) {}

  const std::byte* take(std::uint64_t count) {
    if (count > bytes_.size()) return nullptr;
    const std::byte* first = bytes_.data();
    bytes_ = bytes_.subspan(count);
    return first;
  }
  template <typename T>
  bool take_number(T& number) {
    const std::byte* from = take(sizeof number);
    if (from != nullptr) number = load<T>(from);
    return from != nullptr;
  }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

bool are_rows(const PackedColumn& column) {
  bool good = true;
  for (std::size_t i = 0; i < column.num_exceptions; ++i) {
    const auto row = load<std::uint16_t>(column.exception_rows + i * sizeof(std::uint16_t));
    good &= row < column.count;
    if (i > 0) good &= load<std::uint16_t>(column.exception_rows + (i - 1) * sizeof(std::uint16_t)) < row;
  }
  return good;
}

template <typename T>
bool has_form(const PackedColumn& column) {
  constexpr bool kIsInteger = std::is_integral_v<T>;
  if (column.bits > kMostOddBits && column.bits != 64) return false;
  if (kIsInteger && (column.is_bits || column.exponent != 0 || column.num_exceptions > 0)) return false;
  return column.is_bits ? column.num_exceptions == 0 : column.exponent <= kMostExponent;
}

template <typename Short>
bool take_short(Taker& taker, std::uint64_t& base) {
  Short number{};
  const bool is_there = taker.take_number(number);
  base = static_cast<std::uint64_t>(std::int64_t{number});
  return is_there;
}

bool take_base(Taker& taker, int log_bytes, std::uint64_t& base) {
  switch (log_bytes) {
    case 0:
      return take_short<std::int8_t>(taker, base);
    case 1:
      return take_short<std::int16_t>(taker, base);
    case 2:
      return take_short<std::int32_t>(taker, base);
    default:
      return take_short<std::int64_t>(taker, base);
  }
}

template <typename T>
T value_of(const PackedColumn& column, std::uint64_t number) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(number);
  } else {
    if (column.is_bits) return from_ordered_bits<T>(number);
    return static_cast<T>(double_of(number) / kPowersOfTen[column.exponent]);
  }
}

}  // namespace

template <typename T>
std::optional<PackedColumn> take_column(std::span<const std::byte>& bytes, std::size_t count) {
  Taker taker(bytes);
  std::uint8_t form = 0, bits = 0;
  std::uint16_t num_exceptions = 0;
  if (count == 0 || !taker.take_number(form) || !taker.take_number(bits)) return std::nullopt;
  const bool has_exceptions = (bits & kExceptions) != 0;
  if (has_exceptions && (!taker.take_number(num_exceptions) || num_exceptions == 0)) return std::nullopt;
  PackedColumn column;
  column.count = count;
  column.is_bits = (form & kFormMask) == kBits;
  column.exponent = column.is_bits ? 0 : form & kFormMask;
  column.has_deltas = (form & kDeltas) != 0;
  column.bits = bits & ~kExceptions;
  column.num_exceptions = num_exceptions;
  if (!has_form<T>(column) || !take_base(taker, form >> kBaseShift & kBaseMask, column.base))
    return std::nullopt;
  if (column.has_deltas && !taker.take_number(column.first)) return std::nullopt;
  column.packed = taker.take(packed_bytes(count - (column.has_deltas ? 1 : 0), column.bits));
  column.exception_rows = taker.take(num_exceptions * sizeof(std::uint16_t));
  column.exceptions = taker.take(num_exceptions * sizeof(T));
  if (column.packed == nullptr || column.exception_rows == nullptr || column.exceptions == nullptr ||
      taker.rest().size() < kReadAhead || !are_rows(column))
    return std::nullopt;
  bytes = taker.rest();
  return column;
}

template <typename T>
void decode_plainly(const PackedColumn& column, T* values) {
  std::uint64_t number = column.first;
  for (std::size_t row = 0; row < column.count; ++row) {
    if (!column.has_deltas) {
      number = column.base + packed_number(column.packed, row, column.bits);
    } else if (row > 0) {
      number += column.base + packed_number(column.packed, row - 1, column.bits);
    }
    values[row] = value_of<T>(column, number);
  }
  for (std::size_t i = 0; i < column.num_exceptions; ++i)
    values[load<std::uint16_t>(column.exception_rows + i * sizeof(std::uint16_t))] =
        load<T>(column.exceptions + i * sizeof(T));
}

template std::optional<PackedColumn> take_column<float>(std::span<const std::byte>&, std::size_t);
template std::optional<PackedColumn> take_column<double>(std::span<const std::byte>&, std::size_t);
template std::optional<PackedColumn> take_column<std::int64_t>(std::span<const std::byte>&, std::size_t);
template void decode_plainly(const PackedColumn&, float*);
template void decode_plainly(const PackedColumn&, double*);
template void decode_plainly(const PackedColumn&, std::int64_t*);

}  // namespace culmen::encoding
