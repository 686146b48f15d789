// Terms of a score besides the weights: the functions themselves, their texts, what is refused, and that they prune. Answers
// are in tests/cpu/fields_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/elementary.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "query/joint_terms.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// In units of 2^-53 of the result.
double error_in_units(double found, long double expected) {
  return static_cast<double>(std::fabs((static_cast<long double>(found) - expected) / expected)) * 0x1p53;
}

TEST(Elementary, IsAsCloseAsItSays) {
  Random random(1);
  const double most = kElementaryError * 0x1p53;
  const std::uint64_t cases = num_cases(200'000);
  for (std::uint64_t i = 0; i < cases; ++i) {
    const double t = random.chance(0.5) ? random.uniform(0, 1020) : std::pow(2, random.uniform(-60, 3));
    ASSERT_LE(error_in_units(exp2_of_minus(t), std::exp2(-static_cast<long double>(t))), most) << t;
    const double x = random.chance(0.5) ? std::pow(2, random.uniform(-1000, 1000))
                                        : 1 + random.sign() * std::pow(2, random.uniform(-50, -1));
    if (x != 1) {
      ASSERT_LE(error_in_units(log_of(x), std::log(static_cast<long double>(x))), most) << x;
    }
  }
}

TEST(Elementary, HasExactValuesAndEnds) {
  EXPECT_EQ(exp2_of_minus(0), 1);
  EXPECT_EQ(exp2_of_minus(1), 0.5);
  EXPECT_EQ(exp2_of_minus(1074), 0x1p-1074);
  EXPECT_EQ(exp2_of_minus(1e300), 0);
  EXPECT_EQ(exp2_of_minus(std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(log_of(1), 0);
  EXPECT_NEAR(log_of(0x1p-1074), -1074 * std::log(2.0), 1e-12);
}

NumberTerm random_number_term(Random& random, double minimum, double maximum) {
  NumberTerm term = {};
  term.function = random.pick({TermFunction::near, TermFunction::decay_linear, TermFunction::decay_exp,
                               TermFunction::decay_gauss, TermFunction::log, TermFunction::log1p,
                               TermFunction::sqrt, TermFunction::saturate, TermFunction::rank});
  term.weight = random.uniform(-2, 2);
  term.origin = random.uniform(minimum - 1, maximum + 1);
  term.scale = std::exp2(random.uniform(-4, 0)) * (maximum - minimum);
  const bool is_refused = term.function == TermFunction::saturate && std::isinf(maximum + term.scale);
  if (is_refused) term.function = TermFunction::sqrt;
  term.minimum = minimum;
  term.maximum = maximum;
  std::vector<double> quantiles;
  for (int i = random.between(1, 40); i > 0; --i) quantiles.push_back(random.uniform(minimum, maximum));
  std::sort(quantiles.begin(), quantiles.end());
  term.set_curve(std::make_shared<const RankCurve>(quantiles));
  return term;
}

TEST(JointAttribute, BoundsTheSumOfItsPartsOverAnyRange) {
  Random random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const double minimum = random.chance(0.3) ? 1e9 : random.uniform(0.001, 5);
    const bool has_sentinel = random.chance(0.2);
    const double maximum =
        has_sentinel ? std::numeric_limits<double>::max() : minimum + std::exp2(random.uniform(-20, 10));
    const double of_weights = has_sentinel ? 0x1p-8 : 1;  // so that no sum overflows
    std::vector<NumberTerm> terms(1 + random.below(3));
    const bool negated = random.chance(0.3);
    for (NumberTerm& term : terms) {
      term = random_number_term(random, minimum, maximum);
      term.weight *= of_weights;
      term.negated = negated;
      if (negated) {
        term.minimum = -maximum;
        term.maximum = -minimum;
      }
    }
    const double weight = random.chance(0.2) ? 0 : of_weights * random.uniform(-2, 2);
    const JointAttribute joint(weight, terms);
    for (int range = 0; range < 20; ++range) {
      double first = random.uniform(terms[0].minimum, terms[0].maximum);
      double last = random.chance(0.2) ? first : random.uniform(terms[0].minimum, terms[0].maximum);
      if (first > last) std::swap(first, last);
      const double bound = joint.highest(first, last);
      for (int row = 0; row < 20; ++row) {
        const double stored = row == 0 ? first : row == 1 ? last : random.uniform(first, last);
        double sum = weight * stored, size = std::fabs(sum);
        for (const NumberTerm& term : terms) {
          const double value = term.weight * term.value(term.of_stored(stored));
          sum += value;
          size += std::fabs(value);
        }
        ASSERT_LE(sum, bound + 0x1p-48 * size) << "trial " << trial;
      }
    }
  }
}

// With a weight that takes its slope away, so that a chain has it.
TEST(JointAttribute, BoundsARankAboveALine) {
  Random random(3);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> quantiles;
    const double base = random.chance(0.3) ? 1e9 : 0, spread = std::exp2(random.uniform(-20, 20));
    for (std::uint64_t i = 1 + random.below(random.pick({1, 10, 257})); i > 0; --i)
      quantiles.push_back(base +
                          spread * (random.chance(0.5) ? random.unit() : std::exp(random.uniform(0, 5))));
    std::ranges::sort(quantiles);
    NumberTerm term = {{.function = TermFunction::rank,
                        .weight = random.uniform(-2, 2),
                        .origin = 0,
                        .scale = 1,
                        .is_field = false,
                        .column = 0,
                        .negated = random.chance(0.3)}};
    term.set_curve(std::make_shared<const RankCurve>(quantiles));
    term.minimum = quantiles.front() - spread * random.unit();
    term.maximum = quantiles.back() + spread * (0.001 + random.unit());
    if (term.negated) term.minimum = -std::exchange(term.maximum, -term.minimum);
    const double weight = random.uniform(-2, 2) / spread;
    const JointAttribute joint(weight, std::span(&term, 1));
    for (int range = 0; range < 20; ++range) {
      double first = random.uniform(term.minimum, term.maximum);
      double last = random.chance(0.2) ? first : random.uniform(term.minimum, term.maximum);
      if (first > last) std::swap(first, last);
      for (int row = 0; row < 40; ++row) {
        const double quantile = quantiles[random.below(quantiles.size())];
        const double stored = row == 0   ? first
                              : row == 1 ? last
                              : row < 20 ? std::clamp(term.negated ? -quantile : quantile, first, last)
                                         : random.uniform(first, last);
        const double of_rank = term.weight * term.value(term.of_stored(stored));
        const double size = std::fabs(weight * stored) + std::fabs(of_rank);
        ASSERT_LE(weight * stored + of_rank, joint.highest(first, last) + 0x1p-48 * size)
            << "trial " << trial;
      }
    }
  }
}

// For every function that has lines, whatever the line: weight and function never rise above it by more than is said.
TEST(TangentTerm, BoundsWhatRisesAboveALine) {
  Random random(4);
  std::map<TermFunction, int> met;
  const std::uint64_t cases = num_cases(5'000);
  for (std::uint64_t i = 0; i < cases; ++i) {
    double minimum = random.chance(0.2) ? 1e9 : random.chance(0.2) ? 0 : random.uniform(-5, 5);
    double maximum = minimum + std::exp2(random.uniform(-20, 10));
    NumberTerm term = random_number_term(random, minimum, maximum);
    term.weight *= std::exp2(random.uniform(-5, 5));
    const bool is_time = has_peak(term.function) && random.chance(0.3);
    term.ticks = is_time ? 1e3 : 1;
    term.origin /= term.ticks;
    term.scale /= term.ticks;
    term.negated = random.chance(0.3);
    if (term.negated) term.minimum = -std::exchange(term.maximum, -term.minimum);
    const double weight =
        random.chance(0.2) ? 0 : random.uniform(-2, 2) * std::exp2(random.uniform(-8, 3)) / term.ticks;
    const double ends = std::fmax(std::fabs(term.value(std::fmax(minimum, 1e-3) / term.ticks)),
                                  std::fabs(term.value(std::fmax(maximum, 1e-3) / term.ticks)));
    const double largest = std::fabs(term.weight) * std::fmax(ends, 1.0) + std::fabs(weight) * 1e9;
    const bool is_peaked = term.weight > 0 && has_peak(term.function);
    const std::optional<TangentTerm> line =
        is_peaked && random.chance(0.5)
            ? random.chance(0.5) ? TangentTerm::flattest({weight, term}, largest)
                                 : TangentTerm::level({weight, term}, largest)
            : TangentTerm::make({weight, term}, random.between(0, TangentTerm::kLines - 1), largest);
    if (!line) continue;
    ++met[term.function];
    const JointAttribute cells(*line);
    for (int range = 0; range < 10; ++range) {
      double first = random.uniform(term.minimum, term.maximum);
      double last = random.chance(0.2) ? first : random.uniform(term.minimum, term.maximum);
      if (first > last) std::swap(first, last);
      const double bound = line->highest(first, last), of_cells = cells.highest(first, last);
      for (int row = 0; row < 20; ++row) {
        const double stored = row == 0   ? first
                              : row == 1 ? last
                              : row == 2 ? std::clamp(line->peak(), first, last)
                                         : random.uniform(first, last);
        const double x = term.of_stored(stored);
        const bool is_outside =
            !has_peak(term.function) && (term.function == TermFunction::log ? x <= 0 : x < 0);
        if (is_outside) continue;
        const double sum = weight * stored + term.weight * term.value(x) - line->slope() * stored;
        const double error = 0x1p-46 * line->size() + 0x1p-47 * largest;
        ASSERT_LE(sum, bound + error)
            << "case " << i << ", " << static_cast<int>(term.function) << " of " << x;
        ASSERT_LE(sum, of_cells + error) << "case " << i;
      }
    }
  }
  EXPECT_EQ(met.size(), 8U) << "all but ranks have lines";
}

// With lines that are of no use, or none.
TEST(TangentTerm, IsNotForNumbersOutOfProportion) {
  NumberTerm term = {{.function = TermFunction::saturate,
                      .weight = 1,
                      .origin = 0,
                      .scale = 1e300,
                      .is_field = false,
                      .column = 0}};
  term.maximum = 1;
  EXPECT_FALSE(TangentTerm::make({0, term}, 5, 1e-300)) << "a slope of 1e-300 may have lost digits";
  term.scale = 1;
  EXPECT_TRUE(TangentTerm::make({0, term}, 5, 1));
  EXPECT_FALSE(TangentTerm::make({1, term}, 5, 1e-9));
  term.weight = -1;
  term.function = TermFunction::decay_gauss;
  EXPECT_FALSE(TangentTerm::make({0, term}, 5, 1)) << "it bends up and down, and is highest at neither end";
  term.maximum = term.minimum;
  term.function = TermFunction::near;
  EXPECT_FALSE(TangentTerm::make({0, term}, 5, 1)) << "no range";
}

// Of a distance that no number is.
TEST(NumberTerm, ReachesInfinity) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const NumberTerm near = {{.function = TermFunction::near,
                            .weight = 1,
                            .origin = -kMost,
                            .scale = 1,
                            .is_field = true,
                            .column = 0}};
  EXPECT_EQ(near.largest(-kMost, kMost), kInfinity);
  EXPECT_EQ(near.largest(-kMost, 0), kMost);
}

template <typename F>
std::string refusal_of(const F& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "it was taken";
}

// price, rating; brand, day, reviews.
Index shop() {
  static const std::vector<double> prices = {80, 120, 95, 300}, ratings = {7, 9, 8, 9.5},
                                   reviews = {0, 10, 1000, 3};
  static const std::vector<std::int64_t> days = {20'000, 20'010, 20'020, 20'030};
  static const std::string letters = "SonyLGSonyLG";
  static const std::vector<char> bytes(letters.begin(), letters.end());
  static const std::vector<std::uint64_t> ends = {0, 4, 6, 10, 12};
  TableView table;
  table.num_rows = 4;
  table.attributes = {{"price", Preference::low}, {"rating"}};
  table.columns = {prices, ratings};
  table.fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                  {"day", FieldRole::filter, {ColumnType::date}},
                  {"reviews"}};
  table.field_views = {TextView{{bytes, ends}, {}}, ColumnView(days), ColumnView(reviews)};
  return Index::build(table, {.leaf_rows = 16});
}

