#include <algorithm>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <limits>
#include <vector>

#include "bench/gpu/rivals.h"
#include "bench/gpu/tables.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/cuda/launch.h"
#include "index/bound_layout.h"

namespace culmen::bench {
namespace {

constexpr unsigned kThreads = 256;

// The attributes in use.
struct Terms {
  const float* columns[kMaxGroupedAttributes];
  float weights[kMaxGroupedAttributes];
  int size;
};

// One thread per row: a warp reads 128 bytes of each column at once. `rows`: the row numbers, or null.
__global__ void __launch_bounds__(kThreads)
    score_rows(const __grid_constant__ Terms terms, std::uint32_t num_rows, float* scores,
               std::uint32_t* rows) {
  const std::size_t row = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= num_rows) return;
  float score = 0;
#pragma unroll 8
  for (int t = 0; t < terms.size; ++t) score = fmaf(terms.weights[t], __ldg(terms.columns[t] + row), score);
  scores[row] = score;
  if (rows != nullptr) rows[row] = static_cast<std::uint32_t>(row);
}

std::uint32_t checked_rows(const TableView& table) {
  if (table.num_rows > std::numeric_limits<std::uint32_t>::max())
    throw InvalidArgument("the rivals number rows with 32 bits");
  return static_cast<std::uint32_t>(table.num_rows);
}

// The first k of both arrays, sorted.
std::vector<ScoredRow> download(const float* scores, const std::uint32_t* rows, std::size_t k) {
  std::vector<float> host_scores(k);
  std::vector<std::uint32_t> host_rows(k);
  cuda::check(cudaMemcpy(host_scores.data(), scores, k * sizeof(float), cudaMemcpyDeviceToHost));
  cuda::check(cudaMemcpy(host_rows.data(), rows, k * sizeof(std::uint32_t), cudaMemcpyDeviceToHost));
  std::vector<ScoredRow> best(k);
  for (std::size_t i = 0; i < k; ++i) best[i] = {host_scores[i], host_rows[i]};
  std::sort(best.begin(), best.end(),
            [](const ScoredRow& a, const ScoredRow& b) { return a.score > b.score; });
  return best;
}

}  // namespace

Rivals::Rivals(const TableView& table)
    : num_rows_(checked_rows(table)),
      scores_(num_rows_),
      best_scores_(num_rows_),
      rows_(num_rows_),
      best_rows_(num_rows_) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const cuda::Buffer<float>& column = columns_.emplace_back(num_rows_);
    cuda::check(cudaMemcpy(column.data(), float_column(table, i), column.size_bytes(), cudaMemcpyDefault));
  }
}

void Rivals::launch_score(const std::vector<double>& weights, std::uint32_t* rows) {
  Terms terms = {};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    terms.columns[terms.size] = columns_[i].data();
    terms.weights[terms.size++] = static_cast<float>(weights[i]);
  }
  const cuda::Shape shape = {.num_blocks = num_rows_ / kThreads + 1, .num_threads = kThreads};
  cuda::launch(score_rows, shape, nullptr, terms, num_rows_, scores_.data(), rows);
}

template <typename Call>
void Rivals::with_scratch(const Call& call) {
  std::size_t num_bytes = 0;
  cuda::check(call(nullptr, num_bytes));
  if (num_bytes > scratch_.size()) scratch_ = cuda::Buffer<std::byte>(num_bytes);
  cuda::check(call(scratch_.data(), num_bytes));
}

void Rivals::score(const std::vector<double>& weights) {
  launch_score(weights, nullptr);
  cuda::check(cudaDeviceSynchronize());
}

std::vector<ScoredRow> Rivals::sort(const std::vector<double>& weights, std::size_t k) {
  launch_score(weights, rows_.data());
  cub::DoubleBuffer<float> keys(scores_.data(), best_scores_.data());
  cub::DoubleBuffer<std::uint32_t> values(rows_.data(), best_rows_.data());
  with_scratch([&](void* scratch, std::size_t& num_bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(scratch, num_bytes, keys, values, num_rows_);
  });
  return download(keys.Current(), values.Current(), std::min<std::size_t>(k, num_rows_));
}

std::vector<ScoredRow> Rivals::top_k(const std::vector<double>& weights, std::size_t k) {
  const auto num_best = static_cast<std::uint32_t>(std::min<std::size_t>(k, num_rows_));
  launch_score(weights, nullptr);
  if (!top_k_(scores_.data(), num_rows_, num_best, nullptr)) return {};
  return download(top_k_.keys(), top_k_.rows(), num_best);
}

}  // namespace culmen::bench
