// The SIMD kernels, target by target, against plain code.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/simd/kernels.h"
#include "culmen/error.h"
#include "index/leaf_codes.h"
#include "index/snapshot.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

ResolvedQuery plain_query(Random& random, int num_attributes) {
  ResolvedQuery query;
  query.offset = random.chance(0.5) ? 0 : random.uniform(-1, 1);
  for (std::int32_t i = 0; i < num_attributes; ++i)
    if (random.chance(0.8)) query.terms.push_back({i, random.uniform(-1, 1)});
  return query;
}

template <typename T>
void expect_scores_of_plain_code(Random& random) {
  for (const std::size_t stride : {16, 48, 64, 128}) {
    for (std::uint32_t num_rows = 1; num_rows <= stride; num_rows += num_rows % 5 == 0 ? 3 : 1) {
      constexpr int kAttributes = 5;
      std::vector<T> values(kAttributes * stride);
      for (T& value : values) value = static_cast<T>(random.uniform(-1, 1));
      const ResolvedQuery query = plain_query(random, kAttributes);
      const double kth_bound =
          random.chance(0.5) ? -std::numeric_limits<double>::infinity() : random.uniform(-1, 1);
      constexpr double kPoison = -12345;
      std::vector<simd::ScoredRow> found(num_rows + 1, {kPoison, 77});
      const std::size_t count =
          simd::score_rows(values.data(), stride, num_rows, query, kth_bound, found.data());
      std::size_t expected = 0;
      for (std::uint32_t r = 0; r < num_rows; ++r) {
        const auto value_of = [&](int attribute) {
          return values[static_cast<std::size_t>(attribute) * stride + r];
        };
        const double wanted = score(query.score_terms(), query.offset, value_of);
        if (!(wanted >= kth_bound)) continue;
        ASSERT_LT(expected, count);
        EXPECT_EQ(found[expected].row, r);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found[expected].score), std::bit_cast<std::uint64_t>(wanted));
        ++expected;
      }
      EXPECT_EQ(count, expected);
      EXPECT_EQ(found[num_rows].score, kPoison) << "written past the last row";
    }
  }
}

TEST(Kernels, ScoreRowsAsPlainCodeDoesOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(1);
    expect_scores_of_plain_code<float>(random);
    expect_scores_of_plain_code<double>(random);
  }
}

template <typename T>
T random_number(Random& random) {
  return static_cast<T>(random.between(-20, 20)) / (std::is_integral_v<T> ? 1 : 4);
}

template <typename T>
void expect_masks_of_plain_code(Random& random) {
  for (std::size_t count = 1; count <= 200; ++count) {
    std::vector<T> numbers((count + 63) / 64 *
                           64);  // all may lie in some interval: no bit after count is set
    for (T& number : numbers) number = random_number<T>(random);
    std::vector<Interval<T>> intervals;
    for (std::uint64_t i = random.below(5); i > 0; --i)
      intervals.push_back({random_number<T>(random), random_number<T>(random)});
    std::vector<std::uint64_t> mask((count + 63) / 64, ~std::uint64_t{0});
    simd::mask_of(numbers.data(), count, std::span<const Interval<T>>(intervals), mask.data());
    for (std::size_t i = 0; i < 64 * mask.size(); ++i) {
      const bool inside = i < count && std::ranges::any_of(intervals, [&](const Interval<T>& interval) {
                            return numbers[i] >= interval.minimum && numbers[i] <= interval.maximum;
                          });
      ASSERT_EQ(mask[i / 64] >> i % 64 & 1, inside ? 1 : 0) << i << " of " << count;
    }
  }
}

TEST(Kernels, MaskNumbersInIntervalsAsPlainCodeDoesOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(4);
    expect_masks_of_plain_code<float>(random);
    expect_masks_of_plain_code<double>(random);
    expect_masks_of_plain_code<std::int64_t>(random);
    expect_masks_of_plain_code<std::uint8_t>(random);
    expect_masks_of_plain_code<std::uint16_t>(random);
    expect_masks_of_plain_code<std::uint32_t>(random);
    expect_masks_of_plain_code<std::uint64_t>(random);
  }
}