std::vector<double> scores_of(const std::string& terms, std::vector<double> weights = {0, 0}) {
  const Index index = shop();
  const SearchResult result =
      index.search({.weights = std::move(weights), .k = 4, .terms = index.terms(terms)});
  std::vector<double> scores;
  for (const Hit& hit : result.hits) scores.push_back(hit.score);
  return scores;
}

using Scores = std::vector<double>;

TEST(Terms, ScoreAsTheContractSays) {
  EXPECT_EQ(scores_of("near(price, 100)"), (Scores{-5, -20, -20, -200}));
  EXPECT_EQ(scores_of("2 * near(price, 100)", {0, 1}), (Scores{-2, -31, -33, -390.5}));
  EXPECT_EQ(scores_of("-near(price, 100)"), (Scores{200, 20, 20, 5}));
  EXPECT_EQ(scores_of("decay(price, 80, 15)").front(), 1);
  EXPECT_EQ(scores_of("decay(price, 80, 15)")[1], 0.5);
  EXPECT_EQ(scores_of("decay(price, 80, 15, gauss)")[1], 0.5);
  EXPECT_EQ(scores_of("decay(price, 80, 15, linear)"), (Scores{1, 0.5, 0, 0}));
  EXPECT_EQ(scores_of("decay(day, '2024-10-04', 10, exp)"), (Scores{1, 0.5, 0.25, 0.125}));
  EXPECT_EQ(scores_of("near(day, '2024-10-04 12:00')"), (Scores{-0.5, -9.5, -19.5, -29.5}));
  EXPECT_EQ(scores_of("sqrt(rating)").front(), std::sqrt(9.5));
  EXPECT_EQ(scores_of("saturate(reviews, 10)"), (Scores{1000.0 / 1010, 0.5, 3.0 / 13, 0}));
  EXPECT_EQ(scores_of("log(reviews)").size(), 3U) << "of 0 there is none";
  EXPECT_EQ(scores_of("log1p(reviews)").back(), 0);
  EXPECT_EQ(scores_of("near(price, 1e-400)"), (Scores{-80, -95, -120, -300})) << "the nearest number is 0";
  EXPECT_EQ(scores_of("1e-400 * near(price, 9)", {0, 1}), (Scores{9.5, 9, 8, 7}));
  EXPECT_EQ(scores_of("2 * [brand = 'LG'] + [brand = 'Sony']"), (Scores{2, 2, 1, 1}));
  EXPECT_EQ(scores_of("[brand = 'LG' and price < 200] - 4*[\"rating\" >= 9]"), (Scores{0, 0, -3, -4}));
  EXPECT_EQ(scores_of("[brand = 'a ] in a text'] + 0 * log(reviews)", {0, 1}), (Scores{9.5, 9, 8, 7}));
}

