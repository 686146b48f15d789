// LeafCodec: a leaf as the payload of its frame, and back (docs/format.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "index/slot_arena.h"
#include "index/storage/format.h"

namespace culmen::storage {

class LeafCodec {
 public:
  LeafCodec(const LeafShape& shape, bool has_fields_file)
      : shape_(shape), has_fields_file_(has_fields_file) {}

  std::uint64_t most_payload_bytes() const;

  // Appends to no bytes. values: [num_attributes][leaf_rows] of the value type; ids: [leaf_rows].
  void encode(const LeafRecord& record, const std::byte* values, const std::int64_t* ids,
              std::vector<std::byte>& payload) const;

  // Returns what is wrong with the payload; empty if nothing is: then all of the arrays is written, 0 after the last row.
  std::string_view decode(std::span<const std::byte> payload, LeafRecord& record, std::byte* values,
                          std::int64_t* ids) const;

 private:
  std::size_t record_bytes() const;

  const LeafShape shape_;
  const bool has_fields_file_;
};

}  // namespace culmen::storage
