#include <cstring>

#include "bench/gpu/card_times.h"
#include "bench/gpu/decode_card.h"
#include "gpu/cuda/buffer.h"
#include "gpu/cuda/launch.h"
#include "gpu/search/leaf_rows.cuh"

namespace culmen::bench {
namespace {

constexpr unsigned kThreads = 256, kBlocksEach = 4;

// A warp for each leaf of a fresh build, whose slots are without gaps.
template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    count_reaching(const gpu::MirrorRef mirror, const std::uint32_t num_leaves, const std::byte* query,
                   const double least, unsigned long long* count) {
  const int lane = static_cast<int>(threadIdx.x) % gpu::kWarpSize;
  const std::uint32_t num_warps = gridDim.x * (kThreads / gpu::kWarpSize);
  unsigned found = 0;
  for (std::uint32_t leaf = (blockIdx.x * kThreads + threadIdx.x) / gpu::kWarpSize; leaf < num_leaves;
       leaf += num_warps)
    gpu::score_leaf<T, 8, gpu::QueryKind::plain>(mirror, {query}, leaf, lane, least,
                                                 [&](const gpu::ScoredRows& rows) {
#pragma unroll
                                                   for (int j = 0; j < gpu::kRowsPerLane; ++j)
                                                     found += rows.valid[j] && rows.score[j] >= least ? 1 : 0;
                                                 });
  found = __reduce_add_sync(gpu::kFullWarp, found);
  if (lane == 0) atomicAdd(count, static_cast<unsigned long long>(found));
}

// A query of weights alone, as kernels read it.
std::vector<std::byte> packed_weights(std::span<const double> weights) {
  const auto num_terms = static_cast<std::int32_t>(weights.size());
  std::vector<std::byte> bytes(gpu::packed_bytes(num_terms, 0, 0));
  gpu::PackedHeader header = {};
  header.num_terms = num_terms;
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::int32_t i = 0; i < num_terms; ++i) {
    gpu::PackedTerm term = {};
    term.attribute = i;
    term.weight = weights[static_cast<std::size_t>(i)];
    std::memcpy(bytes.data() + sizeof header + static_cast<std::size_t>(i) * sizeof term, &term, sizeof term);
  }
  return bytes;
}

}  // namespace

DecodePass pass_over_rows(const gpu::MirrorView& view, std::span<const double> weights, double least,
                          int repeats) {
  const std::vector<std::byte> query = packed_weights(weights);
  const cuda::Buffer<std::byte> on_card(query.size());
  cuda::check(cudaMemcpy(on_card.data(), query.data(), query.size(), cudaMemcpyHostToDevice));
  const cuda::Buffer<unsigned long long> count(1);
  int device = 0, multiprocessors = 0;
  cuda::check(cudaGetDevice(&device));
  cuda::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const cuda::Shape shape = {.num_blocks = static_cast<unsigned>(multiprocessors) * kBlocksEach,
                             .num_threads = kThreads};
  const cuda::Stream stream;
  DecodePass pass;
  gpu::visit_rows(view, [&]<typename T>(T) {
    pass.times_us = card_times_us(repeats, stream.get(), [&] {
      cuda::check(cudaMemsetAsync(count.data(), 0, count.size_bytes(), stream.get()));
      cuda::launch(count_reaching<T>, shape, stream.get(), view.mirror->ref(), view.snapshot->leaf_slots,
                   on_card.data(), least, count.data());
    });
  });
  unsigned long long rows = 0;
  cuda::check(cudaMemcpy(&rows, count.data(), sizeof rows, cudaMemcpyDeviceToHost));
  pass.num_rows = rows;
  return pass;
}

}  // namespace culmen::bench
