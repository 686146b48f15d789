#include "index/storage/field_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <type_traits>

#include "index/encoding/encode.h"
#include "index/encoding/packed_column.h"
#include "index/field_key.h"

namespace culmen::storage {
namespace {

// Which rows of a leaf miss a field.
enum class MissingRows : std::uint8_t { none, some, all };

bool is_floating(const Field& field) {
  return field.format.type == ColumnType::floating;
}

std::size_t bitmap_bytes(std::size_t num_rows) {
  return (num_rows + 7) / 8;
}

bool are_values_of(const Field&, std::span<const double> values, std::uint32_t) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool are_values_of(const Field& field, std::span<const std::int64_t> values, std::uint32_t dictionary_size) {
  std::int64_t end;  // of values from 0 on
  switch (field.format.type) {
    case ColumnType::text:
      end = dictionary_size;
      break;
    case ColumnType::boolean:
      end = 2;
      break;
    default:
      return true;
  }
  return std::ranges::all_of(values, [end](std::int64_t value) { return value >= 0 && value < end; });
}

class FieldEncoder {
 public:
  FieldEncoder(const LeafFields& leaf, std::vector<std::byte>& payload) : leaf_(leaf), payload_(payload) {}

  void add_gaps() {
    append(static_cast<std::uint16_t>(leaf_.num_gaps()));
    for (const AttributeGaps& gaps : leaf_.gaps()) {
      append(static_cast<std::uint16_t>(gaps.attribute));
      append_bitmap(leaf_.missing(gaps));
    }
  }

  void add_field(std::size_t f, const Field& field) {
    const FieldZone& zone = leaf_.zone(f);
    const std::uint64_t* missing = leaf_.missing(zone);
    const bool misses_all = zone.num_missing == leaf_.num_rows();
    append(misses_all ? MissingRows::all : missing != nullptr ? MissingRows::some : MissingRows::none);
    if (misses_all) return;
    if (missing != nullptr) append_bitmap(missing);
    if (is_stored_text(field)) return;
    if (is_floating(field)) {
      append_keys<double>(f);
    } else {
      append_keys<std::int64_t>(f);
    }
  }

 private:
  template <typename T>
  void append(const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    payload_.insert(payload_.end(), bytes.begin(), bytes.end());
  }

  void append_bitmap(const std::uint64_t* bitmap) {
    const auto* bytes = reinterpret_cast<const std::byte*>(bitmap);
    payload_.insert(payload_.end(), bytes, bytes + bitmap_bytes(leaf_.num_rows()));
  }

  // Of the rows that have one. T: double or std::int64_t.
  template <typename T>
  void append_keys(std::size_t f) {
    std::vector<T> values;
    values.reserve(leaf_.num_rows());
    for (std::size_t row = 0; row < leaf_.num_rows(); ++row) {
      if (leaf_.misses_field(f, row)) continue;
      const std::int64_t key = leaf_.key(f, row);
      if constexpr (std::is_floating_point_v<T>) {
        values.push_back(double_of_key(key));
      } else {
        values.push_back(key);
      }
    }
    encoder_.encode(std::span<const T>(values), payload_);
  }

  const LeafFields leaf_;
  std::vector<std::byte>& payload_;
  encoding::ColumnEncoder encoder_;
};

}  // namespace

void encode_fields(const LeafFields& leaf, std::span<const Field> fields, std::vector<std::byte>& payload) {
  if (leaf.empty()) return;
  FieldEncoder encoder(leaf, payload);
  encoder.add_gaps();
  for (std::size_t f = 0; f < fields.size(); ++f) encoder.add_field(f, fields[f]);
  payload.resize(payload.size() + encoding::kReadAhead);
}

template <typename T>
bool FieldDecoder::take(T& number) {
  if (rest_.size() < sizeof number) return false;
  number = encoding::load<T>(rest_.data());
  rest_ = rest_.subspan(sizeof number);
  return true;
}

// Into missing_. Some rows are in it, and none after the last.
bool FieldDecoder::take_bitmap() {
  const std::size_t bytes = bitmap_bytes(num_rows_);
  if (rest_.size() < bytes) return false;
  std::ranges::fill(missing_, 0);
  std::memcpy(missing_.data(), rest_.data(), bytes);
  rest_ = rest_.subspan(bytes);
  const bool ends_with_rows = num_rows_ % 64 == 0 || missing_.back() >> num_rows_ % 64 == 0;
  return ends_with_rows && num_missing() > 0;
}

std::size_t FieldDecoder::num_missing() const {
  return std::accumulate(missing_.begin(), missing_.end(), std::size_t{0},
                         [](std::size_t sum, std::uint64_t word) {
                           return sum + static_cast<std::size_t>(std::popcount(word));
                         });
}

bool FieldDecoder::take_gaps() {
  std::uint16_t num_gaps = 0, attribute = 0;
  if (!take(num_gaps)) return false;
  std::size_t least = 0;  // of the next attribute
  for (; num_gaps > 0; --num_gaps, least = attribute + std::size_t{1}) {
    if (!take(attribute) || attribute < least || attribute >= num_attributes_ || !take_bitmap()) return false;
    for (std::size_t row = 0; row < num_rows_; ++row)
      if (is_missing(row)) builder_.set_missing_attribute(attribute, row);
  }
  return true;
}

bool FieldDecoder::take_field(std::size_t f) {
  std::uint8_t form = 0;
  if (!take(form) || form > static_cast<std::uint8_t>(MissingRows::all)) return false;
  const auto which = static_cast<MissingRows>(form);
  std::ranges::fill(missing_, which == MissingRows::all ? ~std::uint64_t{0} : 0);
  if (which == MissingRows::some && !take_bitmap()) return false;
  const std::size_t num_present =
      which == MissingRows::all ? 0 : num_rows_ - (which == MissingRows::some ? num_missing() : 0);
  if (which == MissingRows::some && num_present == 0) return false;
  for (std::size_t row = 0; row < num_rows_; ++row)
    if (is_missing(row)) builder_.set_missing(f, row);
  if (num_present == 0 || is_stored_text(fields_[f])) return true;
  return is_floating(fields_[f]) ? take_keys<double>(f, num_present)
                                 : take_keys<std::int64_t>(f, num_present);
}

template <typename T>
bool FieldDecoder::take_keys(std::size_t f, std::size_t num_present) {
  const std::optional<encoding::PackedColumn> column = encoding::take_column<T>(rest_, num_present);
  if (!column) return false;
  std::vector<T> values(num_present);
  encoding::decode(*column, values.data());
  if (!are_values_of(fields_[f], std::span<const T>(values), dictionary_sizes_[f])) return false;
  const T* next = values.data();
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (is_missing(row)) continue;
    if constexpr (std::is_floating_point_v<T>) {
      builder_.set_key(f, row, key_of_double(*next++));
    } else {
      builder_.set_key(f, row, *next++);
    }
  }
  return true;
}

std::string_view FieldDecoder::decode(std::span<const std::byte> payload, std::size_t num_rows,
                                      const ValueOf& value, std::vector<std::byte>& leaf_fields) {
  rest_ = payload;
  num_rows_ = num_rows;
  missing_.assign((num_rows + 63) / 64, 0);
  builder_.start(num_rows);
  if (!take_gaps()) return "the gaps of an attribute are wrong";
  for (std::size_t f = 0; f < fields_.size(); ++f)
    if (!take_field(f)) return "the values of a field are wrong";
  if (rest_.size() != encoding::kReadAhead) return "the fields are too short or too long";
  leaf_fields = builder_.finish(value);
  return {};
}

}  // namespace culmen::storage
