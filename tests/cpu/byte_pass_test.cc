// The pass for many questions in codes of 8 bits: its integer products against plain sums, and its answers against the
// oracle's.
//
// CULMEN_TEST_CASES=100000 byte_pass_test    so many questions
#include "cpu/byte_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/floating_point_scope.h"
#include "cpu/simd/byte_products.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

// One call of each kernel beside plain sums.
void expect_plain_sums(Random& random, std::size_t vectors) {
  const simd::ByteKernels& kernels = simd::byte_kernels();
  const std::size_t quads = 1 + random.below(random.chance(0.1) ? 256 : 16),
                    stride = vectors + random.below(3), questions = 8;
  const bool extreme = random.chance(0.3);
  std::vector<std::uint8_t> codes(quads * stride * 64);
  std::vector<std::int8_t> weights(questions * quads * 4);
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(extreme ? 255 : random.below(256));
  const int most = kernels.most_weight;
  for (std::int8_t& weight : weights)
    weight = static_cast<std::int8_t>(extreme ? most * random.sign() : random.between(-most, most));
  const simd::ByteRows rows = {codes.data(), quads, stride, vectors};
  std::vector<std::int32_t> least(questions), maxima(questions * 16, -(1 << 30)), highest = maxima;
  std::vector<std::vector<std::int32_t>> sums(questions, std::vector<std::int32_t>(vectors * 16));
  std::vector<std::vector<bool>> expected(questions, std::vector<bool>(vectors * 16));
  for (std::size_t q = 0; q < questions; ++q) {
    least[q] = random.between(-20000, 20000);
    for (std::size_t r = 0; r < vectors * 16; ++r) {
      std::int32_t& sum = sums[q][r];
      for (std::size_t i = 0; i < quads * 4; ++i)
        sum += codes[(i / 4 * stride * 16 + r) * 4 + i % 4] * weights[q * quads * 4 + i];
      if (random.chance(0.05)) least[q] = sum;  // a row that just reaches it
      highest[q * 16 + r % 16] = std::max(highest[q * 16 + r % 16], sum);
    }
    for (std::size_t r = 0; r < vectors * 16; ++r) expected[q][r] = sums[q][r] >= least[q];
  }
  std::vector<simd::ReachingRow> reaching(questions * vectors * 16);
  reaching.resize(kernels.reaching(rows, {weights.data(), questions}, least.data(), reaching.data()));
  for (const simd::ReachingRow& row : reaching) {
    ASSERT_TRUE(expected[row.question][row.row]) << "not reaching, or twice";
    ASSERT_EQ(row.sum, sums[row.question][row.row]);
    expected[row.question][row.row] = false;
  }
  for (const std::vector<bool>& left : expected)
    ASSERT_EQ(std::ranges::count(left, true), 0) << vectors << " vectors";
  kernels.raise(rows, {weights.data(), questions}, 16, maxima.data());
  ASSERT_EQ(maxima, highest);
}

TEST(BytePass, SumsProductsAsPlainCodeDoesOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(1);
    for (int trial = 0; trial < 50; ++trial)
      for (std::size_t vectors = 1; vectors <= simd::kByteVectors; ++vectors)
        expect_plain_sums(random, vectors);
  }
}

// What one pass answers; nothing for questions that it leaves out.
std::vector<std::optional<std::vector<Hit>>> answers_of_pass(const Index& index,
                                                             const std::vector<Query>& queries) {
  const FloatingPointScope floating_point;
  const Query any{.weights = std::vector<double>(queries.front().weights.size(), 1e-300)};
  const auto snapshot = index.search(any).snapshot;
  std::vector<std::optional<std::vector<Hit>>> answers(queries.size());
  if (!cpu::ByteTable::can_hold(*snapshot)) return answers;
  cpu::pass_in_bytes(
      *snapshot, cpu::ByteTable(*snapshot), queries.size(),
      [&](std::size_t q) -> std::optional<ResolvedQuery> {
        try {
          return resolve(queries[q], *snapshot);
        } catch (const Error&) {
          return std::nullopt;
        }
      },
      [&](std::size_t q, std::vector<Hit> hits, const SearchStats& /*stats*/) {
        EXPECT_FALSE(answers[q].has_value()) << "answered twice";
        answers[q] = std::move(hits);
      });
  return answers;
}

