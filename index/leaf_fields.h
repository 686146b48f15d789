// LeafFields: what a leaf holds besides its attributes' values and ids, in one allocation: which values are missing,
// and the filter and stored columns, but for stored texts (leaf_texts.h). It is written once and then only read. Files hold
// it in fewer bytes (field_codec.h).
//
// Keys of a filter column are packed: each as its difference to the smallest of the leaf, in 0, 1, 2, 4 or 8 bytes, so
// that a mask of rows is computed by comparing the packed numbers themselves. A leaf without gaps in an index without
// fields has no LeafFields at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/host_device.h"
#include "culmen/schema.h"
#include "index/field_key.h"

namespace culmen {

// Which rows of a leaf miss an attribute, and the extremes of the others' stored values. (Zone maps cover stand-ins.)
struct AttributeGaps {
  std::uint32_t attribute = 0;
  std::uint32_t num_missing = 0;  // at least 1
  std::uint32_t missing = 0;      // offset of a bitmap: bit r is set if row r misses the attribute
  std::uint32_t reserved = 0;
  double minimum = 0, maximum = 0;  // of the rows that have it; 0 if none has

  friend bool operator==(const AttributeGaps&, const AttributeGaps&) = default;
};
static_assert(sizeof(AttributeGaps) == 32);

// One field of a leaf.
struct FieldZone {
  // Of the keys of rows that have a value; minimum > maximum: none has. Both 0 in stored columns.
  std::int64_t minimum = 0, maximum = 0;
  std::uint64_t set = 0;  // key_set_bit of each key
  std::uint32_t num_missing = 0;
  std::uint32_t missing = 0;    // offset of the bitmap; 0 if no row or every row misses the value
  std::uint32_t values = 0;     // offset of packed keys; 0 of a stored text
  std::uint32_t key_bytes = 0;  // of a packed key: 0, 1, 2, 4 or 8

  friend bool operator==(const FieldZone&, const FieldZone&) = default;
};
static_assert(sizeof(FieldZone) == 40);

struct LeafFieldsHeader {
  std::uint32_t num_bytes = 0;  // of all, this header and the padding at the end included
  std::uint32_t num_rows = 0;
  std::uint32_t num_gaps = 0;    // then AttributeGaps[num_gaps], by attribute
  std::uint32_t num_fields = 0;  // then FieldZone[num_fields]
};
static_assert(sizeof(LeafFieldsHeader) == 16);

// Kernels read whole vectors, and so as many bytes after the last key.
inline constexpr std::size_t kLeafFieldsPadding = 64;

// Reads. A default-constructed one, of a leaf without LeafFields, has neither gaps nor fields.
class LeafFields {
 public:
  LeafFields() = default;
  CULMEN_HOST_DEVICE explicit LeafFields(const std::byte* bytes) : bytes_(bytes) {}

  CULMEN_HOST_DEVICE bool empty() const { return bytes_ == nullptr; }
  const std::byte* data() const { return bytes_; }
  std::span<const std::byte> bytes() const {
    return empty() ? std::span<const std::byte>() : std::span(bytes_, header().num_bytes);
  }
  std::uint32_t num_rows() const { return empty() ? 0 : header().num_rows; }
  std::uint32_t num_fields() const { return empty() ? 0 : header().num_fields; }
  std::span<const AttributeGaps> gaps() const {
    if (empty()) return {};
    return {reinterpret_cast<const AttributeGaps*>(bytes_ + sizeof(LeafFieldsHeader)), header().num_gaps};
  }
  CULMEN_HOST_DEVICE std::uint32_t num_gaps() const { return empty() ? 0 : header().num_gaps; }
  // Null: no row misses the attribute.
  CULMEN_HOST_DEVICE const AttributeGaps* gaps_of(std::size_t attribute) const {
    for (std::uint32_t i = 0; i < num_gaps(); ++i)
      if (gap(i).attribute == attribute) return &gap(i);
    return nullptr;
  }
  CULMEN_HOST_DEVICE const AttributeGaps& gap(std::size_t i) const {
    return reinterpret_cast<const AttributeGaps*>(bytes_ + sizeof(LeafFieldsHeader))[i];
  }
  CULMEN_HOST_DEVICE const FieldZone& zone(std::size_t field) const {
    return reinterpret_cast<const FieldZone*>(bytes_ + sizeof(LeafFieldsHeader) +
                                              header().num_gaps * sizeof(AttributeGaps))[field];
  }

  // Bitmaps of (num_rows + 63) / 64 words; null where no row, or every row, misses the value.
  CULMEN_HOST_DEVICE const std::uint64_t* missing(const AttributeGaps& gaps) const {
    return bitmap(gaps.missing);
  }
  const std::uint64_t* missing(const FieldZone& zone) const {
    return zone.missing == 0 ? nullptr : bitmap(zone.missing);
  }
  CULMEN_HOST_DEVICE const std::byte* packed_keys(const FieldZone& zone) const {
    return bytes_ + zone.values;
  }

