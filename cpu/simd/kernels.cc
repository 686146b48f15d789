#include "cpu/simd/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/kernels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "cpu/simd/byte_codes-inl.h"
#include "cpu/simd/child_bounds-inl.h"
#include "cpu/simd/codes-inl.h"
#include "cpu/simd/filter-inl.h"
#include "cpu/simd/functions-inl.h"
#include "cpu/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

inline const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "hwy/targets.h"

#include "culmen/error.h"

namespace culmen::simd {

HWY_EXPORT(ScoreRowsFloat);
HWY_EXPORT(ScoreRowsDouble);
HWY_EXPORT(ScoreListedFloat);
HWY_EXPORT(ScoreListedDouble);
HWY_EXPORT(ScoreApartFloat);
HWY_EXPORT(ScoreApartDouble);
HWY_EXPORT(PlainScoreFloat);
HWY_EXPORT(PlainScoreDouble);
HWY_EXPORT(ByteCodesFloat);
HWY_EXPORT(ByteCodesDouble);
HWY_EXPORT(RowsByCodesFloat);
HWY_EXPORT(RowsByCodesDouble);
HWY_EXPORT(MaskOfFloats);
HWY_EXPORT(MaskOfDoubles);
HWY_EXPORT(MaskOfIds);
HWY_EXPORT(MaskOfKeys8);
HWY_EXPORT(MaskOfKeys16);
HWY_EXPORT(MaskOfKeys32);
HWY_EXPORT(MaskOfKeys64);
HWY_EXPORT(ChildrenWithKeys);
HWY_EXPORT(ChildBounds);
HWY_EXPORT(AddValues);
HWY_EXPORT(AddTangent);
HWY_EXPORT(ValueOfOne);
HWY_EXPORT(FindChildRanges);
HWY_EXPORT(HighestChildren);
HWY_EXPORT(TargetName);

template <>
std::size_t score_rows(const float* values, std::size_t stride, std::uint32_t num_rows,
                       const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  return HWY_DYNAMIC_DISPATCH(ScoreRowsFloat)(values, stride, num_rows, query, kth_bound, out);
}

template <>
std::size_t score_rows(const double* values, std::size_t stride, std::uint32_t num_rows,
                       const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  return HWY_DYNAMIC_DISPATCH(ScoreRowsDouble)(values, stride, num_rows, query, kth_bound, out);
}

template <>
std::size_t score_listed(const float* values, std::size_t stride, std::span<const std::uint32_t> rows,
                         const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  return HWY_DYNAMIC_DISPATCH(ScoreListedFloat)(values, stride, rows, query, kth_bound, out);
}

template <>
std::size_t score_listed(const double* values, std::size_t stride, std::span<const std::uint32_t> rows,
                         const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  return HWY_DYNAMIC_DISPATCH(ScoreListedDouble)(values, stride, rows, query, kth_bound, out);
}

template <>
void score_apart(std::span<const double* const> starts, std::size_t stride, std::span<const Term> terms,
                 double offset, double* scores) {
  HWY_DYNAMIC_DISPATCH(ScoreApartDouble)(starts, stride, terms, offset, scores);
}

template <>
void score_apart(std::span<const float* const> starts, std::size_t stride, std::span<const Term> terms,
                 double offset, double* scores) {
  HWY_DYNAMIC_DISPATCH(ScoreApartFloat)(starts, stride, terms, offset, scores);
}

template <>
double plain_score(const double* values, std::span<const double> weights, double offset) {
  return HWY_DYNAMIC_DISPATCH(PlainScoreDouble)(values, weights, offset);
}

template <>
double plain_score(const float* values, std::span<const double> weights, double offset) {
  return HWY_DYNAMIC_DISPATCH(PlainScoreFloat)(values, weights, offset);
}

template <>
ByteSquares byte_codes(const double* values, std::size_t stride, std::uint32_t num_rows,
                       std::span<const ByteScale> scales, std::uint32_t* words) {
  return HWY_DYNAMIC_DISPATCH(ByteCodesDouble)(values, stride, num_rows, scales, words);
}

template <>
ByteSquares byte_codes(const float* values, std::size_t stride, std::uint32_t num_rows,
                       std::span<const ByteScale> scales, std::uint32_t* words) {
  return HWY_DYNAMIC_DISPATCH(ByteCodesFloat)(values, stride, num_rows, scales, words);
}

template <>
std::size_t rows_by_codes(const LeafCodes<float>& leaf, const ResolvedQuery& query, double kth_bound,
                          std::uint32_t* rows) {
  return HWY_DYNAMIC_DISPATCH(RowsByCodesFloat)(leaf, query, kth_bound, rows);
}

template <>
std::size_t rows_by_codes(const LeafCodes<double>& leaf, const ResolvedQuery& query, double kth_bound,
                          std::uint32_t* rows) {
  return HWY_DYNAMIC_DISPATCH(RowsByCodesDouble)(leaf, query, kth_bound, rows);
}

template <>
void mask_of(const float* numbers, std::size_t count, std::span<const Interval<float>> intervals,
             std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfFloats)(numbers, count, intervals, mask);
}

