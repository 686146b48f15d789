#include "gpu/build/downloader.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace culmen::gpu {

class Downloader::Lane {
 public:
  explicit Lane(std::size_t piece_bytes) : pieces_(2 * piece_bytes, cuda::Memory::pinned) {}

  // Copies pieces whose numbers it takes from `next`, until there is none left.
  void copy(const std::byte* from, std::span<std::byte> to, std::atomic<std::size_t>& next) {
    std::size_t current = start(from, to, next, 0);
    for (std::size_t turn = 0; current < to.size(); ++turn) {
      const std::size_t following = start(from, to, next, (turn + 1) % 2);
      arrived_[turn % 2].synchronize();
      std::memcpy(to.data() + current, half(turn % 2), std::min(piece_bytes(), to.size() - current));
      current = following;
    }
  }

 private:
  std::size_t piece_bytes() const { return pieces_.size() / 2; }
  std::byte* half(std::size_t which) const { return pieces_.data() + which * piece_bytes(); }

  // Enqueues the transfer of the next piece. Returns where it begins, or the end.
  std::size_t start(const std::byte* from, std::span<std::byte> to, std::atomic<std::size_t>& next,
                    std::size_t which) {
    const std::size_t first = next.fetch_add(piece_bytes());
    if (first >= to.size()) return to.size();
    cuda::check(cudaMemcpyAsync(half(which), from + first, std::min(piece_bytes(), to.size() - first),
                                cudaMemcpyDeviceToHost, stream_.get()));
    arrived_[which].record(stream_.get());
    return first;
  }

  cuda::Stream stream_;
  cuda::Buffer<std::byte> pieces_;
  cuda::Event arrived_[2];
};

Downloader::Downloader(int device) : device_(device) {}
Downloader::~Downloader() = default;

void Downloader::copy(const std::byte* from, std::span<std::byte> to) {
  if (const std::size_t wanted = std::min(kPieceBytes, to.size()); wanted > piece_bytes_) {
    lanes_.clear();
    piece_bytes_ = wanted;
  }
  const std::size_t num_pieces = to.empty() ? 0 : (to.size() + piece_bytes_ - 1) / piece_bytes_;
  const auto num_threads = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  const std::size_t num_lanes = std::min({num_pieces, num_threads, kMostLanes});
  while (lanes_.size() < num_lanes) lanes_.push_back(std::make_unique<Lane>(piece_bytes_));
  std::atomic<std::size_t> next = 0;
  tbb::parallel_for(std::size_t{0}, num_lanes, [&](std::size_t lane) {
    const cuda::DeviceScope scope(device_);
    lanes_[lane]->copy(from, to, next);
  });
}

}  // namespace culmen::gpu
