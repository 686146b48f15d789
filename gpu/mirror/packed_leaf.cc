#include "gpu/mirror/packed_leaf.h"

#include <cstring>
#include <span>

#include "index/encoding/encode.h"
#include "index/snapshot.h"

namespace culmen::gpu {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

constexpr std::size_t whole_words(std::size_t num_bytes) {
  return (num_bytes + kWord - 1) / kWord;
}

// Of one leaf.
class LeafPacker {
 public:
  LeafPacker(std::size_t num_columns, std::vector<std::byte>& bytes)
      : bytes_(bytes), first_(bytes.size()), num_words_(num_columns * sizeof(ColumnHead) / kWord) {
    bytes_.resize(first_ + num_words_ * kWord);
  }

  template <typename T>
  void add(std::span<const T> values) {
    encoded_.clear();
    encoder_.encode(values, encoded_);
    encoded_.resize(encoded_.size() + encoding::kReadAhead);
    std::span<const std::byte> rest = encoded_;
    const encoding::PackedColumn column = *encoding::take_column<T>(rest, values.size());
    const ColumnHead head = {
        .base = column.base,
        .first_word = static_cast<std::uint32_t>(num_words_),
        .bits = static_cast<std::uint8_t>(column.bits),
        .exponent = static_cast<std::uint8_t>(column.is_bits ? encoding::kBits : column.exponent),
        .num_exceptions = static_cast<std::uint16_t>(column.num_exceptions)};
    std::memcpy(bytes_.data() + first_ + num_added_++ * sizeof head, &head, sizeof head);
    if (column.num_exceptions > 0)
      append(column.exception_rows, column.num_exceptions * sizeof(std::uint16_t));
    for (std::size_t i = 0; i < column.num_exceptions; ++i) {
      const auto value = static_cast<double>(encoding::load<T>(column.exceptions + i * sizeof(T)));
      append(&value, sizeof value);
    }
    append(column.packed, encoding::packed_bytes(column.count, column.bits));
  }

  void finish() {
    num_words_ += kReadAheadWords;
    num_words_ += num_words_ % (kPackedLeafAlignment / kWord);
    bytes_.resize(first_ + num_words_ * kWord);
  }

 private:
  void append(const void* from, std::size_t num_bytes) {
    const std::size_t at = first_ + num_words_ * kWord;
    num_words_ += whole_words(num_bytes);
    bytes_.resize(first_ + num_words_ * kWord);
    std::memcpy(bytes_.data() + at, from, num_bytes);
  }

  std::vector<std::byte>& bytes_;
  const std::size_t first_;
  std::size_t num_words_;      // of the leaf so far
  std::size_t num_added_ = 0;  // columns
  encoding::ColumnEncoder encoder_{{.deltas = false, .most_exponent = kMostPackedExponent}};
  std::vector<std::byte> encoded_;
};

}  // namespace

void pack_leaf(const Snapshot& snapshot, std::uint32_t slot, std::vector<std::byte>& bytes) {
  const std::size_t num_attributes = snapshot.attributes.size(), num_rows = snapshot.leaf(slot).num_rows,
                    stride = snapshot.leaf_shape().leaf_rows;
  LeafPacker packer(kFirstAttribute + num_attributes, bytes);
  packer.add(std::span<const std::int64_t>(snapshot.leaf_ids(slot), num_rows));
  visit_value_type(snapshot, [&]<typename T>(T) {
    const T* values = snapshot.leaf_values<T>(slot);
    for (std::size_t i = 0; i < num_attributes; ++i)
      packer.add(std::span<const T>(values + i * stride, num_rows));
  });
  packer.finish();
}

}  // namespace culmen::gpu