// Whatever the unit of the column, and whether it is an attribute.
TEST(Terms, CountTimesInSeconds) {
  std::vector<double> milliseconds(1000);
  std::vector<std::int64_t> microseconds(milliseconds.size());
  for (std::size_t row = 0; row < milliseconds.size(); ++row) {
    milliseconds[row] = static_cast<double>(row * 7919 % 1000 * 250);
    microseconds[row] = static_cast<std::int64_t>(milliseconds[row]) * 1000;
  }
  const ColumnFormat format = {ColumnType::timestamp, TimeUnit::millisecond};
  TableView table;
  table.num_rows = milliseconds.size();
  table.attributes = {{.name = "up", .format = format},
                      {.name = "down", .preference = Preference::low, .format = format}};
  table.columns = {milliseconds, milliseconds};
  table.fields = {{"field", FieldRole::filter, {ColumnType::timestamp, TimeUnit::microsecond}}};
  table.field_views = {ColumnView(microseconds)};
  const Index index = Index::build(table, {.leaf_rows = 16});
  const auto hits_of = [&](const std::string& column) {
    const std::string terms = "near(" + column + ", '1970-01-01 00:01:10.2')";
    return index.search({.weights = {0, 0}, .k = 300, .terms = index.terms(terms)}).hits;
  };
  const std::vector<Hit> hits = hits_of("field");
  EXPECT_EQ(microseconds[static_cast<std::size_t>(hits.front().id)], 70'250'000);
  EXPECT_EQ(hits.front().score, -(70.25 - 70.2));
  EXPECT_EQ(hits_of("up"), hits);
  EXPECT_EQ(hits_of("down"), hits);
}