TEST(Kernels, FindChildrenWithKeysAsPlainCodeDoesOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(5);
    const auto key = [&] {
      return random.chance(0.1) ? static_cast<std::int64_t>(random.next())
                                : std::int64_t{random.between(-9, 9)};
    };
    for (int trial = 0; trial < 1000; ++trial) {
      ChildZones zones;
      for (std::size_t c = 0; c < kFanOut; ++c) {
        zones.minimum[c] = key();
        zones.maximum[c] = key();
        zones.set[c] = random.next() & random.next() & random.next();
      }
      const Interval<std::int64_t> interval = {key(), key()};
      const std::uint64_t set = random.chance(0.2) ? ~std::uint64_t{0} : random.next() & random.next();
      std::uint32_t wanted = 0;
      for (std::size_t c = 0; c < kFanOut; ++c)
        if (zones.minimum[c] <= interval.maximum && zones.maximum[c] >= interval.minimum &&
            (zones.set[c] & set) != 0)
          wanted |= std::uint32_t{1} << c;
      ASSERT_EQ(simd::children_with_keys(zones, interval, set), wanted);
    }
  }
}

// A leaf as the writers make it.
template <typename T>
struct CodedLeaf {
  static constexpr std::size_t kAttributes = 64;
  SlotArena arena;
  std::uint32_t num_rows;

  CodedLeaf(Random& random, std::size_t leaf_rows, std::uint32_t rows, bool is_plain = false)
      : arena({kAttributes, leaf_rows, sizeof(T), false}, BoundLayout(1), 1, 1), num_rows(rows) {
    T* values = reinterpret_cast<T*>(arena.values(0));
    T* zone_map = reinterpret_cast<T*>(arena.zone_map(0));
    for (std::size_t i = 0; i < kAttributes; ++i) {
      T* column = values + i * leaf_rows;
      const int exponent = random.pick({0, 0, 0, -20, 20, sizeof(T) == 4 ? 120 : 1000, -149});
      const double size = is_plain ? 1 : std::ldexp(1.0, exponent);
      const double centre = random.pick({0.0, 0.0, 1.0, 1e6}) * size;
      for (std::uint32_t r = 0; r < num_rows; ++r)
        column[r] = static_cast<T>(random.chance(0.05) ? centre : centre + size * random.uniform(-1, 1));
      if (!is_plain && random.chance(0.1)) std::fill(column, column + num_rows, column[0]);
      const auto [smallest, largest] = std::minmax_element(column, column + num_rows);
      zone_map[static_cast<std::size_t>(Extreme::maximum) * kAttributes + i] = *largest;
      zone_map[static_cast<std::size_t>(Extreme::minimum) * kAttributes + i] = *smallest;
    }
    write_leaf_codes(arena, 0, num_rows);
  }

  const T* values() { return reinterpret_cast<const T*>(arena.values(0)); }
  simd::LeafCodes<T> codes() {
    const T* zone_map = reinterpret_cast<const T*>(arena.zone_map(0));
    return {arena.codes(0), num_code_words(arena.shape().leaf_rows), zone_map, zone_map + kAttributes,
            num_rows};
  }
};

ResolvedQuery query_of_terms(Random& random, int num_terms) {
  ResolvedQuery query;
  query.offset = random.chance(0.5) ? 0 : random.uniform(-1, 1);
  const double size = std::ldexp(1.0, random.pick({0, 0, 0, -300, 300, -1000, 900}));
  const double zero_to_one = random.pick({0.0, 1.0, 20.0});  // how much weights differ
  std::int32_t attribute = random.between(0, static_cast<int>(CodedLeaf<float>::kAttributes) - num_terms);
  for (int t = 0; t < num_terms; ++t)
    query.terms.push_back({attribute++, random.sign() * size * std::exp(-zero_to_one * random.unit())});
  if (random.chance(0.3)) query.terms.back().attribute = random.between(query.terms.back().attribute, 63);
  query.codes = CodeTerms(query.score_terms());
  return query;
}