// Compares the answers of one pass with the oracle's; returns how many questions it answered.
std::uint64_t expect_answers_of_oracle(std::uint64_t seed, std::size_t num_questions) {
  Random random(seed);
  const auto value_class = static_cast<ValueClass>(random.below(kNumValueClasses));
  const int d = random.chance(0.2) ? 64 : random_width(random, 40);
  const Table table = random_table(random, value_class, 20 + random.below(1500), d);
  const ValueType value_type = random_value_type(random, table.view());
  const Oracle oracle(table.view(), value_type == ValueType::float32);
  const Index index = Index::build(
      table.view(), random_build_options(random, Partitioning::kd, value_type, table.columns.size()));
  std::vector<Query> queries;
  for (std::size_t q = 0; q < num_questions; ++q) {
    queries.push_back({.weights = random_weights(random, static_cast<std::size_t>(d)),
                       .k = static_cast<std::size_t>(random.pick({1, 3, 10, 90}))});
    if (random.chance(0.3)) queries.back().scale = random.pick({Scale::minmax, Scale::zscore});
    if (random.chance(0.2)) {
      const std::vector<Answer> hits = oracle.search(queries.back());
      if (!hits.empty()) queries.back().min_score = hits[random.below(hits.size())].score;
    }
  }
  const auto answers = answers_of_pass(index, queries);
  std::uint64_t answered = 0;
  for (std::size_t q = 0; q < num_questions; ++q) {
    if (!answers[q]) continue;
    ++answered;
    const std::string wrong = difference(*answers[q], oracle.search(queries[q]));
    EXPECT_EQ(wrong, "") << value_class_name(value_class) << ", seed " << seed << ", question " << q;
    if (!wrong.empty()) break;
  }
  return answered;
}

TEST(BytePass, AnswersAsTheOracleDoes) {
  constexpr std::uint64_t kCases = 8000, kOfTable = 20;
  std::uint64_t answered = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(kCases) / kOfTable; ++seed) {
    if (only_seed() != 0 && only_seed() != seed) continue;
    answered += expect_answers_of_oracle(seed, 1 + seed % (2 * kOfTable));
    if (HasFailure()) return;
  }
  if (ran_all_cases(kCases)) {
    EXPECT_GT(answered, kCases / 4);
  }
}

// A table of attributes whose steps, middles and signs are random, and a question; values and weights are given in steps.
// Of each attribute a row has code -127 and another 127. One attribute has no other codes and no weight, so that all leaves
// have the scale 1.
class HostileTable {
 public:
  HostileTable(Random& random, std::size_t d, std::size_t num_rows)
      : columns_(d + 1, std::vector<double>(num_rows)),
        query_{.weights = std::vector<double>(d + 1), .k = 1} {
    for (std::size_t a = 0; a <= d; ++a) {
      steps_.push_back(random.sign() * std::ldexp(random.uniform(1, 2), random.between(-20, 20)));
      middles_.push_back(steps_[a] * random.uniform(-1000, 1000));
    }
    for (std::size_t r = 0; r < num_rows; ++r) set(r, d, r % 2 == 0 ? -127 : 127);
  }

  void set(std::size_t row, std::size_t a, double code) { columns_[a][row] = middles_[a] + steps_[a] * code; }
  void set_weight(std::size_t a, double weight) { query_.weights[a] = weight / steps_[a]; }

  std::string difference_of_pass() const {
    TableView view;
    view.num_rows = columns_[0].size();
    for (std::size_t a = 0; a < columns_.size(); ++a) {
      view.attributes.push_back({.name = "a" + std::to_string(a)});
      view.columns.emplace_back(columns_[a]);
    }
    const Index index = Index::build(view, {.leaf_rows = 16, .value_type = ValueType::float64});
    const auto answers = answers_of_pass(index, {query_});
    return answers[0] ? difference(*answers[0], Oracle(view, false).search(query_)) : "no answer";
  }

