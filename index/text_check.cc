#include "index/text_check.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/utf8.h"

namespace culmen {
namespace {

// All texts together are UTF-8, and none begins within a sequence: true of nearly all columns, and fast to see.
bool are_all_utf8(const LabelsView& texts) {
  const std::uint64_t first = texts.offsets.front(), end = texts.offsets.back();
  if (find_invalid_utf8({texts.bytes.data() + first, static_cast<std::size_t>(end - first)}) !=
      std::string_view::npos)
    return false;
  return std::ranges::none_of(texts.offsets, [&](std::uint64_t offset) {
    return offset < end && is_utf8_continuation(texts.bytes[static_cast<std::size_t>(offset)]);
  });
}

}  // namespace

std::optional<std::uint64_t> first_without_utf8(const TextView& column) {
  const LabelsView& texts = column.texts;
  if (texts.empty() || are_all_utf8(texts)) return std::nullopt;
  for (std::size_t row = 0; row + 1 < texts.offsets.size(); ++row)
    if (!column.validity.is_missing(row) && find_invalid_utf8(texts[row]) != std::string_view::npos)
      return row;
  return std::nullopt;
}

}  // namespace culmen
