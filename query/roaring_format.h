// Checks bytes in Roaring's portable format (https://github.com/RoaringBitmap/RoaringFormatSpec). CRoaring's own readers
// trust what they read but its length: what passes here, they can read and use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace culmen {

// A bitmap of 32-bit numbers within the bytes of one of 64-bit numbers.
struct RoaringPiece {
  std::uint32_t high;  // the upper 32 bits of its numbers
  std::span<const std::byte> bytes;
};

// The pieces of a bitmap of 64-bit numbers, ascending. Throws FormatError.
std::vector<RoaringPiece> checked_roaring_pieces(std::span<const std::byte> bytes);

}  // namespace culmen
