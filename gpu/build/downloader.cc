#include "gpu/build/downloader.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace culmen::gpu {
namespace {

constexpr std::size_t kPieceBytes = 32 << 20;
// Bytes that a task copies.
constexpr std::size_t kGrain = 1 << 20;

void copy_by_threads(const std::byte* from, std::byte* to, std::size_t num_bytes) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, num_bytes, kGrain),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      std::memcpy(to + range.begin(), from + range.begin(), range.size());
                    });
}

}  // namespace

void Downloader::reserve(std::size_t num_bytes) {
  const std::size_t wanted = std::min(kPieceBytes, num_bytes);
  if (wanted <= piece_bytes_) return;
  piece_bytes_ = 0;
  pieces_ = {};  // freed before the new ones are allocated
  pieces_ = cuda::Buffer<std::byte>(kNumPieces * wanted, cuda::Memory::pinned);
  piece_bytes_ = wanted;
}

void Downloader::copy(const std::byte* from, std::span<std::byte> to) {
  const std::size_t num_bytes = to.size();
  reserve(num_bytes);
  if (num_bytes == 0) return;
  const std::size_t num_pieces = (num_bytes + piece_bytes_ - 1) / piece_bytes_;
  const auto size_of = [&](std::size_t i) { return std::min(piece_bytes_, num_bytes - i * piece_bytes_); };
  const auto on_host = [&](std::size_t i) { return pieces_.data() + i % kNumPieces * piece_bytes_; };
  for (std::size_t i = 0; i < num_pieces + kNumPieces - 1; ++i) {
    if (i < num_pieces) {
      cuda::check(
          cudaMemcpyAsync(on_host(i), from + i * piece_bytes_, size_of(i), cudaMemcpyDeviceToHost, stream_));
      copied_[i % kNumPieces].record(stream_);
    }
    if (i + 1 < kNumPieces) continue;
    const std::size_t oldest = i + 1 - kNumPieces;
    copied_[oldest % kNumPieces].synchronize();
    copy_by_threads(on_host(oldest), to.data() + oldest * piece_bytes_, size_of(oldest));
  }
}

}  // namespace culmen::gpu
