// LeafTexts: the stored texts of a leaf's rows, in one allocation. Answers show them, and no engine reads them: they are
// apart from LeafFields, so that a search which filters does not read them from files. Written once and then only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
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

// Offsets in a leaf are 32 bits.
inline constexpr std::uint64_t kMaxLeafTextsBytes = std::numeric_limits<std::int32_t>::max();

// Allocates memory for LeafTexts, which need not be zeroed.
using AllocateTexts = std::function<std::span<std::byte>(std::size_t num_bytes)>;

// LeafTexts but for the texts themselves, which are to be written. ends: [num_fields] of each row's text; none of a field that
// is no stored text. Empty, without allocating, if they take more than `max_bytes`.
std::span<std::byte> leaf_texts_with(std::span<const std::vector<std::uint32_t>> ends, std::size_t num_rows,
                                     const AllocateTexts& allocate,
                                     std::uint64_t max_bytes = kMaxLeafTextsBytes);
// Where the texts of a field are written to.
std::byte* text_in(std::span<std::byte> leaf_texts, std::size_t field);

// Throws an error that names this row of a leaf, of which texts take more than fits into it.
using RefuseRow = std::function<void(std::size_t row, const std::string& problem)>;

// `what`: the texts, as `column "note": the texts`. longest: bytes of the longest of them.
std::string too_long_for_leaf(const std::string& what, std::size_t num_rows, std::string_view limit,
                              std::uint64_t longest);

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

  // Writes them where `allocate` says, unless no field is a stored text. If they take more than `max_bytes`, calls `refuse`
  // with the row of the longest.
  void finish(const AllocateTexts& allocate, const RefuseRow& refuse,
              std::uint64_t max_bytes = kMaxLeafTextsBytes) const;

 private:
  void refuse_longest(const RefuseRow& refuse) const;

  std::size_t num_rows_ = 0;
  std::vector<std::string> names_;                    // of the fields
  std::vector<std::size_t> stored_;                   // the fields that are stored texts
  std::vector<std::vector<std::string_view>> texts_;  // [num_fields][num_rows]; none of other fields
};

// What is wrong with LeafTexts of any bytes, for a leaf of `num_rows` rows; empty if nothing is.
std::string_view fault_of_leaf_texts(std::span<const std::byte> bytes, std::size_t num_rows,
                                     std::span<const Field> fields);

}  // namespace culmen
