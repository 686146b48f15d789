#include "index/encoding/encode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "index/encoding/packed_column.h"

namespace culmen::encoding {
namespace {

// Decimals of more digits are no shorter than their bits, and random values often look like them.
constexpr double kMostNumber = 0x1p49;
template <typename T>
constexpr double kMostScaled = std::is_same_v<T, float> ? 0x1p22 : kMostNumber;

// The few rows that are no decimals may be this many more than one of four of those that were looked at.
constexpr std::size_t kFreeExceptions = 4;

template <typename T>
bool has_same_bits(T a, T b) {
  return std::bit_cast<BitsOf<T>>(a) == std::bit_cast<BitsOf<T>>(b);
}

// With as many digits after the point as the largest value leaves. No decimal of fewer digits is missed so.
template <typename T>
int largest_exponent(std::span<const T> values, int most) {
  double largest = 0;
  for (const T value : values) {
    const double size = std::fabs(static_cast<double>(value));
    if (size > largest && size <= kMostNumber) largest = size;
  }
  int exponent = 0;
  while (exponent < most && largest * kPowersOfTen[exponent + 1] <= kMostScaled<T>) ++exponent;
  return exponent;
}

int bits_for(std::uint64_t range) {
  const auto bits = static_cast<int>(std::bit_width(range));
  return bits <= kMostOddBits ? bits : 64;
}

template <typename T>
void append_bytes(const T& value, std::vector<std::byte>& bytes) {
  const auto from = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), from.begin(), from.end());
}

// 1, 2, 4 or 8 bytes, as many as hold the signed number.
int log_of_base_bytes(std::uint64_t base) {
  const auto number = static_cast<std::int64_t>(base);
  if (number == static_cast<std::int8_t>(number)) return 0;
  if (number == static_cast<std::int16_t>(number)) return 1;
  return number == static_cast<std::int32_t>(number) ? 2 : 3;
}

std::uint64_t base_bytes(std::uint64_t base) {
  return std::uint64_t{1} << log_of_base_bytes(base);
}

struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t greatest = std::numeric_limits<std::int64_t>::min();

  void add(std::uint64_t number) {
    least = std::min(least, static_cast<std::int64_t>(number));
    greatest = std::max(greatest, static_cast<std::int64_t>(number));
  }
  std::uint64_t size() const {
    return static_cast<std::uint64_t>(greatest) - static_cast<std::uint64_t>(least);
  }
};

// As bits, each after the one before it.
class Packer {
 public:
  Packer(int bits, std::uint64_t count, std::vector<std::byte>& bytes) : bits_(bits), bytes_(bytes) {
    const std::size_t first = bytes.size();
    bytes.resize(first + packed_bytes(count, bits) + kReadAhead);  // whole words are written
    to_ = bytes.data() + first;
  }
  ~Packer() {
    std::memcpy(to_, &word_, sizeof word_);
    bytes_.resize(bytes_.size() - kReadAhead);
  }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void add(std::uint64_t number) {
    word_ |= number << used_;
    used_ += bits_;
    if (used_ < 64) return;
    std::memcpy(to_, &word_, sizeof word_);
    to_ += sizeof word_;
    used_ -= 64;
    word_ = used_ > 0 ? number >> (bits_ - used_) : 0;
  }

 private:
  const int bits_;
  std::vector<std::byte>& bytes_;
  std::byte* to_;
  std::uint64_t word_ = 0;  // not written yet
  int used_ = 0;            // bits of it
};

}  // namespace

// Fills decimals_, exponent_ and exceptions_. Returns false if too many values are no decimals.
template <typename T>
bool ColumnEncoder::find_decimals(std::span<const T> values) {
  exponent_ = largest_exponent(values, forms_.most_exponent);
  exceptions_.clear();
  decimals_.resize(values.size());
  const double power = kPowersOfTen[exponent_];
  std::uint64_t before = 0;
  for (std::size_t row = 0; row < values.size(); ++row) {
    const double nearest = static_cast<double>(values[row]) * power + kDoubleShift;
    const std::uint64_t number =
        std::bit_cast<std::uint64_t>(nearest) - std::bit_cast<std::uint64_t>(kDoubleShift);
    const bool is_decimal = std::fabs(nearest - kDoubleShift) <= kMostNumber &&
                            has_same_bits(static_cast<T>(double_of(number) / power), values[row]);
    if (is_decimal) {
      before = number;
    } else {
      exceptions_.push_back(static_cast<std::uint16_t>(row));
      if (exceptions_.size() > kFreeExceptions + row / 4) return false;
    }
    decimals_[row] = before;
  }
  // Rows before the first decimal have its number, too, so that they widen no range.
  std::size_t first = 0;
  while (first < exceptions_.size() && exceptions_[first] == first) ++first;
  if (first == values.size()) return false;
  std::fill_n(decimals_.begin(), first, decimals_[first]);
  shorten_decimals();
  return true;
}

