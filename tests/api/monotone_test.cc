// Monotone functions against a scan of the user's own table with the same function object.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "culmen/error.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

// Falls in every second attribute: a_0 - a_1 + a_2 - ... in whole halves, so that it ties.
struct Alternating {
  double operator()(std::span<const double> attributes) const {
    double sum = 0;
    for (std::size_t i = 0; i < attributes.size(); ++i) sum += i % 2 == 0 ? attributes[i] : -attributes[i];
    return std::floor(sum * 2);
  }
  Direction direction(int attribute) const {
    return attribute % 2 == 0 ? Direction::rising : Direction::falling;
  }
  double relative_error() const { return 0; }
};

struct Farthest {  // the largest attribute, and nothing but the first half of them
  std::size_t num_used;
  double operator()(std::span<const double> attributes) const {
    return *std::max_element(attributes.begin(), attributes.begin() + static_cast<std::ptrdiff_t>(num_used));
  }
  Direction direction(int attribute) const {
    return static_cast<std::size_t>(attribute) < num_used ? Direction::rising : Direction::unused;
  }
  double relative_error() const { return 0; }
};

// Declares that it rises, but falls.
struct Liar {
  double operator()(std::span<const double> attributes) const { return -attributes[0]; }
  Direction direction(int attribute) const { return attribute == 0 ? Direction::rising : Direction::unused; }
  double relative_error() const { return 0; }
};

// The first attribute, above 0, with a relative error of up to `error` that follows no order.
struct Rough {
  double error;
  double operator()(std::span<const double> attributes) const {
    const auto noise = Random(std::bit_cast<std::uint64_t>(attributes[0])).uniform(-1, 1);
    return attributes[0] * (1 + error * noise);
  }
  Direction direction(int attribute) const { return attribute == 0 ? Direction::rising : Direction::unused; }
  double relative_error() const { return error; }
};

struct NotANumber {
  double operator()(std::span<const double>) const { return std::numeric_limits<double>::quiet_NaN(); }
  Direction direction(int) const { return Direction::rising; }
  double relative_error() const { return 0; }
};

std::vector<Answer> brute_force(const Oracle& oracle, MonotoneFunctionRef function, std::size_t k,
                                const Filter& where) {
  std::vector<Answer> answers;
  std::vector<double> values(oracle.num_attributes());
  for (std::size_t row = 0; row < oracle.num_rows(); ++row) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = oracle.value(row, i) + 0.0;  // -0 is 0
    if (oracle.passes(row, where)) answers.push_back({oracle.id(row), function.score(values) + 0.0});
  }
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  answers.resize(std::min(k, answers.size()));
  return answers;
}

class Monotone : public testing::TestWithParam<ValueClass> {};

