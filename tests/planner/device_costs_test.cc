#include "planner/device_costs.h"

#include <gtest/gtest.h>

namespace culmen::test {
namespace {

// 64 M rows x 8 float32 as in docs/results/gpu.md.
constexpr DeviceTable kTable = {
    .index_bytes = 3.2e9, .bounds_bytes = 11e6, .column_bytes = 2.05e9, .leaves = 2.05e9 / 3072};

Work easy_work() {
  return {.leaves = 38, .bytes = 38 * 3072, .hits = 16};
}

TEST(DeviceCosts, ComeNearWhatAnH100Took) {
  const DeviceCosts costs;
  EXPECT_NEAR(device_bounded_us(easy_work(), kTable, costs), 25, 5);
  EXPECT_NEAR(device_scan_us(kTable, costs), 740, 50);
  EXPECT_NEAR(4096 / device_batch_us(4096, easy_work(), costs), 1.5, 0.4);  // queries a microsecond
}

TEST(DeviceCosts, EachCountsSomewhere) {
  const auto total = [](const DeviceCosts& costs) {
    return device_bounded_us(easy_work(), kTable, costs) + device_scan_us(kTable, costs) +
           device_batch_us(100, easy_work(), costs) + device_copy_us(kTable, costs);
  };
  const auto expect_dearer = [&](const auto& member) {
    DeviceCosts dearer;
    member(dearer) *= 1000;
    EXPECT_GT(total(dearer), total({}) + 1);
  };
  expect_dearer([](DeviceCosts& costs) -> double& { return costs.speed.launch_ns; });
  expect_dearer([](DeviceCosts& costs) -> double& { return costs.speed.read_ns_per_kb; });
  expect_dearer([](DeviceCosts& costs) -> double& { return costs.speed.copy_ns_per_kb; });
  for (double DeviceCosts::*cost : {&DeviceCosts::steps, &DeviceCosts::hit, &DeviceCosts::batch_query,
                                    &DeviceCosts::batch_leaf, &DeviceCosts::batch_hit})
    expect_dearer([cost](DeviceCosts& costs) -> double& { return costs.*cost; });
}

TEST(Place, OfOneEasyQueryIsTheCpuAndOfAHardOneTheGpuThatHasACopy) {
  Workload load = {.cpu_us = 15, .bounded = easy_work(), .table = kTable, .has_copy = true};
  EXPECT_FALSE(placement_times(load, {}).on_device());
  load.cpu_us = 3'000;
  EXPECT_TRUE(placement_times(load, {}).on_device());
  load.has_copy = false;
  EXPECT_FALSE(placement_times(load, {}).on_device());
}

TEST(Place, OfABatchIsTheGpuOnceItPaysForTheCopy) {
  Workload load = {.cpu_us = 40, .threads = 16, .bounded = easy_work(), .table = kTable};
  const PlacementTimes one = placement_times(load, {});
  EXPECT_EQ(one.cpu_us, 40);
  EXPECT_NEAR(one.copy_us, 250e3, 10e3);
  load.queries = 1'000;
  EXPECT_FALSE(placement_times(load, {}).on_device());
  load.queries = 1'000'000;
  EXPECT_TRUE(placement_times(load, {}).on_device());
  EXPECT_EQ(placement_times(load, {}).cpu_us, 62'500 * 40.0);
  load.queries = 1'000;
  load.has_copy = true;
  EXPECT_TRUE(placement_times(load, {}).on_device());
}

}  // namespace
}  // namespace culmen::test
