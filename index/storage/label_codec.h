// The labels of a leaf as the payload of their frame, and back (docs/format.md, "Labels").
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace culmen::storage {

// Appends to no bytes. `labels`: as SlotArena has them, of a leaf of `num_rows` rows.
void encode_labels(std::span<const std::byte> labels, std::size_t num_rows, std::vector<std::byte>& payload);

// allocate(text_bytes): room for labels with so many bytes of text, as SlotArena has them.
using AllocateLabels = std::function<std::span<std::byte>(std::size_t text_bytes)>;

// Returns what is wrong with the payload; empty if nothing is: then all of the room is written.
std::string_view decode_labels(std::span<const std::byte> payload, std::size_t num_rows,
                               std::size_t leaf_rows, const AllocateLabels& allocate);

}  // namespace culmen::storage
