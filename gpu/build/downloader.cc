#include "gpu/build/downloader.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace culmen::gpu {
namespace {

std::vector<Download> cut_into_pieces(std::span<const Download> downloads, std::size_t piece_bytes) {
  std::vector<Download> pieces;
  for (const Download& all : downloads)
    for (std::size_t i = 0; i < all.to.size(); i += piece_bytes)
      pieces.push_back({all.from + i, all.to.subspan(i, std::min(piece_bytes, all.to.size() - i))});
  return pieces;
}

}  // namespace

class Downloader::Lane {
 public:
  // pinned: room for two pieces.
  explicit Lane(std::byte* pinned) : pinned_{pinned, pinned + kPieceBytes} {}

  // Copies pieces whose numbers it takes from `next`, until there is none left.
  void copy(std::span<const Download> pieces, std::atomic<std::size_t>& next) {
    std::size_t current = start(pieces, next, 0);
    for (std::size_t turn = 0; current < pieces.size(); ++turn) {
      const std::size_t following = start(pieces, next, (turn + 1) % 2);
      arrived_[turn % 2].synchronize();
      const std::span<std::byte> to = pieces[current].to;
      std::memcpy(to.data(), pinned_[turn % 2], to.size());
      current = following;
    }
  }

 private:
  // Enqueues the transfer of the next piece. Returns its number, or the number of pieces if there is none.
  std::size_t start(std::span<const Download> pieces, std::atomic<std::size_t>& next, std::size_t which) {
    const std::size_t piece = next.fetch_add(1);
    if (piece >= pieces.size()) return pieces.size();
    cuda::check(cudaMemcpyAsync(pinned_[which], pieces[piece].from, pieces[piece].to.size(),
                                cudaMemcpyDeviceToHost, stream_.get()));
    arrived_[which].record(stream_.get());
    return piece;
  }

  cuda::Stream stream_;
  std::array<std::byte*, 2> pinned_;
  std::array<cuda::Event, 2> arrived_;
};

Downloader::Downloader(int device) : device_(device) {}
Downloader::~Downloader() = default;

void Downloader::open_lanes(std::size_t count) {
  if (count <= lanes_.size()) return;
  lanes_.clear();
  cuda::grow(pinned_, count * 2 * kPieceBytes, cuda::Memory::pinned);
  for (std::size_t i = 0; i < count; ++i)
    lanes_.push_back(std::make_unique<Lane>(pinned_.data() + i * 2 * kPieceBytes));
}

void Downloader::copy(std::span<const Download> downloads) {
  const std::vector<Download> pieces = cut_into_pieces(downloads, kPieceBytes);
  const auto num_threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  const std::size_t num_lanes = std::min({pieces.size(), num_threads, kMostLanes});
  open_lanes(num_lanes);
  std::atomic<std::size_t> next = 0;
  tbb::parallel_for(std::size_t{0}, num_lanes, [&](std::size_t lane) {
    const cuda::DeviceScope scope(device_);
    lanes_[lane]->copy(pieces, next);
  });
}

}  // namespace culmen::gpu
