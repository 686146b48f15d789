// QueryWriter: writes a packed query from front to back, on the host or on the device.
#pragma once

#include <cmath>

#include "gpu/search/packed_query.h"
#include "query/chain.h"

namespace culmen::gpu {

class QueryWriter {
 public:
  // `bytes` are aligned to 8.
  CULMEN_HOST_DEVICE explicit QueryWriter(std::byte* bytes)
      : bytes_(bytes), end_(bytes + sizeof(PackedHeader)) {}

  // In this order: all terms, all bound terms, those under caps, all ranges, all words of gaps.
  CULMEN_HOST_DEVICE void push_back(const Term& term) {
    append(PackedTerm{term.weight, term.attribute, 0});
    ++num_terms_;
  }
  CULMEN_HOST_DEVICE void push_back(const BoundTerm& term) {
    append(PackedBoundTerm{term.coefficient, term.row, 0});
    ++(capped_base_ == HUGE_VAL ? num_bound_terms_ : num_capped_terms_);
  }
  // Bound terms after this are those under caps.
  CULMEN_HOST_DEVICE void begin_capped(double base) { capped_base_ = base; }
  CULMEN_HOST_DEVICE void push_back(const PackedRange& range) {
    append(range);
    ++num_ranges_;
  }

  // Of QueryRef::ranked_gaps.
  CULMEN_HOST_DEVICE void push_back(std::uint64_t gap_word) {
    append(gap_word);
    ++num_gap_words_;
  }

  CULMEN_HOST_DEVICE void set_parts(const void* parts) { parts_ = parts; }

  // Call it last.
  CULMEN_HOST_DEVICE void finish(double offset, double min_score, const BoundStart& bound) {
    constexpr int kMaxExponent = 1000;  // for a magnitude of infinity or 0, too
    const int exponent = larger(smaller(std::ilogb(bound.magnitude), kMaxExponent), -kMaxExponent);
    header() = {offset,
                bound.base,
                capped_base_,
                min_score,
                std::ldexp(1.0, -exponent),
                std::ldexp(1.0, exponent),
                parts_,
                num_terms_,
                num_bound_terms_,
                num_capped_terms_,
                num_ranges_,
                num_gap_words_,
                0};
  }

  // Instead of all that: a query without hits. No node or leaf has a bound above the base.
  CULMEN_HOST_DEVICE void refuse() {
    header() = {0, -HUGE_VAL, HUGE_VAL, HUGE_VAL, 1, 1, nullptr, 0, 0, 0, 0, 0, 1};
  }

 private:
  CULMEN_HOST_DEVICE static constexpr int larger(int a, int b) { return a > b ? a : b; }
  CULMEN_HOST_DEVICE PackedHeader& header() const { return *reinterpret_cast<PackedHeader*>(bytes_); }
  template <typename T>
  CULMEN_HOST_DEVICE void append(const T& item) {
    *reinterpret_cast<T*>(end_) = item;
    end_ += sizeof(T);
  }

  std::byte* bytes_;
  std::byte* end_;
  double capped_base_ = HUGE_VAL;
  const void* parts_ = nullptr;
  std::int32_t num_terms_ = 0, num_bound_terms_ = 0, num_capped_terms_ = 0, num_ranges_ = 0,
               num_gap_words_ = 0;
};

}  // namespace culmen::gpu
