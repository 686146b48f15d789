#include "query/tangent_term.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace culmen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether it rises, ever more slowly.
bool rises(TermFunction function) {
  return function == TermFunction::log || function == TermFunction::log1p || function == TermFunction::sqrt ||
         function == TermFunction::saturate;
}

// Of a function that rises.
double slope_at(const NumberTerm& term, double x) {
  switch (term.function) {
    case TermFunction::log:
      return 1 / x;
    case TermFunction::log1p:
      return 1 / (1 + x);
    case TermFunction::sqrt:
      return 0.5 / std::sqrt(x);
    default:
      return term.scale / (x + term.scale) / (x + term.scale);
  }
}

// On both sides of its kink.
double slope_at_kink(const NumberTerm& term) {
  switch (term.function) {
    case TermFunction::near:
      return 1;
    case TermFunction::decay_linear:
      return 0.5 / term.scale;
    default:
      return kLn2 / term.scale;
  }
}

}  // namespace

// The lines for one function, by stored values.
//
// Functions without a kink get tangents. A sum without its tangent is highest where that touches, and bends down around it:
// everywhere, if the function rises; up to where it bends up, if it is a Gauss curve. Beyond, each part is highest at an end.
// near and other decays bend up, or not at all, on both sides of their kink, so that without a line no steeper than they are
// there their sum is highest at the kink or at an end. With a negative weight the functions that rise, and near, bend up
// everywhere; other decays have no lines.
class TangentTerm::Lines {
 public:
  Lines(const WeightAndFunction& sum, double largest)
      : term_(sum.term), weight_(sum.weight), largest_(largest), first_(term_.minimum), last_(term_.maximum) {
    if (!rises(term_.function)) return;
    const double least = term_.function == TermFunction::log ? 0x1p-1074 : 0.0;
    if (term_.negated) {
      last_ = std::fmin(last_, -least);
    } else {
      first_ = std::fmax(first_, least);
    }
  }

  bool exist() const {
    const bool bends_both_ways = is_decay(term_.function) && term_.weight < 0;
    return term_.function != TermFunction::rank && !bends_both_ways && first_ < last_;
  }

  std::optional<TangentTerm> line(int number) const {
    // Of the range: where rows with few large values have theirs as well as where those of a uniform column do.
    constexpr std::array<double, kLines> kPlaces = {0x1p-18, 0x1p-14, 0x1p-10, 0x1p-7, 0.03, 0.1,
                                                    0.25,    0.45,    0.65,    0.82,   0.95};
    const auto i = static_cast<std::size_t>(number);
    if (rises(term_.function)) {
      const double from_zero = kPlaces[i] * (last_ - first_);
      return tangent_at(term_.negated ? last_ - from_zero : first_ + from_zero);
    }
    const double part = static_cast<double>(number) / (kLines - 1);
    if (term_.function == TermFunction::decay_gauss) return tangent_at(bend(part));
    return through_kink(weight_ + (1 - 2 * part) * term_.weight * slope_at_kink(term_) / term_.ticks);
  }

  std::optional<TangentTerm> level() const {
    if (term_.function != TermFunction::decay_gauss) return through_kink(weight_);
    return tangent_at(std::fmax(bend(0), std::fmin(stored_origin(), bend(1))));
  }

  std::optional<TangentTerm> flattest() const {
    if (term_.function != TermFunction::decay_gauss) {
      const double steepest = std::fabs(term_.weight) * slope_at_kink(term_) / term_.ticks;
      return through_kink(std::clamp(0.0, weight_ - steepest, weight_ + steepest));
    }
    return tangent_at(flattest_of_gauss());
  }

 private:
  // A part of where a Gauss curve bends down, as far as rows have values there.
  double bend(double part) const {
    constexpr double kReach = 0.84;  // the curve bends up from 0.849 scales on
    const double middle = stored_origin(), reach = kReach * term_.scale * term_.ticks;
    const double first = std::fmax(middle - reach, first_), last = std::fmin(middle + reach, last_);
    return first <= last ? first + part * (last - first) : std::numeric_limits<double>::quiet_NaN();
  }

