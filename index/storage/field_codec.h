// The fields and gaps of a leaf as the payload of their frame, and back (docs/format.md, "Fields"). In memory they are LeafFields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/schema.h"
#include "index/leaf_fields.h"

namespace culmen::storage {

// Appends to no bytes; none of a leaf that has no LeafFields.
void encode_fields(const LeafFields& leaf, std::span<const Field> fields, std::vector<std::byte>& payload);

class FieldDecoder {
 public:
  // Fields and sizes outlive it. dictionary_sizes: of each field, as of a snapshot.
  FieldDecoder(std::size_t num_attributes, std::span<const Field> fields,
               std::span<const std::uint32_t> dictionary_sizes)
      : num_attributes_(num_attributes),
        fields_(fields),
        dictionary_sizes_(dictionary_sizes),
        builder_(fields) {}

  // Of an attribute in a row, as stored.
  using ValueOf = std::function<double(std::size_t attribute, std::size_t row)>;

  // Returns what is wrong with the payload; empty if nothing is: then it has made LeafFields, in which fault_of_leaf_fields
  // finds nothing either.
  std::string_view decode(std::span<const std::byte> payload, std::size_t num_rows, const ValueOf& value,
                          std::vector<std::byte>& leaf_fields);

 private:
  bool take_gaps();
  bool take_field(std::size_t field);
  bool take_bitmap();
  template <typename T>
  bool take_keys(std::size_t field, std::size_t num_present);
  template <typename T>
  bool take(T& number);
  bool is_missing(std::size_t row) const { return (missing_[row / 64] >> row % 64 & 1) != 0; }
  std::size_t num_missing() const;

  const std::size_t num_attributes_;
  const std::span<const Field> fields_;
  const std::span<const std::uint32_t> dictionary_sizes_;
  LeafFieldsBuilder builder_;
  std::span<const std::byte> rest_;  // of the payload
  std::size_t num_rows_ = 0;
  std::vector<std::uint64_t> missing_;  // a bitmap of rows
};

}  // namespace culmen::storage
