#include <tbb/parallel_for.h>

#include <atomic>
#include <string>
#include <string_view>

#include "index/snapshot_fields.h"
#include "index/storage/field_codec.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {

// Allocates memory for a leaf's fields only after its frame was checked.
std::uint64_t take_fields(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                          std::span<const std::uint32_t> dictionary_sizes, const FrameFileReader& file,
                          Snapshot& s) {
  const auto check = [&](std::string_view fault) {
    if (!fault.empty()) throw_damaged(file.path(), frame.offset + sizeof(FrameHeader), std::string(fault));
  };
  if (frame.bytes == 0 && s.fields.empty()) return 0;
  const std::uint32_t num_rows = s.arena->leaf(leaf).num_rows;
  const auto value = [&](std::size_t attribute, std::size_t row) {
    return s.value(leaf * static_cast<std::uint64_t>(s.leaf_rows) + row, static_cast<int>(attribute));
  };
  std::vector<std::byte> fields;
  FieldDecoder decoder(s.attributes.size(), s.fields, dictionary_sizes);
  check(decoder.decode({payload, frame.bytes}, num_rows, value, fields));
  check(fault_of_gaps(s, leaf, LeafFields(fields.data())));
  s.arena->set_fields(leaf, fields);
  return fields.size();
}

void read_fields(const LeafFrames& frames, FrameFileReader& file, Snapshot& s) {
  const std::vector<std::uint32_t> sizes = dictionary_sizes(s);
  read_leaf_frames(frames, file, [&](std::uint64_t leaf, std::span<const std::byte> payload) {
    take_fields(frames[leaf], leaf, payload.data(), sizes, file, s);
  });
}

void check_has_gaps(const Manifest& manifest, const FrameFileReader& file, const Snapshot& s) {
  std::atomic<bool> has_gaps = false;
  tbb::parallel_for(std::uint64_t{0}, manifest.num_leaves, [&](std::uint64_t leaf) {
    if (s.leaf_fields(leaf).num_gaps() > 0) has_gaps = true;
  });
  if (has_gaps != manifest.has_gaps)
    throw_damaged(file.path(), 0, "the manifest is wrong about whether values of attributes are missing");
}

}  // namespace culmen::storage
