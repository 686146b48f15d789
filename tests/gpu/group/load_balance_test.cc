#include "gpu/group/load_balance.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace culmen::test {
namespace {

using gpu::LoadBalance;
using Shares = std::vector<std::size_t>;

const Shares kAll = {0, 1, 2};

Shares divide(const LoadBalance& balance, std::size_t num_queries, const Shares& devices = kAll) {
  return balance.divide(num_queries, devices);
}

// A batch of 1,000 queries a device, which these devices answered at so many queries a second.
void record(LoadBalance& balance, const std::vector<double>& rates) {
  std::vector<LoadBalance::Part> parts;
  for (std::size_t i = 0; i < rates.size(); ++i) parts.push_back({i, 1000, 1000 / rates[i]});
  balance.record(parts);
}

TEST(LoadBalance, DividesEvenlyAtFirst) {
  const LoadBalance balance(3);
  EXPECT_EQ(divide(balance, 3000), (Shares{1000, 1000, 1000}));
  EXPECT_EQ(divide(balance, 0), (Shares{0, 0, 0}));
}

TEST(LoadBalance, GivesEveryQueryToOneDevice) {
  LoadBalance balance(3);
  record(balance, {1, 3.3, 0.7});
  for (std::size_t n = 0; n < 3000; n += 7) {
    const Shares shares = divide(balance, n);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::size_t{0}), n);
    const Shares two = divide(balance, n, {2, 0});
    EXPECT_EQ(two[0] + two[1], n);
  }
}

TEST(LoadBalance, GivesFewQueriesToTheFastest) {
  LoadBalance balance(3);
  record(balance, {1, 3, 2});
  EXPECT_EQ(divide(balance, 255), (Shares{0, 255, 0}));
  const Shares two = divide(balance, 300);
  EXPECT_EQ(two[0], 0u);
  EXPECT_GT(two[1], two[2]);
  EXPECT_EQ(divide(balance, 255, {0, 2}), (Shares{0, 255}));
}

TEST(LoadBalance, ComesToDivideByTheSpeeds) {
  LoadBalance balance(3);
  for (int batch = 0; batch < 40; ++batch) record(balance, {100, 300, 200});
  const Shares shares = divide(balance, 6000);
  EXPECT_NEAR(static_cast<double>(shares[0]), 1000, 2);
  EXPECT_NEAR(static_cast<double>(shares[1]), 3000, 2);
  EXPECT_NEAR(static_cast<double>(shares[2]), 2000, 2);
}

// A batch of cheap queries is ten times as fast on all devices.
TEST(LoadBalance, ComparesOnlyWithinABatch) {
  LoadBalance balance(2);
  for (int batch = 0; batch < 40; ++batch)
    record(balance, {batch % 2 == 0 ? 10.0 : 100.0, batch % 2 == 0 ? 30.0 : 300.0});
  EXPECT_NEAR(balance.speeds()[0], 0.25, 1e-3);
}

TEST(LoadBalance, LetsDevicesThatDidNothingKeepTheirSpeed) {
  LoadBalance balance(3);
  const std::vector<LoadBalance::Part> parts = {{0, 1000, 1}, {1, 1000, 4}};
  for (int batch = 0; batch < 40; ++batch) balance.record(parts);
  EXPECT_NEAR(balance.speeds()[2], 1.0 / 3, 1e-9);
  EXPECT_NEAR(balance.speeds()[0], 4 * balance.speeds()[1], 1e-3);
}

TEST(LoadBalance, IsNotUpsetByOneSlowBatch) {
  LoadBalance balance(2);
  for (int batch = 0; batch < 10; ++batch) record(balance, {100, 100});
  record(balance, {1, 100});
  EXPECT_GT(balance.speeds()[0], 0.3);
}

TEST(LoadBalance, StillAsksADeviceThatWasVerySlow) {
  LoadBalance balance(2);
  for (int batch = 0; batch < 200; ++batch) record(balance, {1e-9, 100});
  EXPECT_GT(divide(balance, 10'000, {0, 1})[0], 0u);
  for (int batch = 0; batch < 40; ++batch) record(balance, {100, 100});
  EXPECT_NEAR(balance.speeds()[0], 0.5, 1e-3);
}

TEST(LoadBalance, LearnsNothingFromPartsWithoutTimeOrQueries) {
  LoadBalance balance(2);
  const std::vector<LoadBalance::Part> empty = {{0, 0, 1}, {1, 100, 1}}, at_once = {{0, 100, 0}, {1, 100, 1}};
  balance.record(empty);
  balance.record(at_once);
  balance.record({});
  EXPECT_EQ(balance.speeds()[0], 0.5);
}

TEST(LoadBalance, ChoosesTheLeastBusyForItsSpeed) {
  LoadBalance balance(3);
  const auto choose = [&](const std::vector<std::uint32_t>& in_flight, const Shares& devices = kAll) {
    return balance.choose(devices, in_flight);
  };
  EXPECT_EQ(choose({0, 0, 0}), 0u);
  EXPECT_EQ(choose({1, 0, 0}), 1u);
  EXPECT_EQ(choose({1, 0, 0}, {0, 2}), 2u);
  for (int batch = 0; batch < 40; ++batch) record(balance, {100, 300, 100});
  EXPECT_EQ(choose({0, 0, 0}), 1u);
  EXPECT_EQ(choose({0, 1, 0}), 1u);  // after two on the fast one: 2 / 3 < 1
  EXPECT_EQ(choose({0, 3, 0}), 0u);
}

}  // namespace
}  // namespace culmen::test
