// A table of more than 2^31 values: a count or an offset of 32 bits would overflow.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/index.h"
#include "culmen/table_io.h"
#include "gpu/cuda/error.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kRows = 300'000'000;
constexpr int kAttributes = 8;
constexpr std::uint64_t kRowsOfManyValues = (std::uint64_t{1} << 31) / kAttributes;
static_assert(kRows > kRowsOfManyValues);

// Needed by the build, and by the index on the GPU.
constexpr std::uint64_t kHostBytes = std::uint64_t{64} << 30;
constexpr std::uint64_t kDeviceBytes = std::uint64_t{20} << 30;

std::uint64_t free_host_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (std::uint64_t kib = 0; file >> name >> kib; std::getline(file, unit))
    if (name == "MemAvailable:") return kib << 10;
  return 0;
}

std::uint64_t free_device_bytes() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  return free;
}

Index build_index() {
  const Table table =
      generate_table({.kind = TableKind::independent, .num_rows = kRows, .num_attributes = kAttributes});
  return Index::build(table.view());
}

std::vector<Query> make_queries() {
  Random random(41);
  std::vector<Query> queries;
  for (int i = 0; i < 10; ++i) {
    std::vector<double> weights;
    for (int a = 0; a < kAttributes; ++a) weights.push_back(random.uniform(-1, 1));
    for (const std::size_t k : {16, 256}) queries.push_back({.weights = weights, .k = k});
  }
  return queries;
}

TEST(Large, TablesOfMoreThan2To31ValuesAreAnsweredAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  if (free_host_bytes() < kHostBytes) GTEST_SKIP() << "less than 64 GiB of memory free";
  if (free_device_bytes() < kDeviceBytes) GTEST_SKIP() << "less than 20 GiB of device memory free";
  const Index index = build_index();
  const DeviceIndex on_gpu = index.to_device({.memory = DeviceMemory::device});
  const std::vector<Query> queries = make_queries();
  const std::vector<SearchResult> expected = index.search(queries, {.engine = Engine::bounded});
  const std::vector<SearchResult> batch = on_gpu.search(queries);
  std::size_t num_far = 0;  // hits after the first 2^31 values
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Hit>& hits = expected[q].hits;
    EXPECT_EQ(batch[q].hits, hits) << describe(queries[q]);
    for (const Engine engine : {Engine::bounded, Engine::scan})
      EXPECT_EQ(on_gpu.search(queries[q], {.engine = engine}).hits, hits)
          << engine_name(engine) << ", " << describe(queries[q]);
    for (const Hit& hit : hits) num_far += hit.row >= kRowsOfManyValues ? 1 : 0;
  }
  EXPECT_GT(num_far, 0u);
}

// Small leaves of one attribute: so many nodes that their bounds do not fit in shared memory.
TEST(Large, TablesOfManyNodesAreAnsweredAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kRowsOfManyNodes = 450'000'000;
  if (free_host_bytes() < kHostBytes || free_device_bytes() < kDeviceBytes)
    GTEST_SKIP() << "too little memory";
  const Table table =
      generate_table({.kind = TableKind::independent, .num_rows = kRowsOfManyNodes, .num_attributes = 1});
  const Index index = Index::build(table.view(), {.leaf_rows = 16});
  const DeviceIndex on_gpu = index.to_device();
  for (const double weight : {1.0, -0.3})
    for (const std::size_t k : {16, 300, 2000}) {
      const Query query = {.weights = {weight}, .k = k};
      const std::vector<Hit> expected = index.search(query).hits;
      EXPECT_EQ(on_gpu.search(std::vector<Query>{query})[0].hits, expected) << "batch, " << describe(query);
      for (const Engine engine : {Engine::bounded, Engine::scan})
        EXPECT_EQ(on_gpu.search(query, {.engine = engine}).hits, expected)
            << engine_name(engine) << ", " << describe(query);
    }
}

}  // namespace
}  // namespace culmen::test
