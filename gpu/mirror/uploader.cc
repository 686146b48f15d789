#include "gpu/mirror/uploader.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace culmen::gpu {
namespace {

// Large enough to keep the bus busy, small enough that the first copy starts soon.
constexpr std::size_t kLargestPiece = 4 << 20;
constexpr std::size_t kSmallestPiece = 256 << 10;
// Leaves or nodes that a task gathers.
constexpr std::size_t kGrain = 16;

// The leaves and nodes of one piece.
struct Share {
  std::span<const std::uint32_t> leaves, nodes;
};

// Removes as many from the fronts as fit into a piece.
Share take_share(std::span<const std::uint32_t>& leaves, std::span<const std::uint32_t>& nodes,
                 const SlotBytes& sizes, std::size_t piece_bytes) {
  constexpr std::size_t kSlot = sizeof(std::uint32_t);
  std::size_t room = piece_bytes - PieceRef::slots_bytes(1);  // slots are padded
  const auto take = [&room](std::span<const std::uint32_t>& from, std::size_t each) {
    const std::span<const std::uint32_t> taken = from.first(std::min(from.size(), room / each));
    from = from.subspan(taken.size());
    room -= taken.size() * each;
    return taken;
  };
  Share share;
  share.leaves = take(leaves, sizes.leaf() + kSlot);
  share.nodes = take(nodes, sizes.node + kSlot);
  return share;
}

void append(std::byte*& to, const void* from, std::size_t num_bytes) {
  std::memcpy(to, from, num_bytes);
  to += num_bytes;
}

// `target`: its slot on the device.
void gather_leaf(const Snapshot& s, std::uint32_t slot, std::uint32_t target, const SlotArrays& arrays,
                 std::byte* to) {
  const SlotArena& arena = *s.arena;
  const LeafShape& shape = arena.shape();
  const std::size_t value_bytes = shape.leaf_bytes(), id_bytes = shape.leaf_rows * sizeof(std::int64_t);
  append(to, &s.leaf(slot), sizeof(LeafHeader));
  append(to, arena.zone_map(slot), kZoneVectors * shape.zone_vector_bytes());
  if (arrays.rows_on_host()) {
    std::memcpy(arrays.values() + target * value_bytes, arena.values(slot), value_bytes);
    std::memcpy(arrays.ids() + target * id_bytes, arena.ids(slot), id_bytes);
  } else {
    append(to, arena.values(slot), value_bytes);
    append(to, arena.ids(slot), id_bytes);
  }
}

void gather(const Snapshot& s, const Share& share, const ShardMap* map, const SlotArrays& arrays,
            const PieceAccess<std::byte>& piece) {
  const std::size_t num_leaves = share.leaves.size();
  std::copy(share.leaves.begin(), share.leaves.end(), piece.slots());
  std::copy(share.nodes.begin(), share.nodes.end(), piece.slots() + num_leaves);
  if (map != nullptr) {
    for (std::size_t i = 0; i < num_leaves; ++i) piece.slots()[i] = map->leaves().on_device(share.leaves[i]);
    for (std::size_t n = 0; n < share.nodes.size(); ++n)
      piece.slots()[num_leaves + n] = map->nodes().on_device(share.nodes[n]);
  }
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, num_leaves + share.nodes.size(), kGrain),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      for (std::size_t i = range.begin(); i < range.end(); ++i)
                        if (i < num_leaves) {
                          gather_leaf(s, share.leaves[i], piece.slots()[i], arrays, piece.leaf(i));
                        } else {
                          const std::size_t n = i - num_leaves;
                          if (map == nullptr) {
                            std::memcpy(piece.node(n), s.node(share.nodes[n]).bytes, piece.sizes.node);
                          } else {
                            map->write_node(s, share.nodes[n], piece.node(n));
                          }
                        }
                    });
}

}  // namespace

Uploader::~Uploader() {
  cudaStreamSynchronize(stream_.get());
}

void Uploader::reserve(std::size_t piece_bytes) {
  piece_bytes = std::bit_ceil(std::max(piece_bytes, kSmallestPiece));
  if (piece_bytes <= piece_bytes_) return;
  wait();  // the old memory is still in use
  piece_bytes_ = 0;
  cuda::grow(on_host_, kNumPieces * piece_bytes, cuda::Memory::pinned);
  cuda::grow(on_device_, kNumPieces * piece_bytes, cuda::Memory::device);
  piece_bytes_ = piece_bytes;
}

