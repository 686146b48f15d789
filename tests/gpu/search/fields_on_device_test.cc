// The engines on a GPU over tables with fields and missing values: what they answer is right, the rest they refuse.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "culmen/device.h"
#include "tests/cases.h"
#include "tests/field_trial.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// Whether the query needs no mask of rows: docs/contract.md.
bool is_for_devices(const Query& query, const FieldOracle& oracle) {
  if (query.missing == Missing::fill) return true;
  for (std::size_t i = 0; i < oracle.num_attributes(); ++i)
    if (query.weights[i] != 0 && oracle.has_gaps(i)) return false;
  return true;
}

std::string check_on_device(const Index& index, const FieldOracle& oracle, Random& random) {
  const DeviceIndex on_device = index.to_device();
  for (int q = 0; q < 4; ++q) {
    const Query query = random_field_query(random, oracle, true);
    const bool refused = oracle.refuses(query) || !is_for_devices(query, oracle);
    const std::vector<Answer> expected = refused ? std::vector<Answer>() : oracle.search(query);
    for (const Engine engine : kDeviceEngines) {
      if (!takes(engine, query, oracle.rows().size())) continue;
      const std::string what =
          "\n  on the GPU by " + std::string(engine_name(engine)) + ": " + describe(query);
      try {
        const SearchResult result = on_device.search(query, {.engine = engine});
        if (refused) return "taken" + what;
        if (std::string fault = difference(result.hits, expected); !fault.empty()) return fault + what;
      } catch (const InvalidArgument& error) {
        if (!refused) return "refused: " + std::string(error.what()) + what;
      }
    }
    if (refused) continue;
    const std::vector<Query> batch(3, query);
    for (const SearchResult& result : on_device.search(batch))
      if (std::string fault = difference(result.hits, expected); !fault.empty())
        return fault + "\n  in a batch on the GPU: " + describe(query);
  }
  return "";
}

TEST(FieldsOnDevice, AreFilledOrRefused) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kTables = 150;
  for (std::uint64_t t = 1; t <= kTables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : 50'000'000'000 + t;
    FieldTrial trial(seed, check_on_device);
    ASSERT_EQ(trial.run(seed % 3 == 0), "") << rerun_command(seed, "device_test", "FieldsOnDevice.*");
    if (only_seed() != 0) return;
  }
}

}  // namespace
}  // namespace culmen::test
