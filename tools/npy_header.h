// The header of an NPY file, NumPy's format for arrays.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "culmen/error.h"
#include "culmen/id_type.h"

namespace culmen::tools {

static_assert(std::endian::native == std::endian::little, "arrays are written as they stand in memory");

// Format 1.0: magic, version, length of the header, header padded so that the data is aligned to 64; 2.0, which has a longer
// length, where that is needed. descr and shape: as Python writes them.
inline std::string npy_header(std::string_view descr, std::string_view shape) {
  constexpr std::size_t kLongestOfVersion1 = 0xffff;
  std::string dictionary =
      "{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
  const bool is_long = dictionary.size() + 64 > kLongestOfVersion1;
  const std::size_t prefix_bytes = is_long ? 12 : 10;
  const std::size_t unpadded = prefix_bytes + dictionary.size() + 1;
  dictionary += std::string((64 - unpadded % 64) % 64, ' ') + '\n';
  std::string bytes = "\x93NUMPY";
  bytes += is_long ? '\x02' : '\x01';
  bytes += '\0';
  for (std::size_t byte = 0; byte < prefix_bytes - 8; ++byte)
    bytes += static_cast<char>(dictionary.size() >> 8 * byte & 0xff);
  return bytes + dictionary;
}

// NumPy's texts have one length. `instead`: "csv or json".
inline void refuse_texts_in_npy(IdType type, std::string_view instead) {
  if (type == IdType::text)
    throw InvalidArgument("npy holds no ids that are texts: write " + std::string(instead));
}

// The type of a column of ids, and an id in the bits of that type.
inline std::string_view npy_type_of(IdType type) {
  return type == IdType::uint64 ? "<u8" : "<i8";
}
inline std::int64_t npy_id(std::int64_t id, IdType type) {
  return type == IdType::uint64 ? static_cast<std::int64_t>(uint64_of_id(id)) : id;
}

}  // namespace culmen::tools
