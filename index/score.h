// The score, by definition (docs/contract.md): one fma per used attribute, in attribute order, in binary64.
//
// The oracle, every SIMD path and every kernel run exactly this chain, so all engines return the same bits.
// Each step is monotone in the attribute, even after rounding. So the chain over a leaf's maxima (minima for negative
// weights) is never below the score of a row in the leaf, with no error bound at all (Rule A).
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/host_device.h"

namespace culmen {

// An attribute that a query uses: its weight is not zero. Lists of terms are in attribute order.
struct Term {
  std::int32_t attribute;
  double weight;

  friend bool operator==(const Term&, const Term&) = default;
};

CULMEN_HOST_DEVICE inline double score_step(double accumulator, double weight, double value) {
  return std::fma(weight, value, accumulator);
}

// A chain of products that underflow can end in -0, which differs in bits from the +0 of a chain over negated
// attributes. Adding +0 turns -0 into +0 and changes nothing else.
CULMEN_HOST_DEVICE inline double score_finish(double accumulator) {
  return accumulator + 0.0;
}

// value_of(attribute) -> the row's value; `offset` is 0 but for Scale::minmax.
template <typename ValueOf>
CULMEN_HOST_DEVICE double score(std::span<const Term> terms, double offset, ValueOf&& value_of) {
  double accumulator = offset;
  for (const Term& term : terms)
    accumulator = score_step(accumulator, term.weight, static_cast<double>(value_of(term.attribute)));
  return score_finish(accumulator);
}

}  // namespace culmen
