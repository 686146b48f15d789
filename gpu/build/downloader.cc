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

Downloader::Downloader(cudaStream_t stream)
    : stream_(stream), pieces_(kNumPieces * kPieceBytes, cuda::Memory::pinned) {}

void Downloader::copy(const std::byte* from, std::span<std::byte> to) {
  const std::size_t num_bytes = to.size();
  const std::size_t num_pieces = (num_bytes + kPieceBytes - 1) / kPieceBytes;
  const auto size_of = [&](std::size_t i) { return std::min(kPieceBytes, num_bytes - i * kPieceBytes); };
  const auto on_host = [&](std::size_t i) { return pieces_.data() + i % kNumPieces * kPieceBytes; };
  for (std::size_t i = 0; i < num_pieces + kNumPieces - 1; ++i) {
    if (i < num_pieces) {
      cuda::check(
          cudaMemcpyAsync(on_host(i), from + i * kPieceBytes, size_of(i), cudaMemcpyDeviceToHost, stream_));
      copied_[i % kNumPieces].record(stream_);
    }
    if (i + 1 < kNumPieces) continue;
    const std::size_t oldest = i + 1 - kNumPieces;
    copied_[oldest % kNumPieces].synchronize();
    copy_by_threads(on_host(oldest), to.data() + oldest * kPieceBytes, size_of(oldest));
  }
}

}  // namespace culmen::gpu
