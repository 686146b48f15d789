// A resolved query as kernels read it: one flat piece of memory, a kernel parameter for a single query and an element
// of an array for a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "gpu/search/attribute_bits.h"
#include "index/bound_layout.h"

namespace culmen::gpu {

struct PackedPredicate;  // gpu/search/packed_predicate.h
struct PackedFunctions;  // gpu/search/packed_functions.h

// What kernels are compiled for: queries without a predicate, with one, or with terms besides the weights, and perhaps with one.
// The calls would cost registers in searches that make none.
enum class QueryKind : std::uint8_t { plain, filtered, with_functions };

struct PackedTerm {
  double weight;
  std::int32_t attribute;
  std::int32_t padding;
};

struct PackedBoundTerm {
  double coefficient;
  std::int32_t row;
  std::int32_t padding;
};

// Compact: shared memory holds as many as a query can have. No layout has 2^15 bounds rows.
struct PackedRange {
  double minimum, maximum;  // of a row's value
  float lowest, highest;    // of the maximum and minimum of a node or leaf, in bound units
  std::int16_t attribute, maximum_row, minimum_row, padding;
};

struct PackedHeader {
  double offset;       // start of the score's chain
  double base;         // start of the bound
  double capped_base;  // the same under the ranges' caps; infinity: there is none
  double min_score;    // -infinity: none
  // Scores as 32-bit keys (gpu/search/score_keys.cuh): (score - base) * key_scale is about 1 or smaller.
  double key_scale, key_unit;  // powers of two, inverse to each other
  // In device memory, by the kernel's QueryKind: a PackedPredicate of what ranges leave open (null: nothing; rows must pass
  // both), or PackedFunctions, which have that predicate.
  const void* parts;
  std::int32_t num_terms, num_bound_terms, num_capped_terms, num_ranges;
  std::int32_t num_gap_words;  // for PackedTest::Kind::has_ranked: attributes, a bit each
  std::int32_t is_refused;     // 1: not a valid query, it has no hits (gpu/search/query_writer.h)
};

// Kernels keep a query in shared memory if its table has no more attributes, and read it where it is otherwise.
inline constexpr int kMaxSharedAttributes = kMaxGroupedAttributes;
// A filter can have more, but not on a GPU.
inline constexpr int kMaxPackedRanges = kMaxSharedAttributes;
// At most one range for each attribute, and one bound term for each attribute and the total. Under caps there is at
// least one attribute less, and hence no total. Queries over more attributes have no second bound, to save shared
// memory on small cards.
inline constexpr int kMaxCappedTerms = 41;
CULMEN_HOST_DEVICE constexpr bool has_room_for_caps(int num_terms) {
  return num_terms <= kMaxCappedTerms + 1;
}
CULMEN_HOST_DEVICE constexpr int gap_words_of(int num_attributes) {
  return (num_attributes + 63) / 64;
}
inline constexpr int kMaxSharedBoundTerms = kMaxSharedAttributes + 1 + kMaxCappedTerms;
inline constexpr std::size_t kMaxSharedQueryBytes =
    sizeof(PackedHeader) + kMaxSharedAttributes * (sizeof(PackedTerm) + sizeof(PackedRange)) +
    kMaxSharedBoundTerms * sizeof(PackedBoundTerm) +
    gap_words_of(kMaxSharedAttributes) * sizeof(std::uint64_t);

// A packed query as a kernel parameter. Parameters are copied at every launch, so only queries of the usual sizes are
// inside; others are in device memory.
template <std::size_t kSize>
struct QueryParameter {
  static constexpr bool kIsShared = true;
  static constexpr std::size_t kInside = kSize;

  const std::byte* outside;  // null: inside
  alignas(8) std::byte inside[kSize];

  CULMEN_HOST_DEVICE const std::byte* bytes() const { return outside != nullptr ? outside : inside; }
};
using QueryArgument = QueryParameter<1032>;      // 20 attributes without ranges
using SmallQueryArgument = QueryParameter<360>;  // 8 attributes without ranges

// One of a wide table, too large for a parameter and perhaps for shared memory; and each with functions, so that there are
// fewer kernels: its functions are in device memory as well.
struct WideQueryArgument {
  static constexpr bool kIsShared = false;  // kernels read it where it is

  const std::byte* outside;

  CULMEN_HOST_DEVICE const std::byte* bytes() const { return outside; }
};
inline bool needs_wide_argument(const QueryArgument& query, int num_attributes) {
  return query.outside != nullptr && num_attributes > kMaxSharedAttributes;
}

// The parts of a packed query. The bytes must be aligned to 8.
struct QueryRef {
  const std::byte* bytes;

  CULMEN_HOST_DEVICE const PackedHeader& header() const {
    return *reinterpret_cast<const PackedHeader*>(bytes);
  }
  // For kernels of QueryKind::filtered.
  CULMEN_HOST_DEVICE const PackedPredicate* predicate() const {
    return static_cast<const PackedPredicate*>(header().parts);
  }
  // For kernels of QueryKind::with_functions.
  CULMEN_HOST_DEVICE const PackedFunctions* functions() const {
    return static_cast<const PackedFunctions*>(header().parts);
  }
  CULMEN_HOST_DEVICE const PackedTerm* terms() const {
    return reinterpret_cast<const PackedTerm*>(bytes + sizeof(PackedHeader));
  }
  CULMEN_HOST_DEVICE const PackedBoundTerm* bound_terms() const {
    return reinterpret_cast<const PackedBoundTerm*>(terms() + header().num_terms);
  }
  CULMEN_HOST_DEVICE const PackedBoundTerm* capped_terms() const {
    return bound_terms() + header().num_bound_terms;
  }
  CULMEN_HOST_DEVICE const PackedRange* ranges() const {
    return reinterpret_cast<const PackedRange*>(capped_terms() + header().num_capped_terms);
  }
  CULMEN_HOST_DEVICE AttributeBits ranked_gaps() const {
    return {reinterpret_cast<const std::uint64_t*>(ranges() + header().num_ranges), header().num_gap_words};
  }
  CULMEN_HOST_DEVICE std::size_t num_bytes() const {
    const AttributeBits last = ranked_gaps();
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(last.words + last.num_words) - bytes);
  }
};

// num_bound_terms: including the capped ones.
CULMEN_HOST_DEVICE constexpr std::size_t packed_bytes(int num_terms, int num_bound_terms, int num_ranges,
                                                      int num_gap_words = 0) {
  return sizeof(PackedHeader) + static_cast<std::size_t>(num_terms) * sizeof(PackedTerm) +
         static_cast<std::size_t>(num_bound_terms) * sizeof(PackedBoundTerm) +
         static_cast<std::size_t>(num_ranges) * sizeof(PackedRange) +
         static_cast<std::size_t>(num_gap_words) * sizeof(std::uint64_t);
}

// Bytes that hold any query with so many attributes and ranges.
constexpr std::size_t packed_stride(int num_attributes, int num_ranges, bool has_gap_words = false) {
  const int capped = num_ranges == 0                     ? 0
                     : num_attributes <= kMaxCappedTerms ? num_attributes - 1
                                                         : kMaxCappedTerms;
  return packed_bytes(num_attributes, num_attributes + 1 + capped, num_ranges,
                      has_gap_words ? gap_words_of(num_attributes) : 0);
}
// Of these, what a warp or block keeps in shared memory.
CULMEN_HOST_DEVICE constexpr std::uint32_t shared_query_bytes(std::uint32_t query_stride) {
  return query_stride <= kMaxSharedQueryBytes ? query_stride : 0;
}

}  // namespace culmen::gpu