 private:
  std::vector<std::vector<double>> columns_;
  Query query_;
  std::vector<double> steps_, middles_;
};

// Values, or weights, lose as much as they can, in directions that make the bound of Cauchy and Schwarz an equality: the
// best row has a sum that is lower than another's by nearly twice the error.
std::string difference_of_hostile_row(std::uint64_t seed) {
  Random random(seed);
  const auto d = static_cast<std::size_t>(random.chance(0.1) ? random.between(65, kMaxAttributes - 1)
                                                             : random.between(2, 64));
  const std::size_t num_rows = 32 + random.below(200), best = 3 + random.below(num_rows - 4);
  const std::size_t other = random.chance(0.5) ? best + 1 : best - 1;
  const bool values_lose = random.chance(0.5);
  HostileTable table(random, d, num_rows);
  std::size_t negative = (499 * (d - 1) + 999) / 1000 - 1;  // weights of -0.501 instead of 0.499
  for (std::size_t a = 0; a < d; ++a) {
    for (std::size_t r = 0; r < num_rows; ++r)
      table.set(r, a, random.between(-126, 0) + (values_lose ? random.uniform(-0.5, 0.5) : 0));
    table.set(0, a, a % 2 == 0 ? -127 : 127);
    table.set(1, a, a % 2 == 0 ? 127 : -127);
    if (values_lose) {
      table.set_weight(a, 1);
      table.set(best, a, 100.499);
      table.set(other, a, (a > 0 ? 101 : 100) - 0.499);
    } else if (a == 0) {
      table.set_weight(a, 127);
      table.set(1, a, -127);
      table.set(best, a, 127);
      table.set(other, a, 127);
    } else {
      const double sign = random.sign();
      table.set_weight(a, sign * (negative > 0 ? -0.501 : 0.499));
      negative -= negative > 0 ? 1 : 0;
      table.set(best, a, sign * 126);
      table.set(other, a, sign * -126);
    }
  }
  return table.difference_of_pass();
}

TEST(BytePass, FindsRowsWhoseCodesLoseTheMost) {
  for (std::uint64_t seed = 1; seed <= num_cases(2000); ++seed) {
    if (only_seed() != 0 && only_seed() != seed) continue;
    ASSERT_EQ(difference_of_hostile_row(seed), "") << "seed " << seed;
  }
}

// Codes follow the range of an attribute: one value far outside makes all others of it equal.
TEST(BytePass, QuestionsLeaveItWhereCodesCannotTellRowsApart) {
  constexpr std::size_t kRows = 6000, kWidth = 16;
  for (const bool has_outlier : {false, true}) {
    Random random(5);
    std::vector<float> values(kRows * kWidth);
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
    if (has_outlier) values[17] = 1e6F;
    TableView table;
    table.num_rows = kRows;
    for (std::size_t a = 0; a < kWidth; ++a) {
      table.attributes.push_back({"a" + std::to_string(a)});
      table.columns.emplace_back(std::span(values).subspan(a * kRows, kRows));
    }
    std::vector<Query> queries;
    for (int q = 0; q < 40; ++q) {
      queries.push_back({.weights = {}, .k = 5});
      for (std::size_t a = 0; a < kWidth; ++a) queries.back().weights.push_back(random.uniform(-1, 1));
    }
    std::size_t num_answered = 0;
    for (const auto& answer : answers_of_pass(Index::build(table), queries)) num_answered += answer ? 1 : 0;
    EXPECT_EQ(num_answered, has_outlier ? 0 : queries.size());
  }
}

std::vector<double> sizes_of(std::size_t width, std::size_t num_large, double others) {
  std::vector<double> sizes(width, others);
  std::fill_n(sizes.begin(), num_large, 1.0);
  return sizes;
}