// Of ranges that no table of cells divides, and of the largest number, beyond which logarithms are none.
TEST(Terms, OfOneAttributeAreBoundedOverAnyRange) {
  for (const double largest : {3e-307, 1e-3, std::numeric_limits<double>::max()}) {
    std::vector<double> values(3000);
    for (std::size_t row = 0; row < values.size(); ++row)
      values[row] = static_cast<double>(row * 7919 % values.size()) / 3000 * largest;
    values[7] = largest;
    TableView table;
    table.num_rows = values.size();
    table.attributes = {{"a"}};
    table.columns = {values};
    const Index index = Index::build(table, {.leaf_rows = 16});
    for (const double origin : {0.0, 0.3 * largest, largest}) {
      const Query query = {.weights = {0},
                           .k = 5,
                           .terms = {ScoreTerm::decay(0, origin, largest / 4),
                                     ScoreTerm::decay(0, 0.5 * largest, largest / 8).times(-0.5),
                                     ScoreTerm::log1p(0).times(0.001)}};
      EXPECT_EQ(index.search(query, {.engine = Engine::bounded}).hits,
                index.search(query, {.engine = Engine::scan}).hits);
    }
  }
}

// Each function alone, beside a weight of either sign: bounds by lines find what a scan does.
TEST(Terms, AreBoundedByLinesOverAnyRange) {
  for (const double largest : {3e-307, 1e-150, 1e-3, 1e6, 1e150, std::numeric_limits<double>::max()}) {
    std::vector<double> values(3000);
    for (std::size_t row = 0; row < values.size(); ++row)
      values[row] = std::pow(static_cast<double>(row * 7919 % values.size()) / 3000, 3) * largest;
    values[7] = largest;
    TableView table;
    table.num_rows = values.size();
    table.attributes = {{"a"}, {"b", Preference::low}};
    table.columns = {values, values};
    const Index index = Index::build(table, {.leaf_rows = 16});
    for (const int column : {0, 1})
      for (const double weight : {0.0, 0.25, -0.25})
        for (const double times : {1.0, -1.0})
          for (const ScoreTerm& term :
               {ScoreTerm::near(column, 0.3 * largest), ScoreTerm::decay(column, 0.3 * largest, largest / 8),
                ScoreTerm::decay(column, 0.3 * largest, largest / 8, TermFunction::decay_gauss),
                ScoreTerm::decay(column, 0.9 * largest, largest / 8, TermFunction::decay_linear),
                ScoreTerm::log(column), ScoreTerm::log1p(column), ScoreTerm::sqrt(column),
                ScoreTerm::saturate(column, std::fmin(largest / 4, 1e290))}) {
            // In units in which weight and function are alike.
            const bool of_size_1 = is_decay(term.function) || term.function == TermFunction::saturate;
            std::vector<double> weights(2, 0.0);
            weights[static_cast<std::size_t>(column)] =
                of_size_1 && largest > 1e-300 ? weight / largest : weight;
            const Query query = {.weights = weights, .k = 5, .terms = {term.times(0.5 * times)}};
            EXPECT_EQ(index.search(query, {.engine = Engine::bounded}).hits,
                      index.search(query, {.engine = Engine::scan}).hits)
                << term.text() << " of up to " << largest << ", weight " << weight;
          }
  }
}