Uploader::Piece Uploader::next_piece() {
  const std::size_t i = next_++ % kNumPieces;
  copied_[i].synchronize();
  return {on_host_.data() + i * piece_bytes_, on_device_.data() + i * piece_bytes_, copied_[i]};
}

void Uploader::send(const Snapshot& snapshot, const TreeChanges& changes, const ShardMap* map,
                    const SlotArrays& to) {
  const SlotBytes sizes = to.sizes();
  std::span<const std::uint32_t> leaves = changes.leaves, nodes = changes.nodes;
  const std::size_t one = PieceRef::slots_bytes(1) + sizeof(std::uint32_t);
  const std::size_t all = leaves.size() * (sizes.leaf() + sizeof(std::uint32_t)) +
                          nodes.size() * (sizes.node + sizeof(std::uint32_t)) + one;
  reserve(std::max(std::min(all, kLargestPiece), std::max<std::size_t>(sizes.leaf(), sizes.node) + one));
  while (!leaves.empty() || !nodes.empty()) {
    const Share share = take_share(leaves, nodes, sizes, piece_bytes_);
    const Piece piece = next_piece();
    const auto num_leaves = static_cast<std::uint32_t>(share.leaves.size());
    const auto num_nodes = static_cast<std::uint32_t>(share.nodes.size());
    const PieceAccess<std::byte> on_host = {piece.on_host, num_leaves, num_nodes, sizes};
    gather(snapshot, share, map, to, on_host);
    cuda::check(cudaMemcpyAsync(piece.on_device, piece.on_host, on_host.num_bytes(), cudaMemcpyHostToDevice,
                                stream_.get()));
    piece.copied.record(stream_.get());
    launch_write_slots({piece.on_device, num_leaves, num_nodes, sizes}, to.ref(), stream_.get());
  }
}

void Uploader::send(std::span<const std::byte> bytes, std::byte* to) {
  send(
      bytes.size(),
      [bytes](std::size_t first, std::span<std::byte> piece) {
        std::memcpy(piece.data(), bytes.data() + first, piece.size());
      },
      to);
}

void Uploader::send(std::size_t num_bytes, const Gather& gather, std::byte* to) {
  reserve(std::min(num_bytes, kLargestPiece));
  for (std::size_t first = 0; first < num_bytes;) {
    const std::size_t size = std::min(num_bytes - first, piece_bytes_);
    const Piece piece = next_piece();
    gather(first, {piece.on_host, size});
    cuda::check(cudaMemcpyAsync(to + first, piece.on_host, size, cudaMemcpyHostToDevice, stream_.get()));
    piece.copied.record(stream_.get());
    first += size;
  }
}

void Uploader::scatter(std::span<const std::uint32_t> slots, std::size_t each, const Fill& fill,
                       std::byte* array) {
  const std::size_t one = each + sizeof(std::uint32_t), padding = PieceRef::slots_bytes(1);
  reserve(std::max(std::min(slots.size() * one + padding, kLargestPiece), one + padding));
  for (std::size_t num_filled = 0; !slots.empty();) {
    const std::span<const std::uint32_t> taken =
        slots.first(std::min(slots.size(), (piece_bytes_ - padding) / one));
    const Piece piece = next_piece();
    std::memcpy(piece.on_host, taken.data(), taken.size_bytes());
    const std::size_t first = PieceRef::slots_bytes(taken.size());
    for (std::size_t i = 0; i < taken.size(); ++i) fill(num_filled + i, piece.on_host + first + i * each);
    cuda::check(cudaMemcpyAsync(piece.on_device, piece.on_host, first + taken.size() * each,
                                cudaMemcpyHostToDevice, stream_.get()));
    piece.copied.record(stream_.get());
    launch_write_items(reinterpret_cast<const std::uint32_t*>(piece.on_device), taken.size(),
                       piece.on_device + first, each, array, stream_.get());
    num_filled += taken.size();
    slots = slots.subspan(taken.size());
  }
}

}  // namespace culmen::gpu