// Every row that reaches the k-th score bound is listed, for any bound. Returns how many are listed for a bound that
// few rows reach.
template <typename T>
std::size_t expect_all_that_reach(Random& random, int num_terms) {
  const std::size_t leaf_rows = random.pick<std::size_t>({16, 48, 96, 128});
  CodedLeaf<T> leaf(random, leaf_rows, 1 + static_cast<std::uint32_t>(random.below(leaf_rows)));
  const ResolvedQuery query = query_of_terms(random, num_terms);
  std::vector<double> scores;
  for (std::uint32_t r = 0; r < leaf.num_rows; ++r)
    scores.push_back(score(query.score_terms(), query.offset, [&](int attribute) {
      return leaf.values()[static_cast<std::size_t>(attribute) * leaf_rows + r];
    }));
  std::vector<std::uint32_t> rows(4 * leaf.codes().num_words + 1);
  std::size_t of_the_highest = 0;
  for (std::uint32_t r = 0; r < leaf.num_rows; ++r) {
    const std::size_t count = simd::rows_by_codes(leaf.codes(), query, scores[r], rows.data());
    if (scores[r] == *std::max_element(scores.begin(), scores.end())) of_the_highest = count;
    if (count == simd::kAllRows) continue;
    EXPECT_LE(count, leaf.num_rows);
    const std::vector<std::uint32_t> listed(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::uint32_t other = 0; other < leaf.num_rows; ++other)
      if (scores[other] >= scores[r]) {
        EXPECT_EQ(std::count(listed.begin(), listed.end(), other), 1)
            << "row " << other << ", terms " << num_terms;
      }
    std::vector<simd::ScoredRow> scored(count + 1);
    scored.resize(simd::score_listed(leaf.values(), leaf_rows, listed, query, scores[r], scored.data()));
    for (const simd::ScoredRow& row : scored)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(row.score), std::bit_cast<std::uint64_t>(scores[row.row]));
    EXPECT_EQ(scored.size(),
              std::count_if(scores.begin(), scores.end(), [&](double s) { return s >= scores[r]; }));
  }
  return of_the_highest;
}

TEST(Kernels, ListByCodesEveryRowThatReachesTheKthBoundOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(4);
    for (std::uint64_t trial = 0; trial < num_cases(600); ++trial) {
      const int num_terms = random.pick({1, 2, 3, 8, 16, 64});
      expect_all_that_reach<float>(random, num_terms);
      expect_all_that_reach<double>(random, num_terms);
    }
  }
}

TEST(Kernels, ListFewRowsByCodesWhereFewReachTheKthBound) {
  Random random(5);
  constexpr std::size_t kRows = 96;
  std::size_t listed = 0;
  for (int trial = 0; trial < 500; ++trial) {
    CodedLeaf<float> leaf(random, kRows, kRows, true);
    ResolvedQuery query;
    for (std::int32_t t = 0; t < 8; ++t) query.terms.push_back({t, random.uniform(-1, 1)});
    query.codes = CodeTerms(query.score_terms());
    double best = -HUGE_VAL;
    for (std::uint32_t r = 0; r < kRows; ++r)
      best = std::max(best, score(query.score_terms(), query.offset, [&](int attribute) {
                        return leaf.values()[static_cast<std::size_t>(attribute) * kRows + r];
                      }));
    std::vector<std::uint32_t> rows(4 * leaf.codes().num_words + 1);
    listed += std::min(kRows, simd::rows_by_codes(leaf.codes(), query, best, rows.data()));
  }
  EXPECT_LE(listed, 500 * 12);
  EXPECT_GE(listed, 500);
}