TEST(Terms, AreReadAsTheyAreWritten) {
  const Index index = shop();
  for (const std::string text :
       {"near(price, 100)", "2.5 * decay(day, '2024-10-04', 7, gauss)", "-1 * log1p(reviews)",
        "[brand = 'it''s'] + 3 * saturate(reviews, 0.25)", "0.001 * decay(price, -5, 1e300, linear)", ""}) {
    std::string written;
    for (const ScoreTerm& term : index.terms(text)) written += (written.empty() ? "" : " + ") + term.text();
    EXPECT_EQ(index.terms(written), index.terms(text)) << written;
  }
}

TEST(Terms, SayWhatIsWrongWithTheirText) {
  const Index index = shop();
  const auto fault = [&](const std::string& text) { return refusal_of([&] { (void)index.terms(text); }); };
  EXPECT_NE(
      fault("decay(day, '2024-10-04', '30 days')").find("of dates it counts days, of timestamps seconds"),
      std::string::npos);
  EXPECT_NE(fault("near(price)").find("position 11: expected `,`"), std::string::npos)
      << fault("near(price)");
  EXPECT_NE(fault("closeness(price, 1)").find("there is no function closeness; known: near"),
            std::string::npos);
  EXPECT_NE(fault("2 near(price, 1)").find("expected `*`"), std::string::npos);
  EXPECT_NE(fault("[price < 2").find("the bracket is not closed"), std::string::npos);
  EXPECT_NE(fault("[]").find("expected a condition"), std::string::npos);
  EXPECT_NE(fault("decay(price, 1, 2, cubic)").find("linear, exp or gauss"), std::string::npos);
  EXPECT_NE(fault("near(price, 1) near(price, 2)").find("expected `+`, `-` or the end"), std::string::npos);
  EXPECT_NE(fault("price").find("expected a function"), std::string::npos);
  EXPECT_NE(fault("near(price, 1e400)").find("expected a finite number"), std::string::npos);
  EXPECT_NE(fault("near(price, 1) +").find("expected a function"), std::string::npos);
}

