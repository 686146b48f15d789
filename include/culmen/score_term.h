// Terms of a score besides weight times value: functions of one column, and conditions.
//
//   query.terms = {culmen::ScoreTerm::near("price", 100).times(2),
//                  culmen::ScoreTerm::log1p("reviews"),
//                  culmen::ScoreTerm::when(culmen::col("brand") == "Sony").times(0.5)};
//
// Index::terms reads the same from text, "2 * near(price, 100) + log1p(reviews) + 0.5 * [brand = 'Sony']". A term adds its weight
// times its value to the score of the weights, in an order of its own (docs/contract.md): the same terms give the same
// score bits in whatever order they are listed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "culmen/filter.h"

namespace culmen {

// Of a row with the value x. Rows that miss the value, or whose value the function does not take, have no score and are
// not in the answer. (With Missing::fill an attribute's stand-in is x.) Days are the unit of dates, seconds that of timestamps.
enum class TermFunction : std::uint8_t {
  near,          // -|x - origin|
  decay_linear,  // 1 - |x - origin| / (2 scale), or 0 if that is less
  decay_exp,     // 2^-(|x - origin| / scale)
  decay_gauss,   // 2^-(|x - origin| / scale)^2
  log,           // the natural logarithm, of x > 0
  log1p,         // that of 1 + x, of x >= 0
  sqrt,          // of x >= 0
  saturate,      // x / (x + scale), of x >= 0
  when,          // 1 if the condition holds, otherwise 0, also where it is unknown
  rank,          // what Scale::rank makes of the weights of attributes: no term of Query::terms
};

struct ScoreTerm {
  TermFunction function = TermFunction::when;
  // An attribute, or a filter column of numbers, dates or timestamps; of logarithms, sqrt and saturate: of numbers.
  AttributeRef column = 0;
  Literal origin = 0.0;   // of near and the decays
  double scale = 1;       // above 0: where a decay or saturate is 1/2
  Filter condition = {};  // of `when`
  double weight = 1;      // finite; of 0 the term is left out

  static ScoreTerm near(AttributeRef column, Literal origin) {
    return {TermFunction::near, std::move(column), std::move(origin)};
  }
  // shape: one of the three decays.
  static ScoreTerm decay(AttributeRef column, Literal origin, double scale,
                         TermFunction shape = TermFunction::decay_exp) {
    return {shape, std::move(column), std::move(origin), scale};
  }
  static ScoreTerm log(AttributeRef column) { return {TermFunction::log, std::move(column)}; }
  static ScoreTerm log1p(AttributeRef column) { return {TermFunction::log1p, std::move(column)}; }
  static ScoreTerm sqrt(AttributeRef column) { return {TermFunction::sqrt, std::move(column)}; }
  static ScoreTerm saturate(AttributeRef column, double half) {
    return {TermFunction::saturate, std::move(column), 0.0, half};
  }
  static ScoreTerm when(Filter condition) {
    ScoreTerm term;
    term.condition = std::move(condition);
    return term;
  }

  // Multiplies the weight.
  [[nodiscard]] ScoreTerm times(double factor) const {
    ScoreTerm term = *this;
    term.weight *= factor;
    return term;
  }

  // As Index::terms reads it: "2 * near(price, 100)".
  [[nodiscard]] std::string text() const;
  // Without its weight: "near(price, 100)".
  [[nodiscard]] std::string function_text() const;

  friend bool operator==(const ScoreTerm&, const ScoreTerm&) = default;
};

}  // namespace culmen
