// The ids file of an index of IdType::text: the ids of all rows in ascending order, each with its leaf. The texts ascend as they
// do, so a text is found, or its place between others, by binary search, which reads one leaf for each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/storage/id_file.h"

namespace culmen::storage {

// Appends the payload of a frame with these entries to no bytes: no more than most_id_bytes().
void encode_id_order(std::span<const OrderedId> entries, std::vector<std::byte>& payload);
// Returns false if the payload is not that of so many entries.
bool decode_id_order(std::span<const std::byte> payload, std::span<OrderedId> entries);

void write_id_order(const Snapshot& snapshot, FrameFileWriter& file);

class IdOrderFile final : public FiledIds, public IdOrder {
 public:
  IdOrderFile(const Manifest& manifest, FrameFileReader file, Loading loading, bool keeps_frames);

  std::vector<std::uint32_t> leaves_with(std::int64_t id) const override;
  const IdOrder* order() const override { return this; }
  void check_all(const Snapshot& snapshot) const override;

  std::uint64_t num_ids() const override { return entries_.size(); }
  OrderedId at(std::uint64_t place) const override;
  std::uint64_t place_of(std::int64_t id) const override;
  [[noreturn]] void fail(std::uint64_t place) const override { entries_.fail(place / kIdsPerFrame); }

 private:
  using Entries = FramedEntries<OrderedId>;

  const std::uint64_t num_leaves_;
  const std::uint64_t seed_;
  const Entries entries_;
};

}  // namespace culmen::storage
