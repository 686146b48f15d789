// The pass for many questions in codes of 8 bits: its integer products against plain sums, and its answers against the
// oracle's.
//
// CULMEN_TEST_CASES=100000 byte_pass_test    so many questions
#include "cpu/byte_pass.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/floating_point_scope.h"
#include "cpu/simd/byte_products.h"
#include "culmen/error.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

TEST(BytePass, SumsProductsAsPlainCodeDoes) {
  Random random(1);
  for (std::size_t vectors = 1; vectors <= 17; ++vectors) {
    const std::size_t quads = 1 + random.below(16), stride = vectors + random.below(3), questions = 8;
    const bool extreme = random.chance(0.3);
    std::vector<std::uint8_t> codes(quads * stride * 64);
    std::vector<std::int8_t> weights(questions * quads * 4);
    for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(extreme ? 255 : random.below(256));
    for (std::int8_t& weight : weights)
      weight = static_cast<std::int8_t>(extreme ? 127 * random.sign() : random.between(-127, 127));
    const simd::ByteRows rows = {codes.data(), quads, stride, vectors};
    std::vector<std::int32_t> least(questions), maxima(questions * 16, -(1 << 30)), highest = maxima;
    for (std::int32_t& limit : least) limit = random.between(-20000, 20000);
    std::vector<std::vector<bool>> expected(questions, std::vector<bool>(vectors * 16));
    for (std::size_t q = 0; q < questions; ++q)
      for (std::size_t r = 0; r < vectors * 16; ++r) {
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < quads * 4; ++i)
          sum += codes[(i / 4 * stride * 16 + r) * 4 + i % 4] * weights[q * quads * 4 + i];
        expected[q][r] = sum >= least[q];
        highest[q * 16 + r % 16] = std::max(highest[q * 16 + r % 16], sum);
      }
    std::vector<simd::ReachingRow> reaching;
    simd::append_reaching(rows, {weights.data(), questions}, least.data(), reaching);
    for (const simd::ReachingRow& row : reaching) {
      ASSERT_TRUE(expected[row.question][row.row]) << "not reaching, or twice";
      expected[row.question][row.row] = false;
    }
    for (const std::vector<bool>& left : expected)
      ASSERT_EQ(std::ranges::count(left, true), 0) << vectors << " vectors";
    simd::raise_maxima(rows, {weights.data(), questions}, 16, maxima.data());
    ASSERT_EQ(maxima, highest);
  }
}

// Compares the answers of one pass with the oracle's; returns how many questions it answered.
std::uint64_t expect_answers_of_oracle(std::uint64_t seed, std::size_t num_questions) {
  Random random(seed);
  const auto value_class = static_cast<ValueClass>(random.below(kNumValueClasses));
  const int d = random.chance(0.2) ? 64 : random.between(1, 40);
  const Table table = random_table(random, value_class, 20 + random.below(1500), d);
  const ValueType value_type = random_value_type(random, table.view());
  const Oracle oracle(table.view(), value_type == ValueType::float32);
  const Index index = Index::build(
      table.view(), random_build_options(random, Partitioning::kd, value_type, table.columns.size()));
  std::vector<Query> queries;
  for (std::size_t q = 0; q < num_questions; ++q) {
    queries.push_back({.weights = random_weights(random, static_cast<std::size_t>(d)),
                       .k = static_cast<std::size_t>(random.pick({1, 3, 10, 100}))});
    if (random.chance(0.2)) queries.back().scale = Scale::minmax;
  }
  const FloatingPointScope floating_point;
  Query any{.weights = std::vector<double>(static_cast<std::size_t>(d), 1e-300)};
  const auto snapshot = index.search(any).snapshot;
  if (!cpu::can_pass_in_bytes(*snapshot)) return 0;
  std::vector<std::vector<Hit>> answers(num_questions);
  std::vector<int> times(num_questions);
  cpu::pass_in_bytes(
      *snapshot, num_questions,
      [&](std::size_t q) -> std::optional<ResolvedQuery> {
        try {
          return resolve(queries[q], *snapshot);
        } catch (const Error&) {
          return std::nullopt;
        }
      },
      [&](std::size_t q, std::vector<Hit> hits, const SearchStats& /*stats*/) {
        answers[q] = std::move(hits);
        ++times[q];
      });
  std::uint64_t answered = 0;
  for (std::size_t q = 0; q < num_questions; ++q) {
    EXPECT_LE(times[q], 1);
    if (times[q] == 0) continue;
    ++answered;
    const std::string wrong = difference(answers[q], oracle.search(queries[q]));
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
  if (ran_all_cases(kCases)) EXPECT_GT(answered, kCases / 4);
}

}  // namespace
}  // namespace culmen::test
