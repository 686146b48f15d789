// Bounds all leaves of a tree by their codes (query/code_bound.h), and lists those that may have a row for a query.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "query/chain.h"
#include "query/code_bound.h"

namespace culmen::gpu {

// A code table in device memory; leaves are in the order in which they were read.
struct CodeTableRef {
  const std::uint16_t* codes;  // [num_leaves][num_attributes][num_words]
  const void* zones;           // [num_leaves][kZoneVectors][num_attributes] of the values' type
  std::uint32_t num_leaves, num_attributes, num_words;
};

// A kernel's parameter: up to 4 KiB.
struct CodeQuestion {
  // Ranges leave out leaves, which need not be: those behind are dropped.
  static constexpr int kMostRanges = 32;

  double offset, score;
  int num_terms, num_ranges;
  double weights[kMaxCodeTerms];
  std::uint16_t attributes[kMaxCodeTerms];
  RangePredicate ranges[kMostRanges];
};

struct ReachingLeaves {
  std::uint32_t* leaves;  // [num_leaves], numbers of leaves in the table
  double* bounds;         // [num_leaves], theirs
  std::uint32_t* count;
};

// Enqueues it. T: of the values. *to.count is 0 before. Throws CudaError.
template <typename T>
void launch_bound_leaves(const CodeTableRef& table, const CodeQuestion& question, const ReachingLeaves& to,
                         unsigned num_multiprocessors, cudaStream_t stream);

}  // namespace culmen::gpu