TEST(Terms, AreRefusedIfTheyCannotBe) {
  const Index index = shop();
  const auto fault = [&](const std::vector<ScoreTerm>& terms) {
    return refusal_of([&] { (void)index.search({.weights = {0, 1}, .terms = terms}); });
  };
  EXPECT_NE(fault({ScoreTerm::near("brand", 1.0)}).find("does not hold numbers"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::log("day")}).find("does not hold numbers"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::near("id", 1.0)}).find("ids are no numbers"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::near("prize", 1.0)}).find("prize"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::near("price", "far")}).find("number"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::near("day", 20'000.0)}).find("date"), std::string::npos);
  EXPECT_EQ(fault({ScoreTerm::saturate("price", 0)}),
            "the half of saturate(price, 0) must be above 0 and finite");
  EXPECT_NE(fault({ScoreTerm::decay("price", 1.0, -2)}).find("above 0"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::sqrt("price"), ScoreTerm::sqrt(0).times(2)}).find("is there twice"),
            std::string::npos);
  EXPECT_NE(fault({ScoreTerm::sqrt("price").times(std::nan(""))}).find("not finite"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::near("price", 1e308).times(10)}).find("overflow"), std::string::npos);
  EXPECT_NE(fault({ScoreTerm::when({})}).find("condition"), std::string::npos);
  const auto without = [&](const std::vector<ScoreTerm>& terms) {
    return refusal_of([&] { (void)index.search({.weights = {0, 0}, .terms = terms}); });
  };
  EXPECT_NE(without({}).find("all weights are zero"), std::string::npos);
  EXPECT_NE(without({ScoreTerm::sqrt("price").times(0)}).find("all weights are zero"), std::string::npos);
}

// It is none: Query::scale says so for all weights.
TEST(Rank, IsRefusedAsATerm) {
  const Index index = shop();
  const ScoreTerm term{.function = TermFunction::rank, .column = 0};
  EXPECT_EQ(refusal_of([&] {
              (void)index.search({.weights = {0, 1}, .terms = {term}});
            }),
            "rank is not a score term; Query::scale ranks by it");
}