template <>
void mask_of(const double* numbers, std::size_t count, std::span<const Interval<double>> intervals,
             std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfDoubles)(numbers, count, intervals, mask);
}

template <>
void mask_of(const std::int64_t* numbers, std::size_t count,
             std::span<const Interval<std::int64_t>> intervals, std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfIds)(numbers, count, intervals, mask);
}

template <>
void mask_of(const std::uint8_t* numbers, std::size_t count,
             std::span<const Interval<std::uint8_t>> intervals, std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfKeys8)(numbers, count, intervals, mask);
}

template <>
void mask_of(const std::uint16_t* numbers, std::size_t count,
             std::span<const Interval<std::uint16_t>> intervals, std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfKeys16)(numbers, count, intervals, mask);
}

template <>
void mask_of(const std::uint32_t* numbers, std::size_t count,
             std::span<const Interval<std::uint32_t>> intervals, std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfKeys32)(numbers, count, intervals, mask);
}

template <>
void mask_of(const std::uint64_t* numbers, std::size_t count,
             std::span<const Interval<std::uint64_t>> intervals, std::uint64_t* mask) {
  HWY_DYNAMIC_DISPATCH(MaskOfKeys64)(numbers, count, intervals, mask);
}

std::uint32_t children_with_keys(const ChildZones& zones, const Interval<std::int64_t>& interval,
                                 std::uint64_t set) {
  return HWY_DYNAMIC_DISPATCH(ChildrenWithKeys)(zones, interval, set);
}

void child_bounds(const BoundRow* bounds, double base, const BoundTerms& terms, double* out) {
  HWY_DYNAMIC_DISPATCH(ChildBounds)(bounds, base, terms, out);
}

void child_ranges(const BoundRow& minima, const BoundRow& maxima, const BoundUnit& unit,
                  ChildRanges& ranges) {
  HWY_DYNAMIC_DISPATCH(FindChildRanges)(minima, maxima, unit, ranges);
}

void add_tangent(const TangentTerm& tangent, const ChildRanges& ranges, double* bounds) {
  HWY_DYNAMIC_DISPATCH(AddTangent)(tangent, ranges, bounds);
}

void add_values(const NumberTerm& term, NumberTerm::Margin margin, const double* x, std::size_t count,
                double* sums) {
  HWY_DYNAMIC_DISPATCH(AddValues)(term, margin, x, count, sums);
}

double value_of(const NumberTerm& term, double x) {
  const bool has_series = term.function == TermFunction::log || term.function == TermFunction::log1p ||
                          term.function == TermFunction::decay_exp ||
                          term.function == TermFunction::decay_gauss;
  return has_series ? HWY_DYNAMIC_DISPATCH(ValueOfOne)(term, x) : term.value(x);
}

std::uint64_t highest_children(const double* bounds, double& highest) {
  return HWY_DYNAMIC_DISPATCH(HighestChildren)(bounds, highest);
}

std::string current_target() {
  return HWY_DYNAMIC_DISPATCH(TargetName)();
}

std::vector<std::string> available_targets() {
  hwy::SetSupportedTargetsForTest(0);
  std::vector<std::string> names;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void force_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  std::string known;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      return;
    }
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(target);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  if (!name.empty())
    throw InvalidArgument("this machine has no SIMD target \"" + std::string(name) + "\"; it has: " + known);
}

}  // namespace culmen::simd
#endif  // HWY_ONCE
