// Batches for search_async: with their device memory, and with the CPU's answers to the same queries.
#pragma once

#include <cuda_runtime_api.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/cuda/buffer.h"
#include "tests/gpu/upload.h"

namespace culmen::test {

template <typename T>
std::vector<T> to_host(const cuda::Buffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  if (!values.empty())
    cuda::check(cudaMemcpy(values.data(), buffer.data(), buffer.size_bytes(), cudaMemcpyDeviceToHost));
  return values;
}

struct Batch {
  std::vector<std::vector<double>> weights;  // one a query
  std::size_t k = 10;
  Filter where = {};
  std::optional<double> min_score = {};
  Missing missing = Missing::skip;

  Query query(std::size_t q) const {
    return {.weights = weights[q], .k = k, .where = where, .min_score = min_score, .missing = missing};
  }
};

// The CPU's answers, nothing where it refuses the query.
using Expected = std::vector<std::optional<std::vector<Hit>>>;

inline Expected expected_of(const Index& index, const Batch& batch) {
  Expected expected;
  for (std::size_t q = 0; q < batch.weights.size(); ++q) {
    try {
      expected.emplace_back(index.search(batch.query(q)).hits);
    } catch (const InvalidArgument&) {
      expected.emplace_back(std::nullopt);
    }
  }
  return expected;
}

inline std::vector<double> flat(const std::vector<std::vector<double>>& rows) {
  std::vector<double> values;
  for (const std::vector<double>& row : rows) values.insert(values.end(), row.begin(), row.end());
  return values;
}

// A batch with its device memory. The arrays for answers hold junk, also a little past their end.
class OnDevice {
 public:
  explicit OnDevice(const Batch& batch)
      : batch_(batch),
        weights_(to_device(flat(batch.weights))),
        scores_(to_device(std::vector<double>(num_slots() + kGuard, kJunkScore))),
        ids_(to_device(std::vector<std::int64_t>(num_slots() + kGuard, kJunkId))),
        counts_(to_device(std::vector<std::uint32_t>(num_queries() + kGuard, kJunkCount))) {}

  // A DeviceIndex or a DeviceGroup, and a context of it.
  void enqueue(const auto& index, auto& context) const {
    index.search_async({.weights = weights_.data(),
                        .num_queries = num_queries(),
                        .k = batch_.k,
                        .where = batch_.where,
                        .min_score = batch_.min_score,
                        .missing = batch_.missing},
                       {ids_.data(), scores_.data(), counts_.data()}, context);
  }

  // After a synchronisation: whether nothing has been written.
  bool is_untouched() const {
    return to_host(ids_)[0] == kJunkId && to_host(scores_)[0] == kJunkScore &&
           to_host(counts_)[0] == kJunkCount;
  }

  // After a synchronisation: empty if all answers are as expected.
  std::string difference_to(const Expected& expected) const {
    const std::vector<std::int64_t> ids = to_host(ids_);
    const std::vector<double> scores = to_host(scores_);
    const std::vector<std::uint32_t> counts = to_host(counts_);
    for (std::size_t q = 0; q < num_queries(); ++q) {
      const std::vector<Hit> hits = expected[q].value_or(std::vector<Hit>());
      if (counts[q] != (expected[q] ? hits.size() : kInvalidQuery))
        return "query " + std::to_string(q) + ": count " + std::to_string(counts[q]) + ", expected " +
               (expected[q] ? std::to_string(hits.size()) : "a refusal");
      for (std::size_t rank = 0; rank < batch_.k; ++rank) {
        const std::size_t place = q * batch_.k + rank;
        const Hit hit = rank < hits.size() ? hits[rank] : Hit{};
        if (ids[place] != hit.id || bits(scores[place]) != bits(hit.score))
          return "query " + std::to_string(q) + ", rank " + std::to_string(rank + 1) + " is id " +
                 std::to_string(ids[place]) + " with " + std::to_string(scores[place]) + ", expected id " +
                 std::to_string(hit.id) + " with " + std::to_string(hit.score);
      }
    }
    for (std::size_t i = 0; i < kGuard; ++i)
      if (ids[num_slots() + i] != kJunkId || scores[num_slots() + i] != kJunkScore ||
          counts[num_queries() + i] != kJunkCount)
        return "written past the end";
    return "";
  }

 private:
  static constexpr std::size_t kGuard = 33;
  static constexpr std::int64_t kJunkId = 0x5a5a5a5a5a5a5a5a;
  static constexpr double kJunkScore = 4711;
  static constexpr std::uint32_t kJunkCount = 4711;

  static std::uint64_t bits(double score) { return std::bit_cast<std::uint64_t>(score); }
  std::size_t num_queries() const { return batch_.weights.size(); }
  std::size_t num_slots() const { return num_queries() * batch_.k; }

  Batch batch_;
  cuda::Buffer<double> weights_, scores_;
  cuda::Buffer<std::int64_t> ids_;
  cuda::Buffer<std::uint32_t> counts_;
};

// Empty if the batch, alone on its context, is answered as the CPU does.
inline std::string fault(const Index& index, const DeviceIndex& on_gpu, const Batch& batch,
                         const ContextOptions& options = {}) {
  DeviceContext context = on_gpu.make_context(options);
  const OnDevice on_device(batch);
  on_device.enqueue(on_gpu, context);
  context.synchronize();
  return on_device.difference_to(expected_of(index, batch));
}

}  // namespace culmen::test
