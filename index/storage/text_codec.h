// The stored texts of a leaf as the payload of their frame, and back (docs/format.md, "Stored texts"). In memory they are
// LeafTexts.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/schema.h"
#include "index/leaf_fields.h"
#include "index/leaf_texts.h"

namespace culmen::storage {

// Appends to no bytes.
void encode_leaf_texts(const LeafTexts& leaf, std::span<const Field> fields, std::vector<std::byte>& payload);

// Returns what is wrong with the payload; empty if nothing is: then it has made LeafTexts where `allocate` says. leaf_fields: of the same leaf, which
// say what texts are missing; empty: that is unknown.
std::string_view decode_leaf_texts(std::span<const std::byte> payload, std::size_t num_rows,
                                   const LeafFields& leaf_fields, std::span<const Field> fields,
                                   const AllocateTexts& allocate);

}  // namespace culmen::storage
