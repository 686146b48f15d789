#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gpu/cuda/launch.h"
#include "gpu/cuda/write_bytes.h"

namespace culmen::cuda {
namespace {

constexpr unsigned kThreads = 128;
constexpr std::size_t kWords = 480;  // parameters take 4 KiB at most

struct Piece {
  std::uint64_t words[kWords];
};

__global__ void __launch_bounds__(kThreads)
    write_piece(const __grid_constant__ Piece piece, std::uint32_t num_words, std::uint64_t* to) {
  for (std::uint32_t i = threadIdx.x; i < num_words; i += kThreads) to[i] = piece.words[i];
}

}  // namespace

void write_bytes(std::span<const std::byte> bytes, std::byte* to, cudaStream_t stream) {
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), sizeof(Piece)));
    Piece piece;
    std::memcpy(piece.words, part.data(), part.size());
    launch(write_piece, {.num_blocks = 1, .num_threads = kThreads}, stream, piece,
           static_cast<std::uint32_t>(part.size() / sizeof(std::uint64_t)),
           reinterpret_cast<std::uint64_t*>(to));
    bytes = bytes.subspan(part.size());
    to += part.size();
  }
}

}  // namespace culmen::cuda
