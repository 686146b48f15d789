#include "index/storage/leaf_codec.h"

#include <algorithm>
#include <cstring>

#include "index/encoding/encode.h"
#include "index/encoding/packed_column.h"

namespace culmen::storage {
namespace {

// Calls use(column) for each attribute's values.
template <typename T, typename Byte, typename Use>
bool for_columns(const LeafShape& shape, Byte* values, const Use& use) {
  for (std::size_t i = 0; i < shape.num_attributes; ++i)
    if (!use(reinterpret_cast<T*>(values) + i * shape.leaf_rows)) return false;
  return true;
}

// Calls for_columns with float or double.
template <typename Byte, typename Use>
bool for_typed_columns(const LeafShape& shape, Byte* values, const Use& use) {
  constexpr bool kIsConst = std::is_const_v<Byte>;
  if (shape.value_bytes == sizeof(float))
    return for_columns<std::conditional_t<kIsConst, const float, float>>(shape, values, use);
  return for_columns<std::conditional_t<kIsConst, const double, double>>(shape, values, use);
}

template <typename T>
bool decode_column(std::span<const std::byte>& bytes, std::size_t num_rows, std::size_t leaf_rows,
                   T* column) {
  const auto packed = encoding::take_column<T>(bytes, num_rows);
  if (!packed) return false;
  encoding::decode(*packed, column);
  std::fill(column + num_rows, column + leaf_rows, T{0});
  return true;
}

}  // namespace

// Rows and partition, then where the leaf's frames are in the files that the index has.
std::size_t LeafCodec::record_bytes() const {
  return 2 * sizeof(std::uint32_t) +
         (std::size_t{shape_.has_labels} + std::size_t{has_fields_file_} + std::size_t{shape_.has_texts}) *
             sizeof(LeafFrame);
}

std::uint64_t LeafCodec::most_payload_bytes() const {
  return record_bytes() +
         shape_.num_attributes * encoding::most_column_bytes(shape_.leaf_rows, shape_.value_bytes) +
         encoding::most_column_bytes(shape_.leaf_rows, sizeof(std::int64_t)) + encoding::kReadAhead;
}

void LeafCodec::encode(const LeafRecord& record, const std::byte* values, const std::int64_t* ids,
                       std::vector<std::byte>& payload) const {
  payload.reserve(most_payload_bytes());
  payload.resize(record_bytes());
  std::byte* to = payload.data();
  const auto put = [&to](const auto& part) {
    to = std::copy_n(std::as_bytes(std::span(&part, 1)).data(), sizeof part, to);
  };
  put(record.num_rows);
  put(record.partition);
  if (shape_.has_labels) put(record.labels);
  if (has_fields_file_) put(record.fields);
  if (shape_.has_texts) put(record.texts);
  encoding::ColumnEncoder encoder;
  for_typed_columns(shape_, values, [&](const auto* column) {
    encoder.encode(std::span(column, record.num_rows), payload);
    return true;
  });
  encoder.encode(std::span(ids, record.num_rows), payload);
  payload.resize(payload.size() + encoding::kReadAhead);
}

std::string_view LeafCodec::decode(std::span<const std::byte> payload, LeafRecord& record, std::byte* values,
                                   std::int64_t* ids) const {
  if (payload.size() < record_bytes()) return "a leaf without its record";
  const auto take = [&payload](auto& part) {
    std::memcpy(&part, payload.data(), sizeof part);
    payload = payload.subspan(sizeof part);
  };
  record = {};
  take(record.num_rows);
  take(record.partition);
  if (shape_.has_labels) take(record.labels);
  if (has_fields_file_) take(record.fields);
  if (shape_.has_texts) take(record.texts);
  if (record.num_rows == 0 || record.num_rows > shape_.leaf_rows)
    return "a leaf of no rows, or of more than fit it";
  const auto decode_next = [&](auto* column) {
    return decode_column(payload, record.num_rows, shape_.leaf_rows, column);
  };
  if (!for_typed_columns(shape_, values, decode_next) || !decode_next(ids))
    return "a column of a leaf is wrong";
  return payload.size() == encoding::kReadAhead ? "" : "a leaf with bytes after its columns";
}

}  // namespace culmen::storage