  CULMEN_HOST_DEVICE bool misses_attribute(std::size_t attribute, std::size_t row) const {
    const AttributeGaps* gaps = gaps_of(attribute);
    return gaps != nullptr && has_bit(missing(*gaps), row);
  }
  CULMEN_HOST_DEVICE bool misses_field(std::size_t field, std::size_t row) const {
    const FieldZone& of = zone(field);
    return of.num_missing == header().num_rows || (of.missing != 0 && has_bit(bitmap(of.missing), row));
  }
  // Of a row that has a value.
  CULMEN_HOST_DEVICE std::int64_t key(std::size_t field, std::size_t row) const {
    const FieldZone& of = zone(field);
    const std::byte* packed = packed_keys(of) + row * of.key_bytes;
    std::uint64_t difference = 0;
    if (of.key_bytes == 1) difference = *reinterpret_cast<const std::uint8_t*>(packed);
    if (of.key_bytes == 2) difference = *reinterpret_cast<const std::uint16_t*>(packed);
    if (of.key_bytes == 4) difference = *reinterpret_cast<const std::uint32_t*>(packed);
    if (of.key_bytes == 8) difference = *reinterpret_cast<const std::uint64_t*>(packed);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(of.minimum) + difference);
  }

  // Returns true if a node above sees no difference to another leaf's.
  bool has_zones_of(const LeafFields& other) const;

 private:
  CULMEN_HOST_DEVICE const LeafFieldsHeader& header() const {
    return *reinterpret_cast<const LeafFieldsHeader*>(bytes_);
  }
  CULMEN_HOST_DEVICE const std::uint64_t* bitmap(std::uint32_t offset) const {
    return reinterpret_cast<const std::uint64_t*>(bytes_ + offset);
  }
  CULMEN_HOST_DEVICE static bool has_bit(const std::uint64_t* bitmap, std::size_t row) {
    return (bitmap[row / 64] >> row % 64 & 1) != 0;
  }

  const std::byte* bytes_ = nullptr;
};

// The column of one field for some rows, on its way into leaves.
struct FieldRows {
  std::vector<std::int64_t> keys;       // of everything but stored texts
  std::vector<std::string_view> texts;  // of stored texts
  std::vector<bool> missing;  // empty: none is missing; keys and texts of missing values are ignored
};

// Collects the rows of one leaf, then writes their LeafFields. Used again for the next leaf.
class LeafFieldsBuilder {
 public:
  explicit LeafFieldsBuilder(std::span<const Field> fields);

  void start(std::size_t num_rows);
  // Marks an attribute as missing in a row of the leaf.
  void set_missing_attribute(std::size_t attribute, std::size_t row);
  // A field of a row, or that it is missing; every row needs one of these for every field but stored texts, which may be
  // missing.
  void set_key(std::size_t field, std::size_t row, std::int64_t key);
  void set_missing(std::size_t field, std::size_t row);
  // Copies all gaps and fields of a row of another leaf, but for stored texts.
  void copy_row(std::size_t row, const LeafFields& from, std::size_t from_row);

  // Of the values as stored: value(attribute, row). Empty if nothing is missing and there are no fields.
  template <typename Value>
  std::vector<std::byte> finish(const Value& value) {
    for (AttributeGaps& gaps : find_gaps()) {
      bool has_value = false;
      for (std::size_t row = 0; row < num_rows_; ++row) {
        if (is_missing_attribute(gaps.attribute, row)) continue;
        const double here = value(gaps.attribute, row);
        gaps.minimum = has_value && gaps.minimum < here ? gaps.minimum : here;
        gaps.maximum = has_value && gaps.maximum > here ? gaps.maximum : here;
        has_value = true;
      }
    }
    return encode();
  }

 private:
  struct FieldColumn {
    bool is_stored_text;
    std::vector<std::int64_t> keys;      // none of a stored text
    std::vector<std::uint64_t> missing;  // bitmap
    std::uint32_t num_missing = 0;
  };
  struct Missing {
    std::size_t attribute;
    std::vector<std::uint64_t> rows;  // bitmap
  };

  std::vector<AttributeGaps>& find_gaps();
  bool is_missing_attribute(std::size_t attribute, std::size_t row) const;
  std::vector<std::byte> encode() const;

  std::size_t num_rows_ = 0;
  std::vector<FieldColumn> columns_;
  std::vector<Missing> missing_;  // by attribute
  std::vector<AttributeGaps> gaps_;
};

// What is wrong with LeafFields of any bytes, for a leaf of `num_rows` rows; empty if nothing is. Checks
// all that readers rely on: offsets, lengths, bitmaps, zones, codes below the size of their dictionary.
std::string_view fault_of_leaf_fields(std::span<const std::byte> bytes, std::size_t num_rows,
                                      std::size_t num_attributes, std::span<const Field> fields,
                                      std::span<const std::uint32_t> dictionary_sizes);

}  // namespace culmen
