#include "index/storage/label_codec.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "index/encoding/packed_texts.h"

namespace culmen::storage {

// The last end is repeated after the last row, so the text begins behind more ends than there are rows.
void encode_labels(std::span<const std::byte> labels, std::size_t num_rows, std::vector<std::byte>& payload) {
  const auto* ends = reinterpret_cast<const std::uint32_t*>(labels.data());
  const std::byte* text = labels.data() + labels.size() - ends[num_rows - 1];
  encoding::encode_texts({ends, num_rows}, text, payload);
  payload.resize(payload.size() + encoding::kReadAhead);
}

std::string_view decode_labels(std::span<const std::byte> payload, std::size_t num_rows,
                               std::size_t leaf_rows, const AllocateLabels& allocate) {
  constexpr std::string_view kFault = "the labels overlap or exceed their frame";
  const std::optional<encoding::PackedTexts> texts = encoding::take_texts(payload, num_rows);
  if (!texts || payload.size() != encoding::kReadAhead) return kFault;
  const std::span<std::byte> labels = allocate(texts->text_bytes());
  auto* ends = reinterpret_cast<std::uint32_t*>(labels.data());
  std::fill(std::ranges::copy(texts->ends, ends).out, ends + leaf_rows, texts->text_bytes());
  return encoding::unpack(*texts, labels.data() + leaf_rows * sizeof *ends) ? std::string_view() : kFault;
}

}  // namespace culmen::storage
