// Hexadecimal text of the small files. Each value has exactly one form, so that every flipped bit is seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "index/storage/hash.h"

namespace culmen::storage {

// 16 and 32 lower-case digits.
std::string to_hex(std::uint64_t value);
std::string to_hex(const Digest& digest);

// Return false if `text` is not the one form of a value.
bool from_hex(std::string_view text, std::uint64_t& value);
bool from_hex(std::string_view text, Digest& digest);
bool from_hex(std::string_view text, Uuid& uuid);

// "1.8p+1": a float64, exact to the last bit. Returns false for anything but a finite number.
std::string to_hex_float(double value);
bool from_hex_float(std::string_view text, double& value);

}  // namespace culmen::storage