TEST_P(Monotone, FunctionsAreAnsweredAsBruteForceDoes) {
  for (std::uint64_t trial = 0; trial < num_cases(20'000) / 500 + 1; ++trial) {
    Random random((static_cast<std::uint64_t>(GetParam()) + 1) * 1'000'000 + trial);
    const int d = random.between(1, 12);
    const Table table = random_table(random, GetParam(), random_num_rows(random) % 1500, d);
    const ValueType value_type = random_value_type(random, table.view());
    const Oracle oracle(table.view(), value_type == ValueType::float32);
    const Index index = Index::build(
        table.view(), random_build_options(
                          random, random.pick({Partitioning::kd, Partitioning::angle, Partitioning::random}),
                          value_type, table.columns.size()));
    std::vector<double> weights(static_cast<std::size_t>(d));
    for (double& weight : weights) weight = random.chance(0.3) ? 0 : random.unit();
    weights[random.below(weights.size())] = 0.5;
    const WeightedMinimum minimum(weights);
    const WeightedPowerMean mean(weights, random.pick({0.5, 1.0, 2.0, 3.0}));
    const Alternating alternating;
    const Farthest farthest{(weights.size() + 1) / 2};
    for (const MonotoneFunctionRef function :
         {MonotoneFunctionRef(minimum), MonotoneFunctionRef(mean), MonotoneFunctionRef(alternating),
          MonotoneFunctionRef(farthest)}) {
      const std::size_t k = random.pick<std::size_t>({1, 5, 50, oracle.num_rows() + 1});
      const Filter where = random.chance(0.5) ? random_filter(random, oracle) : Filter{};
      const std::vector<Answer> expected = brute_force(oracle, function, k, where);
      for (const Engine engine : {Engine::automatic, Engine::scan, Engine::bounded}) {
        const SearchResult result = index.search_monotone(function, k, where, {.engine = engine});
        ASSERT_EQ(difference(result.hits, expected), "") << engine_name(engine) << ", trial " << trial;
      }
    }
  }
}

std::vector<ValueClass> classes_of_moderate_size() {
  std::vector<ValueClass> classes = all_value_classes();
  // The power mean of 1e300 is infinite, which a scoring function must not return.
  std::erase_if(classes, [](ValueClass c) { return c == ValueClass::huge || c == ValueClass::mixed; });
  return classes;
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, Monotone, testing::ValuesIn(classes_of_moderate_size()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

TEST(Monotone, SearchReadsAPartOfTheTableOnly) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f32, 20'000, 3);
  const Index index = Index::build(table.view(), {.leaf_rows = 16});
  const SearchResult result = index.search_monotone(WeightedMinimum({1, 1, 1}), 10);
  EXPECT_LT(result.stats.rows_scored, 20'000u / 4);
  EXPECT_EQ(result.stats.engine, Engine::bounded);
}

TEST(Monotone, FunctionsThatReturnNanAreRefused) {
  Random random(2);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  const Index index = Index::build(table.view());
  EXPECT_THROW(static_cast<void>(index.search_monotone(NotANumber(), 3)), InvalidArgument);
}

TEST(Monotone, SearchNamesARowThatShowsTheFunctionNotToBeMonotone) {
  std::vector<double> values(2000);
  for (std::size_t row = 0; row < values.size(); ++row) values[row] = static_cast<double>(row);
  const Index index =
      Index::build(row_major_table(std::span<const double>(values), {{"a"}}), {.leaf_rows = 16});
  for (const Engine engine : {Engine::automatic, Engine::bounded}) {
    try {
      static_cast<void>(index.search_monotone(Liar(), 3, {}, {.engine = engine}));
      FAIL() << "taken by " << engine_name(engine);
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("not monotone"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("id "), std::string::npos) << error.what();
    }
  }
  // The scan does not rely on monotonicity.
  EXPECT_EQ(index.search_monotone(Liar(), 1, {}, {.engine = Engine::scan}).hits[0].id, 0);
}

TEST(Monotone, FunctionsAreAllowedTheErrorThatTheySay) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<double> values(3000);
    for (double& value : values) value = random.uniform(1, 1.1) * random.pick({1.0, 1.3, 2.0});
    const Index index =
        Index::build(row_major_table(std::span<const double>(values), {{"a"}}), {.leaf_rows = 16});
    const TableView view = row_major_table(std::span<const double>(values), {{"a"}});
    const Oracle oracle(view, false);
    for (const double error : {1e-16, 1e-13, 0.1, 0.3, 0.6, 0.99}) {
      const Rough rough{error};
      EXPECT_EQ(difference(index.search_monotone(rough, 5).hits, brute_force(oracle, rough, 5, {})), "")
          << error << ", seed " << seed;
    }
  }
}

TEST(Monotone, FunctionsMayNotBeOffByAllTheirSize) {
  const std::vector<double> values = {1, 2};
  const Index index = Index::build(row_major_table(std::span<const double>(values), {{"a"}}));
  for (const double error : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(static_cast<void>(index.search_monotone(Rough{error}, 1)), InvalidArgument) << error;
}

TEST(Monotone, SearchRefusesEnginesThatCannotAndKOfZero) {
  Random random(3);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  const Index index = Index::build(table.view());
  const WeightedMinimum function({1, 1});
  EXPECT_THROW(static_cast<void>(index.search_monotone(function, 3, {}, {.engine = Engine::ta})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search_monotone(function, 3, {}, {.engine = Engine::gta})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search_monotone(function, 0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search_monotone(function, 3, {{.attribute = 2}})), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
