#include "index/leaf_texts.h"

#include <algorithm>
#include <cstring>

#include "index/field_key.h"

namespace culmen {
namespace {

std::size_t texts_header_bytes(std::size_t num_fields) {
  return sizeof(LeafTextsHeader) + num_fields * sizeof(std::uint32_t);
}

std::uint64_t aligned_for_ends(std::uint64_t bytes) {
  return (bytes + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t) * sizeof(std::uint32_t);
}

template <typename T>
void put_at(std::span<std::byte> bytes, std::size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename T>
T read_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::span<std::byte> leaf_texts_with(std::span<const std::vector<std::uint32_t>> ends, std::size_t num_rows,
                                     const AllocateTexts& allocate, std::uint64_t max_bytes) {
  std::vector<std::uint32_t> offsets(ends.size());
  std::uint64_t size = texts_header_bytes(ends.size());
  for (std::size_t f = 0; f < ends.size(); ++f) {
    if (ends[f].empty()) continue;
    size = aligned_for_ends(size);
    offsets[f] = static_cast<std::uint32_t>(size);
    size += num_rows * sizeof(std::uint32_t) + ends[f].back();
    if (size > max_bytes) return {};
  }
  const std::span<std::byte> bytes = allocate(size);
  put_at(bytes, 0, LeafTextsHeader{static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(num_rows)});
  std::uint64_t written = texts_header_bytes(ends.size());
  for (std::size_t f = 0; f < ends.size(); ++f) {
    put_at(bytes, sizeof(LeafTextsHeader) + f * sizeof(std::uint32_t), offsets[f]);
    if (ends[f].empty()) continue;
    std::fill(bytes.data() + written, bytes.data() + offsets[f], std::byte{0});
    std::memcpy(bytes.data() + offsets[f], ends[f].data(), ends[f].size() * sizeof(std::uint32_t));
    written = offsets[f] + num_rows * sizeof(std::uint32_t) + ends[f].back();
  }
  return bytes;
}

std::byte* text_in(std::span<std::byte> leaf_texts, std::size_t field) {
  return leaf_texts.data() + (LeafTexts(leaf_texts.data()).all_text(field) - leaf_texts.data());
}

std::string too_long_for_leaf(const std::string& what, std::size_t num_rows, std::string_view limit,
                              std::uint64_t longest) {
  return what + " of the " + std::to_string(num_rows) + " rows of one leaf take more than " +
         std::string(limit) + "; the longest, of this row, has " + std::to_string(longest) +
         " bytes. An index that is built with fewer rows per leaf (leaf_rows, --leaf-rows) has room for "
         "longer "
         "ones";
}

LeafTextsBuilder::LeafTextsBuilder(std::span<const Field> fields) : texts_(fields.size()) {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    names_.push_back(fields[f].name);
    if (is_stored_text(fields[f])) stored_.push_back(f);
  }
}

void LeafTextsBuilder::start(std::size_t num_rows) {
  num_rows_ = num_rows;
  for (const std::size_t f : stored_) texts_[f].assign(num_rows, {});
}

void LeafTextsBuilder::set_text(std::size_t field, std::size_t row, std::string_view text) {
  texts_[field][row] = text;
}

void LeafTextsBuilder::copy_row(std::size_t row, const LeafTexts& from, std::size_t from_row) {
  for (const std::size_t f : stored_) set_text(f, row, from.text(f, from_row));
}

void LeafTextsBuilder::refuse_longest(const RefuseRow& refuse) const {
  std::size_t field = 0, row = 0;
  std::size_t longest = 0;
  for (const std::size_t f : stored_)
    for (std::size_t r = 0; r < num_rows_; ++r)
      if (texts_[f][r].size() > longest) {
        longest = texts_[f][r].size();
        field = f;
        row = r;
      }
  refuse(row, too_long_for_leaf("column \"" + names_[field] + "\": the stored texts", num_rows_, "2 GiB",
                                longest));
}

void LeafTextsBuilder::finish(const AllocateTexts& allocate, const RefuseRow& refuse,
                              std::uint64_t max_bytes) const {
  if (stored_.empty()) return;
  std::vector<std::vector<std::uint32_t>> ends(texts_.size());
  for (const std::size_t f : stored_) {
    std::uint64_t end = 0;
    for (const std::string_view text : texts_[f]) {
      end = std::min<std::uint64_t>(end + text.size(), kMaxLeafTextsBytes + 1);
      ends[f].push_back(static_cast<std::uint32_t>(end));
    }
  }
  const std::span<std::byte> bytes = leaf_texts_with(ends, num_rows_, allocate, max_bytes);
  if (bytes.empty()) return refuse_longest(refuse);
  for (const std::size_t f : stored_) {
    if (num_rows_ == 0) continue;
    auto* to = reinterpret_cast<char*>(text_in(bytes, f));
    for (const std::string_view text : texts_[f]) to = std::ranges::copy(text, to).out;
  }
}

std::string_view fault_of_leaf_texts(std::span<const std::byte> bytes, std::size_t num_rows,
                                     std::span<const Field> fields) {
  const std::size_t ends_bytes = num_rows * sizeof(std::uint32_t);
  if (bytes.size() < texts_header_bytes(fields.size()) || bytes.size() > kMaxLeafTextsBytes)
    return "the texts are too short or too long";
  const auto header = read_at<LeafTextsHeader>(bytes, 0);
  if (header.num_bytes != bytes.size() || header.num_rows != num_rows)
    return "the texts have another length or number of rows";
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::uint64_t offset =
        read_at<std::uint32_t>(bytes, sizeof(LeafTextsHeader) + f * sizeof(std::uint32_t));
    if (!is_stored_text(fields[f])) {
      if (offset != 0) return "texts of a field that has none";
      continue;
    }
    if (offset % sizeof(std::uint32_t) != 0 || offset < texts_header_bytes(fields.size()) ||
        offset + ends_bytes > bytes.size())
      return "the texts of a field are outside of their leaf's";
    std::uint32_t end = 0;
    for (std::size_t row = 0; row < num_rows; ++row) {
      const auto next = read_at<std::uint32_t>(bytes, offset + row * sizeof(std::uint32_t));
      if (next < end) return "a text ends before it begins";
      end = next;
    }
    if (offset + ends_bytes + end > bytes.size()) return "the texts of a field are outside of their leaf's";
  }
  return {};
}

}  // namespace culmen