  // Where the slope takes the weight away, about, if it does so where the curve bends down.
  double flattest_of_gauss() const {
    const double lowest = bend(0), highest = bend(1);
    // The slope is -2 ln 2 t 2^(-t^2) / scale, t = (x - origin) / scale. Newton's method finds the size of t from below.
    const double sign = term_.negated ? -1 : 1;
    const double wanted = sign * weight_ * term_.ticks * term_.scale / (2 * kLn2 * term_.weight);
    double t = 0;
    for (int step = 0; step < 4; ++step) {
      const double power = exp2_of_minus(t * t), rise = power * (1 - 2 * kLn2 * t * t);
      if (!(rise > 0.01)) break;
      t += (std::fabs(wanted) - t * power) / rise;
    }
    const double stored = stored_origin() + sign * std::copysign(t, wanted) * term_.scale * term_.ticks;
    return std::fmax(lowest, std::fmin(stored, highest));
  }

  double stored_origin() const { return (term_.negated ? -term_.origin : term_.origin) * term_.ticks; }

  double slope_of(double stored) const {
    const double x = term_.of_stored(stored), sign = term_.negated ? -1 : 1;
    if (rises(term_.function)) return sign * slope_at(term_, x);
    const double t = (x - term_.origin) / term_.scale;
    return sign * -2 * kLn2 * t * exp2_of_minus(t * t) / term_.scale / term_.ticks;
  }

  std::optional<TangentTerm> tangent_at(double stored) const {
    const double of_function = term_.weight * slope_of(stored);
    return checked(of_function, weight_ + of_function, stored);
  }

  std::optional<TangentTerm> through_kink(double slope) const {
    return checked(term_.weight * slope_at_kink(term_) / term_.ticks, slope,
                   std::clamp(stored_origin(), first_, last_));
  }

  // What rounding of a number, to one of the function's or to the place of its kink, changes at most, in units of 2^-53: not in
  // proportion to the values that are added up.
  double of_numbers() const {
    const double weight = std::fabs(term_.weight);
    const double tiny = weight * 0x1p-1000;  // values below 2^-1022 have fewer digits
    if (term_.function == TermFunction::log1p) return weight + tiny;  // of 1 + x
    if (rises(term_.function)) return tiny;
    const double steepest =
        term_.function == TermFunction::decay_gauss ? 1 / term_.scale : slope_at_kink(term_);
    return weight * steepest / term_.ticks * std::fmax(std::fabs(first_), std::fabs(last_)) + tiny;
  }

  // of_function: what the function's weight makes of its slope.
  std::optional<TangentTerm> checked(double of_function, double slope, double peak) const {
    constexpr double kLeastSlope = 0x1p-500;  // smaller ones may have lost digits
    constexpr double kOutOfProportion = 0x1p20;
    TangentTerm line;
    line.term_ = term_;
    line.slope_ = slope;
    line.rest_ = weight_ - slope;
    line.peak_ = peak;
    line.lowest_ = first_;
    line.highest_ = last_;
    line.ends_count_ = term_.weight < 0 || is_decay(term_.function);
    line.size_ = (std::fabs(slope) + std::fabs(line.rest_)) * std::fmax(std::fabs(first_), std::fabs(last_)) +
                 of_numbers();
    const bool is_known = of_function == 0 || std::fabs(of_function) >= kLeastSlope;  // false of NaN
    if (!is_known || !(line.size_ <= kOutOfProportion * largest_)) return {};
    return line;
  }

  const NumberTerm& term_;
  double weight_, largest_, first_, last_;
};

std::optional<TangentTerm> TangentTerm::make(const WeightAndFunction& sum, int line, double largest) {
  const Lines lines(sum, largest);
  if (!lines.exist()) return {};
  return lines.line(line);
}

std::optional<TangentTerm> TangentTerm::flattest(const WeightAndFunction& sum, double largest) {
  const Lines lines(sum, largest);
  if (!lines.exist()) return {};
  return lines.flattest();
}

std::optional<TangentTerm> TangentTerm::level(const WeightAndFunction& sum, double largest) {
  const Lines lines(sum, largest);
  if (!lines.exist()) return {};
  return lines.level();
}

double TangentTerm::at(double stored) const {
  return rest_ * stored + term_.weight * term_.value(term_.of_stored(stored));
}

double TangentTerm::highest(double first, double last) const {
  first = std::clamp(first, lowest_, highest_);
  last = std::clamp(last, lowest_, highest_);
  double most = -kInfinity;
  if (peak_counts()) most = at(std::fmax(std::fmin(peak_, last), first));
  if (ends_count_) most = std::fmax(most, std::fmax(at(first), at(last)));
  return most;
}

}  // namespace culmen