// Distances beyond binary64 count as the largest number.
TEST(Rank, IsMonotoneAlsoInItsLastBits) {
  constexpr double kMost = std::numeric_limits<double>::max();
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> quantiles;
    const double size = random.pick({5e-324, 1.0, 1e6, kMost});
    for (int i = random.chance(0.5) ? random.between(1, 4) : random.between(1, 257); i > 0; --i)
      quantiles.push_back(random.chance(0.2) ? size : random.uniform(-1, 1) * size);
    std::sort(quantiles.begin(), quantiles.end());
    const RankCurve rank(quantiles);
    std::vector<double> values = {-kMost, 0, kMost};
    for (int i = 0; i < 300; ++i) {
      const double near = quantiles[random.below(quantiles.size())];
      values.insert(values.end(), {near, std::nextafter(near, -kMost), std::nextafter(near, kMost)});
      values.push_back(random.uniform(-1, 1) * size);
    }
    std::sort(values.begin(), values.end());
    for (std::size_t i = 1; i < values.size(); ++i) ASSERT_LE(rank(values[i - 1]), rank(values[i]));
    EXPECT_EQ(rank(-kMost), 0);
    EXPECT_LE(rank(kMost), 1);
  }
}

TEST(Terms, AreRefusedIfASumWithinAFunctionCouldOverflow) {
  const std::vector<double> values = {1, 1e308};
  TableView table;
  table.num_rows = values.size();
  table.attributes = {{"a"}};
  table.columns = {values};
  const Index index = Index::build(table);
  const auto fault = [&](double half) {
    return refusal_of(
        [&] { (void)index.search({.weights = {0}, .terms = {ScoreTerm::saturate("a", half)}}); });
  };
  EXPECT_NE(fault(1e308).find("overflow"), std::string::npos);
  EXPECT_EQ(fault(1e307), "it was taken");
}

// A hundred thousand rows: the best few of a term that the tree knows are found in few leaves.
TEST(Terms, Prune) {
  Random random(3);
  std::vector<double> columns[3];
  for (std::vector<double>& column : columns)
    for (int row = 0; row < 100'000; ++row) column.push_back(random.unit());
  TableView table;
  table.num_rows = columns[0].size();
  table.attributes = {{"a"}, {"b"}, {"c"}};
  table.columns = {columns[0], columns[1], columns[2]};
  const Index index = Index::build(table, {.partitioning = Partitioning::kd});
  const auto share = [&](const std::vector<double>& weights, const std::string& terms,
                         Scale scale = Scale::none) {
    const Query query{.weights = weights, .k = 10, .scale = scale, .terms = index.terms(terms)};
    const SearchStats stats = index.search(query, {.engine = Engine::bounded}).stats;
    return static_cast<double>(stats.rows_scored) / 100'000;
  };
  EXPECT_LT(share({1, 1, 1}, ""), 0.02);
  EXPECT_LT(share({1, 1, 1}, "", Scale::rank), 0.05);
  EXPECT_LT(share({1, 1, 1}, "0.1 * near(a, 0.5)"), 0.05);
  EXPECT_LT(share({1, 1, 1}, "0.5 * log1p(b) + 0.3 * sqrt(c)"), 0.05);
  EXPECT_LT(share({1, 1, 0}, "3 * near(c, 0.25)"), 0.3);
  // Lines bound them with the weights.
  EXPECT_LT(share({1, 1, 1}, "2 * sqrt(a)"), 1.5 * share({2, 1, 1}, ""));
  EXPECT_LT(share({1, -1, 1}, "2 * saturate(a, 0.5) + log1p(c)"), 1.5 * share({1.4, -1, 1.5}, ""));
  EXPECT_LT(share({-1, 1, -1}, "2 * sqrt(a)"), 3 * share({0, 1, -1}, ""));
  EXPECT_LT(share({5, 1, 1}, "decay(a, 0.3, 0.1, gauss)"), 2 * share({5, 1, 1}, "")) << "a low peak";
  EXPECT_LT(share({0, 0, 0}, "near(a, 0.5) + near(b, 0.5) + near(c, 0.5)"), 0.1);
}

}  // namespace
}  // namespace culmen::test