TEST(Kernels, ComputeABoundForEachChildOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(2);
    std::vector<BoundRow> bounds(7);
    for (BoundRow& row : bounds) {
      std::vector<float> values(kFanOut);
      for (float& value : values) value = static_cast<float>(random.between(-100, 100));
      row.encode(values, random.chance(0.5) ? Extreme::maximum : Extreme::minimum);
    }
    BoundPlan plan;
    plan.base = 3;
    for (const std::int32_t row : {6, 0, 3})
      plan.terms.push_back({row, static_cast<double>(random.between(-8, 8))});
    double found[kFanOut];
    simd::child_bounds(bounds.data(), plan.base, plan.terms, found);
    for (std::uint32_t c = 0; c < kFanOut; ++c) {
      double wanted = plan.base;
      for (const BoundTerm& term : plan.terms)
        wanted += term.coefficient * static_cast<double>(bounds[static_cast<std::size_t>(term.row)][c]);
      EXPECT_EQ(found[c], wanted);  // few bits: any order is exact
    }
  }
}

TEST(Kernels, ReadEveryCodeAsPlainCodeDoesOnEveryTarget) {
  BoundPlan plan;
  plan.base = 2;
  plan.terms.push_back({0, 3});
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    for (const bool is_linear : {false, true})
      for (const Extreme extreme : {Extreme::maximum, Extreme::minimum})
        for (const double least : {0.0, 0x1p-126, 0x1p-3, 0x1p90}) {
          constexpr float gap = 0x1.2p40F;
          BoundRow row;
          row.set_scale({7, least, is_linear, gap}, extreme);
          for (std::uint32_t first = 0; first < 256; first += kFanOut) {
            for (std::uint32_t c = 0; c < kFanOut; ++c) row.codes[c] = static_cast<std::uint8_t>(first + c);
            double found[kFanOut];
            simd::child_bounds(&row, plan.base, plan.terms, found);
            for (std::uint32_t c = 0; c < kFanOut; ++c) {
              const double sign = extreme == Extreme::maximum ? 1 : -1;
              const double inward = row.codes[c] == BoundScale::kOutlier
                                        ? -static_cast<double>(gap)
                                        : least * BoundScale::steps_of(row.codes[c], is_linear);
              ASSERT_EQ(found[c], 2 + 3 * sign * static_cast<double>(static_cast<float>(7 - inward)))
                  << target << ", code " << first + c;
            }
          }
        }
  }
}

TEST(Kernels, FindTheHighestChildrenOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(3);
    for (int trial = 0; trial < 1000; ++trial) {
      std::array<double, kFanOut> bounds;
      const int spread = random.pick({0, 1, 5, 1000});
      for (double& bound : bounds) bound = random.between(-spread, spread);
      if (trial % 10 == 0) bounds.fill(-std::numeric_limits<double>::infinity());
      if (trial % 3 == 0) bounds[random.below(kFanOut)] = std::numeric_limits<double>::infinity();
      const double wanted = *std::max_element(bounds.begin(), bounds.end());
      double highest = 0;
      const std::uint64_t children = simd::highest_children(bounds.data(), highest);
      EXPECT_EQ(highest, wanted);
      for (std::size_t c = 0; c < kFanOut; ++c) EXPECT_EQ((children >> c & 1) != 0, bounds[c] == wanted) << c;
      EXPECT_EQ(children >> kFanOut, 0u);
    }
  }
}

// Numbers in the domain of every function, of all sizes.
double random_argument(Random& random) {
  if (random.chance(0.05))
    return random.pick({0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, 1.0, 0x1.6a09e667f3bcdp-1});
  return random.chance(0.5) ? random.uniform(0.01, 3)
                            : std::ldexp(random.uniform(1, 2), random.between(-1074, 1000));
}