// Codes of a wide table are made for the weights of a batch. They serve others of the same kind, and not those of a batch
// that weights other attributes, for which nothing would be left.
TEST(ByteTable, SuitsTheWeightsThatItIsFor) {
  constexpr std::size_t kWidth = 128;
  Random random(6);
  const Table table = random_table(random, ValueClass::uniform_f32, 2000, kWidth);
  const auto snapshot = Index::build(table.view()).search({.weights = sizes_of(kWidth, 1, 0)}).snapshot;
  const std::vector<double> even = sizes_of(kWidth, kWidth, 1), two = sizes_of(kWidth, 2, 1e-6),
                            one = sizes_of(kWidth, 1, 0), half = sizes_of(kWidth, kWidth / 2, 1e-3);
  std::vector<double> about_even = even;
  for (double& size : about_even) size *= random.uniform(0.5, 2);
  const cpu::ByteTable for_even(*snapshot, even), for_two(*snapshot, two);
  EXPECT_TRUE(for_even.suit(even));
  EXPECT_TRUE(for_even.suit(about_even));
  EXPECT_FALSE(for_even.suit(two));
  EXPECT_FALSE(for_two.suit(even));
  for (const std::vector<double>& sizes :
       {even, about_even, two, one, half})  // or each batch would make them again
    EXPECT_TRUE(cpu::ByteTable(*snapshot, sizes).suit(sizes));
}

std::vector<double> random_weights_of_all(Random& random, std::size_t width) {
  std::vector<double> weights(width);
  for (double& weight : weights) weight = random.uniform(-1, 1);
  return weights;
}

// Queries that a pass answers have no nodes visited.
std::size_t num_passed(const std::vector<SearchResult>& results) {
  return static_cast<std::size_t>(std::ranges::count_if(
      results, [](const SearchResult& result) { return result.stats.nodes_visited == 0; }));
}

// A batch is often a grid: one question of each kind, again and again. Where the cheap ones stand is no matter.
TEST(Pass, IsNotRefusedForAFewQuestionsAtRegularPlaces) {
  if (!simd::byte_kernels().is_fast) GTEST_SKIP() << "no instructions for a pass";
  constexpr std::size_t kWidth = 48, kQuestions = 512;
  Random random(7);
  const Table table = random_table(random, ValueClass::uniform_f32, 20'000, kWidth);
  const Index index = Index::build(table.view());
  for (const std::size_t first : {0, 1, 32, 63})
    for (const std::size_t k : {10, 2000}) {
      std::vector<Query> queries;
      for (std::size_t q = 0; q < kQuestions; ++q) {
        queries.push_back({.weights = random_weights_of_all(random, kWidth), .k = 10});
        if (q % 64 != first) continue;
        queries.back().k = k;
        if (k == 10) queries.back().weights = sizes_of(kWidth, 1, 0);
      }
      EXPECT_GT(num_passed(index.search(queries)), kQuestions / 2) << "first " << first << ", k " << k;
    }
}

TEST(Pass, AnswersABatchAfterOneOfOtherWeights) {
  if (!simd::byte_kernels().is_fast) GTEST_SKIP() << "no instructions for a pass";
  constexpr std::size_t kWidth = 128, kQuestions = 256;
  Random random(8);
  std::vector<float> values(kWidth * 20'000);
  for (float& value : values)
    value =
        static_cast<float>(random.unit() + random.unit() + random.unit() + random.unit());  // about normal
  TableView table;
  table.num_rows = values.size() / kWidth;
  for (std::size_t a = 0; a < kWidth; ++a) {
    table.attributes.push_back({"a" + std::to_string(a)});
    table.columns.emplace_back(std::span(values).subspan(a * table.num_rows, table.num_rows));
  }
  const Index index = Index::build(table);
  std::vector<Query> skewed, even;
  for (std::size_t q = 0; q < kQuestions; ++q) {
    even.push_back({.weights = random_weights_of_all(random, kWidth), .k = 10});
    skewed.push_back(even.back());
    for (std::size_t a = 2; a < kWidth; ++a) skewed.back().weights[a] *= 1e-6;
  }
  static_cast<void>(index.search(skewed));
  EXPECT_GT(num_passed(index.search(even)), kQuestions / 2);
}

}  // namespace
}  // namespace culmen::test
