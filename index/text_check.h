// Whether texts of a table are UTF-8.
#pragma once

#include <cstdint>
#include <optional>

#include "culmen/table.h"

namespace culmen {

// The first row with a text that is not UTF-8; what is there for missing texts does not count. Offsets lie within the
// bytes and ascend.
std::optional<std::uint64_t> first_without_utf8(const TextView& column);

}  // namespace culmen
