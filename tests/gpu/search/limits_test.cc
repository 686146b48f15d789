// For any number of multiprocessors and nodes and any size of shared memory, the engines answer as the oracle does, or
// the copy to the device is refused.
//
// CULMEN_TEST_CASES as in tests/cpu/engines_test.cc.
#include "gpu/cuda/limits.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "culmen/error.h"
#include "gpu/search/grid_plan.h"
#include "tests/cases.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// From the smallest supported size over Turing's to Hopper's.
constexpr std::array<std::size_t, 5> kSharedBytes = {gpu::kMinSharedBytes, 64 << 10, 99 << 10, 163 << 10,
                                                     227 << 10};

struct Card {
  unsigned num_multiprocessors;
  std::size_t shared_bytes;
};

std::vector<Card> all_cards() {
  std::vector<Card> cards;
  for (const unsigned num_multiprocessors : {1u, 7u, 132u})
    for (const std::size_t shared_bytes : kSharedBytes) cards.push_back({num_multiprocessors, shared_bytes});
  return cards;
}

class Limits : public testing::TestWithParam<Card> {
 protected:
  cuda::LimitCap cap_{{GetParam().num_multiprocessors, GetParam().shared_bytes}};
};

TEST_P(Limits, AnyCardFindsTheOraclesRowsAndScoreBits) {
  SKIP_WITHOUT_GPU();
  const std::uint64_t num_tables = num_cases(1000) / 60 + 1;
  Random random(31);
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed =
        GetParam().shared_bytes * 1000 + GetParam().num_multiprocessors + 1'000'000 * t;
    ASSERT_EQ(Trial(seed, random.pick({ValueClass::last_places, ValueClass::mixed, ValueClass::small_integers,
                                       ValueClass::anticorrelated}))
                  .run(),
              "")
        << "seed " << seed;
  }
}

// More level-1 nodes than shared memory holds on one multiprocessor.
TEST_P(Limits, AnyCardSearchesAnyNumberOfNodes) {
  SKIP_WITHOUT_GPU();
  const std::size_t num_rows = num_cases(1000) < 1000 ? 20'000 : 200'000;
  Random random(32);
  for (const ValueClass value_class : {ValueClass::uniform_f32, ValueClass::small_integers}) {
    const Table table = random_table(random, value_class, num_rows, 3);
    const Index index = Index::build(table.view(), {.leaf_rows = 16});
    const DeviceIndex on_gpu = index.to_device();
    for (const std::size_t k : {1, 16, 300, 1024, 5000})
      for (const std::vector<double>& weights : std::vector<std::vector<double>>{{1, 2, 3}, {-1, 0.5, 0.1}}) {
        const Query query = {.weights = weights, .k = k};
        const std::vector<Hit> expected = index.search(query).hits;
        EXPECT_EQ(on_gpu.search(std::vector<Query>{query})[0].hits, expected) << "batch, " << describe(query);
        for (const Engine engine : kDeviceEngines)
          if (takes(engine, query, num_rows)) {
            EXPECT_EQ(on_gpu.search(query, {.engine = engine}).hits, expected)
                << engine_name(engine) << ", " << describe(query);
          }
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Cards, Limits, testing::ValuesIn(all_cards()), [](const auto& suite) {
  return std::to_string(suite.param.num_multiprocessors) + "x" + std::to_string(suite.param.shared_bytes);
});

TEST(LimitsOfAPlan, KeepBoundsOutsideWhereSharedMemoryHasNoRoomForThem) {
  const cuda::Limits turing = {.num_multiprocessors = 40,
                               .block_shared_bytes = 64 << 10,
                               .multiprocessor_shared_bytes = 64 << 10,
                               .reserved_shared_bytes = 0};
  const cuda::Limits hopper = {.num_multiprocessors = 132,
                               .block_shared_bytes = 227 << 10,
                               .multiprocessor_shared_bytes = 228 << 10,
                               .reserved_shared_bytes = 1 << 10};
  for (const cuda::Limits& limits : {turing, hopper})
    for (const std::uint32_t num_slots : {32u, 100'000u, 10'000'000u, 134'217'728u}) {
      const gpu::GridPlan bounded = gpu::plan_bounded(num_slots, limits),
                          scan = gpu::plan_scan(num_slots, limits);
      EXPECT_LE(bounded.shared_bytes + gpu::kStaticSharedBytes, limits.block_shared_bytes);
      const std::size_t blocks_each = scan.num_blocks / limits.num_multiprocessors;
      EXPECT_LE(blocks_each * (scan.shared_bytes + gpu::kStaticSharedBytes + limits.reserved_shared_bytes),
                limits.multiprocessor_shared_bytes);
      const bool fits = num_slots <= (limits.num_multiprocessors == 40 ? 32 : 100'000);
      EXPECT_EQ(bounded.num_bounds_outside(num_slots), fits ? 0 : num_slots);
      EXPECT_LE(scan.num_blocks, limits.num_multiprocessors);
    }
}

TEST(LimitsOfADevice, TooLittleSharedMemoryIsSaidBeforeAnythingIsCopied) {
  SKIP_WITHOUT_GPU();
  const cuda::LimitCap cap({.block_shared_bytes = 48 << 10});
  Random random(33);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 2);
  const Index index = Index::build(table.view());
  try {
    static_cast<void>(index.to_device());
    FAIL();
  } catch (const CudaError& error) {
    EXPECT_NE(std::string(error.what()).find("shared memory"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace culmen::test