TEST(Kernels, AddTheValuesOfFunctionsAsPlainCodeDoesOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(6);
    for (int trial = 0; trial < 2000; ++trial) {
      NumberTerm term = {};
      term.function = random.pick({TermFunction::near, TermFunction::decay_linear, TermFunction::decay_exp,
                                   TermFunction::decay_gauss, TermFunction::log, TermFunction::log1p,
                                   TermFunction::sqrt, TermFunction::saturate});
      term.weight = random.uniform(-2, 2);
      term.origin = random.uniform(0, 3);
      term.scale = std::exp2(random.uniform(-8, 3));
      constexpr double kPoison = -12345;
      std::array<double, kFanOut + 8> x, sums, wanted;
      x.fill(1);
      sums.fill(kPoison);
      const std::size_t count = random.below(kFanOut + 1);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = random_argument(random);
        sums[i] = random.uniform(-1, 1);
        wanted[i] = score_step(sums[i], term.weight, term.value(x[i]));
      }
      std::array<double, kFanOut + 8> bounds = sums;
      simd::add_values(term, {0, 0}, x.data(), count, sums.data());
      simd::add_values(term, term.margin(), x.data(), count, bounds.data());
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(sums[i]), std::bit_cast<std::uint64_t>(wanted[i]))
            << target << ", " << static_cast<int>(term.function) << " of " << x[i];
        ASSERT_GE(bounds[i], sums[i]);
        ASSERT_EQ(std::bit_cast<std::uint64_t>(simd::value_of(term, x[i])),
                  std::bit_cast<std::uint64_t>(term.value(x[i])));
      }
      for (std::size_t i = (count + 7) / 8 * 8; i < sums.size(); ++i) ASSERT_EQ(sums[i], kPoison);
    }
  }
}

// As TangentTerm::highest() does, over the ranges that bounds rows tell.
TEST(Kernels, BoundWhatRisesAboveALine) {
  Random random(9);
  for (const std::string& target : simd::available_targets()) {
    simd::force_target(target);
    int num_lines = 0;
    for (int trial = 0; trial < 400; ++trial) {
      const BoundUnit unit = {random.uniform(-1, 1), 0.5, 2, -1};
      std::array<float, kFanOut> minima{}, maxima{};
      for (std::size_t c = 0; c < kFanOut; ++c) {
        const auto a = static_cast<float>(random.uniform(0, 4)), b = static_cast<float>(random.uniform(0, 4));
        minima[c] = std::min(a, b);
        maxima[c] = std::max(a, b);
      }
      BoundRow least, most;
      least.encode(minima, Extreme::minimum);
      most.encode(maxima, Extreme::maximum);
      simd::ChildRanges ranges;
      simd::child_ranges(least, most, unit, ranges);
      for (std::uint32_t c = 0; c < kFanOut; ++c) {
        ASSERT_EQ(ranges.first[c], unit.value_outwards(least[c], false));
        ASSERT_EQ(ranges.last[c], unit.value_outwards(most[c], true));
      }
      NumberTerm term = {
          {.function = random.pick({TermFunction::near, TermFunction::decay_linear, TermFunction::decay_exp,
                                    TermFunction::decay_gauss, TermFunction::log, TermFunction::log1p,
                                    TermFunction::sqrt, TermFunction::saturate}),
           .weight = random.uniform(-2, 2),
           .origin = random.uniform(-1, 3),
           .scale = random.uniform(0.1, 2),
           .is_field = false,
           .column = 0,
           .negated = random.chance(0.5)}};
      term.minimum = term.negated ? -3 : -1;
      term.maximum = term.negated ? 1 : 3;
      const std::optional<TangentTerm> line =
          TangentTerm::make({random.uniform(-1, 1), term}, random.between(0, TangentTerm::kLines - 1), 10);
      if (!line) continue;
      ++num_lines;
      std::array<double, kFanOut> bounds{};
      bounds.fill(1);
      simd::add_tangent(*line, ranges, bounds.data());
      for (std::size_t c = 0; c < kFanOut; ++c) {
        ASSERT_NEAR(bounds[c], 1 + line->highest(ranges.first[c], ranges.last[c]),
                    0x1p-47 * (10 + line->size()))
            << target << ", " << static_cast<int>(term.function);
      }
    }
    EXPECT_GT(num_lines, 100);
  }
  simd::force_target("");
}

TEST(Kernels, HaveTheFastestTargetFirstAndAPlainOneToo) {
  const std::vector<std::string> targets = simd::available_targets();
  ASSERT_FALSE(targets.empty());
  simd::force_target("");
  EXPECT_EQ(simd::current_target(), targets.front());
}

TEST(Kernels, RefuseATargetThatIsNotThere) {
  EXPECT_THROW(simd::force_target("Z80"), InvalidArgument);
  EXPECT_EQ(simd::current_target(), simd::available_targets().front());
}

}  // namespace
}  // namespace culmen::test
