#include "gpu/mirror/uploader.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "index/read_session.h"

namespace culmen::gpu {
namespace {

// Each costs three calls of the driver, which take turns: with a quarter of it a refresh takes up to twice as long. And a
// thousand changed rows are to occupy all threads.
constexpr std::size_t kUsualPiece = 2 << 20;
// In flight, of what one thread gathers.
constexpr std::size_t kPiecesOfOne = 4;

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

std::vector<Share> cut(const TreeChanges& changes, const SlotBytes& sizes, std::size_t piece_bytes) {
  std::span<const std::uint32_t> leaves = changes.leaves, nodes = changes.nodes;
  std::vector<Share> shares;
  while (!leaves.empty() || !nodes.empty()) shares.push_back(take_share(leaves, nodes, sizes, piece_bytes));
  return shares;
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
  } else if (arrays.packed() == nullptr) {
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
  ReadSession session(s);
  for (std::size_t i = 0; i < num_leaves; ++i) {
    gather_leaf(s, share.leaves[i], piece.slots()[i], arrays, piece.leaf(i));
    session.rest();
  }
  for (std::size_t n = 0; n < share.nodes.size(); ++n) {
    session.rest();
    if (map == nullptr) {
      std::memcpy(piece.node(n), s.node(share.nodes[n]).bytes, piece.sizes.node);
    } else {
      map->write_node(s, share.nodes[n], piece.node(n));
    }
  }
}

}  // namespace

Uploader::~Uploader() {
  cudaStreamSynchronize(stream_.get());
}

void Uploader::reserve(std::size_t piece_bytes, std::size_t num_pieces) {
  if (piece_bytes <= piece_bytes_ && num_pieces <= num_pieces_) return;
  wait();  // the old memory is still in use
  piece_bytes = std::bit_ceil(std::max({piece_bytes, piece_bytes_, kUsualPiece}));
  num_pieces = std::max(num_pieces, num_pieces_);
  piece_bytes_ = num_pieces_ = 0;
  cuda::grow(on_host_, num_pieces * piece_bytes, cuda::Memory::pinned);
  cuda::grow(on_device_, num_pieces * piece_bytes, cuda::Memory::device);
  piece_bytes_ = piece_bytes;
  num_pieces_ = num_pieces;
}

void Uploader::reserve_for_one(std::size_t piece_bytes) {
  reserve(piece_bytes, kPiecesOfOne);
}

// Once its last copy has ended.
Uploader::Piece Uploader::piece(std::size_t i) {
  copied_[i].synchronize();
  return {on_host_.data() + i * piece_bytes_, on_device_.data() + i * piece_bytes_, copied_[i]};
}

Uploader::Piece Uploader::next_piece() {
  return piece(next_++ % num_pieces_);
}

void Uploader::send(const Snapshot& snapshot, const TreeChanges& changes, const ShardMap* map,
                    const SlotArrays& to) {
  const SlotBytes sizes = to.sizes();
  const std::size_t one = PieceRef::slots_bytes(1) + sizeof(std::uint32_t);
  const std::size_t piece_bytes =
      std::max(kUsualPiece, std::max<std::size_t>(sizes.leaf(), sizes.node) + one);
  const std::vector<Share> shares = cut(changes, sizes, piece_bytes);
  const auto num_threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  const std::size_t num_lanes = std::min({shares.size(), num_threads, kMostLanes});
  reserve(piece_bytes, 2 * num_lanes);
  const auto send = [&](const Share& share, const Piece& piece) {
    const auto num_leaves = static_cast<std::uint32_t>(share.leaves.size());
    const auto num_nodes = static_cast<std::uint32_t>(share.nodes.size());
    const PieceAccess<std::byte> on_host = {piece.on_host, num_leaves, num_nodes, sizes};
    gather(snapshot, share, map, to, on_host);
    cuda::check(cudaMemcpyAsync(piece.on_device, piece.on_host, on_host.num_bytes(), cudaMemcpyHostToDevice,
                                stream_.get()));
    piece.copied.record(stream_.get());
    const PieceRef on_device = {piece.on_device, num_leaves, num_nodes, sizes};
    launch_write_slots(on_device, to.ref(), stream_.get());
    to.write_derived(snapshot, on_device.slots(), num_leaves, stream_.get());
  };
  std::atomic<std::size_t> next = 0;
  tbb::parallel_for(std::size_t{0}, num_lanes, [&](std::size_t lane) {
    const cuda::DeviceScope scope(device_);
    std::size_t turn = 0;
    for (std::size_t i = next++; i < shares.size(); i = next++) send(shares[i], piece(2 * lane + turn++ % 2));
  });
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
  reserve_for_one(std::min(num_bytes, kUsualPiece));
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
  reserve_for_one(std::max(std::min(slots.size() * one + padding, kUsualPiece), one + padding));
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