// Takes away the zeros that all decimals end with.
void ColumnEncoder::shorten_decimals() {
  constexpr auto power = [](int exponent) { return static_cast<std::int64_t>(kPowersOfTen[exponent]); };
  int zeros = std::min(exponent_, 15);  // numbers have no more digits
  for (const std::uint64_t number : decimals_) {
    while (zeros > 0 && static_cast<std::int64_t>(number) % power(zeros) != 0) --zeros;
    if (zeros == 0) return;
  }
  for (std::uint64_t& number : decimals_)
    number = static_cast<std::uint64_t>(static_cast<std::int64_t>(number) / power(zeros));
  exponent_ -= zeros;
}

ColumnEncoder::Packing ColumnEncoder::best_packing(std::span<const std::uint64_t> numbers) const {
  Range values, steps;
  values.add(numbers[0]);
  for (std::size_t row = 1; row < numbers.size(); ++row) {
    values.add(numbers[row]);
    steps.add(numbers[row] - numbers[row - 1]);
  }
  Packing plain{false, bits_for(values.size()), static_cast<std::uint64_t>(values.least), 0};
  plain.bytes = base_bytes(plain.base) + packed_bytes(numbers.size(), plain.bits);
  if (numbers.size() < 2 || !forms_.deltas) return plain;
  Packing deltas{true, bits_for(steps.size()), static_cast<std::uint64_t>(steps.least), 0};
  deltas.bytes =
      base_bytes(deltas.base) + sizeof(std::uint64_t) + packed_bytes(numbers.size() - 1, deltas.bits);
  return deltas.bytes < plain.bytes ? deltas : plain;
}

void ColumnEncoder::append_numbers(std::span<const std::uint64_t> numbers, const Packing& packing,
                                   std::vector<std::byte>& bytes) {
  if (packing.has_deltas) append_bytes(numbers[0], bytes);
  Packer packer(packing.bits, numbers.size() - (packing.has_deltas ? 1 : 0), bytes);
  if (packing.has_deltas) {
    for (std::size_t row = 1; row < numbers.size(); ++row)
      packer.add(numbers[row] - numbers[row - 1] - packing.base);
  } else {
    for (const std::uint64_t number : numbers) packer.add(number - packing.base);
  }
}

template <typename T>
void ColumnEncoder::append(std::span<const T> values, std::uint8_t form, const Packing& packing,
                           std::span<const std::uint64_t> numbers, std::vector<std::byte>& bytes) const {
  const std::span<const std::uint16_t> exceptions =
      form == kBits ? std::span<const std::uint16_t>() : exceptions_;
  const int log_bytes = log_of_base_bytes(packing.base);
  append_bytes(static_cast<std::uint8_t>(form | log_bytes << kBaseShift | (packing.has_deltas ? kDeltas : 0)),
               bytes);
  append_bytes(static_cast<std::uint8_t>(packing.bits | (exceptions.empty() ? 0 : kExceptions)), bytes);
  if (!exceptions.empty()) append_bytes(static_cast<std::uint16_t>(exceptions.size()), bytes);
  const auto base = std::as_bytes(std::span(&packing.base, 1)).first(base_bytes(packing.base));
  bytes.insert(bytes.end(), base.begin(), base.end());
  append_numbers(numbers, packing, bytes);
  for (const std::uint16_t row : exceptions) append_bytes(row, bytes);
  for (const std::uint16_t row : exceptions) append_bytes(values[row], bytes);
}

template <typename T>
void ColumnEncoder::encode(std::span<const T> values, std::vector<std::byte>& bytes) {
  bits_.resize(values.size());
  if constexpr (std::is_integral_v<T>) {
    exceptions_.clear();
    std::transform(values.begin(), values.end(), bits_.begin(),
                   [](T value) { return static_cast<std::uint64_t>(value); });
    append(values, 0, best_packing(bits_), bits_, bytes);
  } else {
    std::transform(values.begin(), values.end(), bits_.begin(), [](T value) { return ordered_bits(value); });
    const Packing as_bits = best_packing(bits_);
    if (find_decimals(values)) {
      const Packing as_decimals = best_packing(decimals_);
      const std::size_t exception_bytes =
          exceptions_.empty()
              ? 0
              : sizeof(std::uint16_t) * (exceptions_.size() + 1) + sizeof(T) * exceptions_.size();
      if (as_decimals.bytes + exception_bytes < as_bits.bytes)
        return append(values, static_cast<std::uint8_t>(exponent_), as_decimals, decimals_, bytes);
    }
    append(values, kBits, as_bits, bits_, bytes);
  }
}

template void ColumnEncoder::encode(std::span<const float>, std::vector<std::byte>&);
template void ColumnEncoder::encode(std::span<const double>, std::vector<std::byte>&);
template void ColumnEncoder::encode(std::span<const std::int64_t>, std::vector<std::byte>&);

}  // namespace culmen::encoding
