// LeafTexts: the stored texts of a leaf's rows, in one allocation. Answers show them, and no engine reads them: they are
// apart from LeafFields, so that a search which filters does not read them from files. Written once and then only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/schema.h"

namespace culmen {

struct LeafTextsHeader {
  std::uint32_t num_bytes = 0;  // of all, this header included
  std::uint32_t num_rows = 0;
  // Then uint32_t[num_fields]: of a stored text the offset of its part, which is the end of each text (uint32_t[num_rows]), then
  // the texts; 0 of other fields.
};
static_assert(sizeof(LeafTextsHeader) == 8);

// Reads. A default-constructed one is that of a leaf without stored texts.
class LeafTexts {
 public:
  LeafTexts() = default;
  explicit LeafTexts(const std::byte* bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_ == nullptr; }
  std::span<const std::byte> bytes() const {
    return empty() ? std::span<const std::byte>() : std::span(bytes_, header().num_bytes);
  }
  // Of a field that is a stored text: the end of each row's text, and the texts.
  std::span<const std::uint32_t> ends(std::size_t field) const {
    return {reinterpret_cast<const std::uint32_t*>(bytes_ + offset(field)), header().num_rows};
  }
  const std::byte* all_text(std::size_t field) const {
    return bytes_ + offset(field) + header().num_rows * sizeof(std::uint32_t);
  }
  // Empty if it is missing.
  std::string_view text(std::size_t field, std::size_t row) const {
    const std::uint32_t start = row == 0 ? 0 : ends(field)[row - 1];
    return {reinterpret_cast<const char*>(all_text(field)) + start, ends(field)[row] - start};
  }

 private:
  const LeafTextsHeader& header() const { return *reinterpret_cast<const LeafTextsHeader*>(bytes_); }
  std::uint32_t offset(std::size_t field) const {
    return reinterpret_cast<const std::uint32_t*>(bytes_ + sizeof(LeafTextsHeader))[field];
  }

  const std::byte* bytes_ = nullptr;
};

// LeafTexts but for the texts themselves, which are zeros. ends: [num_fields] of each row's text; none of a field that is no
// stored text. Throws InputError if they take 2 GiB.
std::vector<std::byte> leaf_texts_with(std::span<const std::vector<std::uint32_t>> ends,
                                       std::size_t num_rows);
// Where the texts of a field are written to.
std::byte* text_in(std::vector<std::byte>& leaf_texts, std::size_t field);

// Collects the stored texts of one leaf, then writes its LeafTexts. Used again for the next leaf.
class LeafTextsBuilder {
 public:
  explicit LeafTextsBuilder(std::span<const Field> fields);

  // All are empty at first.
  void start(std::size_t num_rows);
  // The text stays where it is until finish().
  void set_text(std::size_t field, std::size_t row, std::string_view text);
  // All texts of a row of another leaf.
  void copy_row(std::size_t row, const LeafTexts& from, std::size_t from_row);

  // Empty if no field is a stored text. Throws InputError if they take 2 GiB.
  std::vector<std::byte> finish() const;

 private:
  std::size_t num_rows_ = 0;
  std::vector<std::size_t> stored_;                   // the fields that are stored texts
  std::vector<std::vector<std::string_view>> texts_;  // [num_fields][num_rows]; none of other fields
};

// What is wrong with LeafTexts of any bytes, for a leaf of `num_rows` rows; empty if nothing is.
std::string_view fault_of_leaf_texts(std::span<const std::byte> bytes, std::size_t num_rows,
                                     std::span<const Field> fields);

}  // namespace culmen
