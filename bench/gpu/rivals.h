// Top-k on a GPU without an index: a float32 score for every row of the plain columns, then CUB selects the best
// scores. float32 throughout and arbitrary ties, so the rivals do less than culmen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/gpu/cub_top_k.h"
#include "culmen/table.h"
#include "gpu/cuda/buffer.h"

namespace culmen::bench {

struct ScoredRow {
  float score;
  std::uint32_t row;
};

class Rivals {
 public:
  // Uploads the columns. Device memory: 4 bytes per value, and 16 bytes of scratch memory per row.
  // Throws OutOfDeviceMemory; InvalidArgument if a column is not of float32 or there are 2^32 rows or more.
  explicit Rivals(const TableView& table);

  // The scores alone, left on the card.
  void score(const std::vector<double>& weights);

  // The k best rows in host memory, best first: by sorting all scores.
  std::vector<ScoredRow> sort(const std::vector<double>& weights, std::size_t k);
  // By cub::DeviceTopK. Empty if this CUB has none.
  std::vector<ScoredRow> top_k(const std::vector<double>& weights, std::size_t k);

 private:
  void launch_score(const std::vector<double>& weights, std::uint32_t* rows);
  // Calls `call(scratch, scratch_bytes)` twice, as CUB requires: the first call returns the size of the scratch memory.
  template <typename Call>
  void with_scratch(const Call& call);

  std::uint32_t num_rows_;
  std::vector<cuda::Buffer<float>> columns_;
  cuda::Buffer<float> scores_, best_scores_;
  cuda::Buffer<std::uint32_t> rows_, best_rows_;
  cuda::Buffer<std::byte> scratch_;
  CubTopK top_k_;
};

}  // namespace culmen::bench
