#include "gpu/mirror/packed_rows.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "gpu/mirror/packed_leaf.h"
#include "gpu/mirror/uploader.h"
#include "index/read_session.h"

namespace culmen::gpu {
namespace {

// Packed on the host before they are copied.
constexpr std::size_t kLeavesAtOnce = 8192;
// By which the size of all is judged, and what is added, since it is never quite that.
constexpr std::size_t kSampledLeaves = 256;
constexpr std::size_t kPartOfMargin = 32;

}  // namespace

std::size_t PackedRows::expected_bytes(const Snapshot& snapshot, std::size_t num_leaves) {
  const std::vector<std::uint32_t>& leaves = snapshot.order().leaves;
  if (leaves.empty()) return 0;
  const std::size_t count = std::min(leaves.size(), kSampledLeaves);
  std::vector<std::byte> bytes;
  ReadSession session(snapshot);
  for (std::size_t i = 0; i < count; ++i) {
    session.rest();
    pack_leaf(snapshot, leaves[i * leaves.size() / count], bytes);
  }
  const auto of_each = static_cast<double>(bytes.size()) / static_cast<double>(count);
  const auto all = static_cast<std::size_t>(of_each * static_cast<double>(num_leaves));
  return all + all / kPartOfMargin + num_leaves * sizeof(const std::byte*);
}

PackedRows::PackedRows(cuda::GrowingBuffer addresses, std::size_t expected)
    : addresses_(std::move(addresses)), chunks_(cuda::Memory::device, expected) {}

bool PackedRows::grow(std::size_t num_leaves) {
  return !chunks_.are_mostly_unused() && addresses_.grow(num_leaves * sizeof(const std::byte*));
}

std::size_t PackedRows::write(const Snapshot& snapshot, std::span<const std::uint32_t> leaves,
                              const ShardMap* map, Uploader& uploader) {
  std::size_t num_bytes = 0;
  for (; !leaves.empty(); leaves = leaves.subspan(std::min(leaves.size(), kLeavesAtOnce)))
    num_bytes += write_some(snapshot, leaves.first(std::min(leaves.size(), kLeavesAtOnce)), map, uploader);
  return num_bytes;
}

std::size_t PackedRows::write_some(const Snapshot& snapshot, std::span<const std::uint32_t> leaves,
                                   const ShardMap* map, Uploader& uploader) {
  constexpr std::size_t kTogether = 64;  // leaves that are packed into one array
  std::vector<std::vector<std::byte>> packed((leaves.size() + kTogether - 1) / kTogether);
  std::vector<std::uint32_t> starts(leaves.size()), sizes(leaves.size());  // in their array
  tbb::parallel_for(std::size_t{0}, packed.size(), [&](std::size_t p) {
    ReadSession session(snapshot);
    for (std::size_t i = p * kTogether; i < std::min(leaves.size(), (p + 1) * kTogether); ++i) {
      session.rest();
      starts[i] = static_cast<std::uint32_t>(packed[p].size());
      pack_leaf(snapshot, leaves[i], packed[p]);
      sizes[i] = static_cast<std::uint32_t>(packed[p].size()) - starts[i];
    }
  });
  std::vector<std::byte*> memory;  // of each array
  std::size_t num_bytes = 0;
  for (const std::vector<std::byte>& bytes : packed) {
    memory.push_back(chunks_.take(bytes.size()));
    uploader.send(bytes, memory.back());
    num_bytes += bytes.size();
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) chunks_.count(leaves[i], sizes[i]);
  uploader.scatter(
      slots_on_device(leaves, map == nullptr ? nullptr : &map->leaves()), sizeof(const std::byte*),
      [&](std::size_t i, std::byte* to) {
        const std::byte* address = memory[i / kTogether] + starts[i];
        std::memcpy(to, &address, sizeof address);
      },
      addresses_.data());
  return num_bytes + leaves.size() * sizeof(const std::byte*);
}

}  // namespace culmen::gpu
