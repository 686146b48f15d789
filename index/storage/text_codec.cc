#include "index/storage/text_codec.h"

#include <cstdint>
#include <optional>

#include "index/encoding/packed_texts.h"
#include "index/field_key.h"

namespace culmen::storage {
namespace {

// Missing texts are empty.
bool are_texts_of(const LeafFields& leaf_fields, std::size_t field, std::span<const std::uint32_t> ends) {
  if (leaf_fields.empty()) return true;
  std::uint32_t start = 0;
  for (std::size_t row = 0; row < ends.size(); start = ends[row++])
    if (ends[row] > start && leaf_fields.misses_field(field, row)) return false;
  return true;
}

}  // namespace

void encode_leaf_texts(const LeafTexts& leaf, std::span<const Field> fields,
                       std::vector<std::byte>& payload) {
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (is_stored_text(fields[f])) encoding::encode_texts(leaf.ends(f), leaf.all_text(f), payload);
  payload.resize(payload.size() + encoding::kReadAhead);
}

std::string_view decode_leaf_texts(std::span<const std::byte> payload, std::size_t num_rows,
                                   const LeafFields& leaf_fields, std::span<const Field> fields,
                                   const AllocateTexts& allocate) {
  constexpr std::string_view kFault = "the texts of a field are wrong";
  std::vector<std::optional<encoding::PackedTexts>> packed(fields.size());
  std::vector<std::vector<std::uint32_t>> ends(fields.size());
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!is_stored_text(fields[f])) continue;
    packed[f] = encoding::take_texts(payload, num_rows);
    if (!packed[f] || !are_texts_of(leaf_fields, f, packed[f]->ends)) return kFault;
    ends[f] = packed[f]->ends;
  }
  if (payload.size() != encoding::kReadAhead) return "the texts are too short or too long";
  const std::span<std::byte> leaf_texts = leaf_texts_with(ends, num_rows, allocate);
  if (leaf_texts.empty()) return "the texts are too short or too long";
  for (std::size_t f = 0; f < fields.size(); ++f)
    if (packed[f] && !encoding::unpack(*packed[f], text_in(leaf_texts, f))) return kFault;
  return {};
}

}  // namespace culmen::storage
