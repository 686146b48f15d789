#include <atomic>
#include <string>
#include <string_view>

#include "index/snapshot_fields.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {

// Allocates memory for a leaf's fields only after its frame was checked.
void read_fields(const Manifest& manifest, const LeafFrames& frames, FrameFileReader& file, Snapshot& s) {
  const std::vector<std::uint32_t> sizes = dictionary_sizes(s);
  std::atomic<bool> has_gaps = false;
  read_leaf_frames(frames, file, [&](std::uint64_t leaf, std::span<const std::byte> payload) {
    const auto check = [&](std::string_view fault) {
      if (!fault.empty())
        throw_damaged(file.path(), frames[leaf].offset + sizeof(FrameHeader), std::string(fault));
    };
    if (payload.empty() && s.fields.empty()) return;
    check(fault_of_leaf_fields(payload, s.leaf(leaf).num_rows, s.attributes.size(), s.fields, sizes));
    s.arena->set_fields(leaf, payload);
    check(fault_of_gaps(s, leaf));
    if (!s.leaf_fields(leaf).gaps().empty()) has_gaps = true;
  });
  if (has_gaps != manifest.has_gaps)
    throw_damaged(file.path(), 0, "the manifest is wrong about whether values of attributes are missing");
}

}  // namespace culmen::storage
