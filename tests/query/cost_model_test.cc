// The cost model and the file that its constants are kept in.
#include "query/cost_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "query/calibrate.h"
#include "query/calibration_file.h"
#include "query/forecast.h"
#include "query/pace.h"
#include "query/resolve.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr Threads kTwo = {2, 2};

// As a scan of `rows` in order would do.
Work scan_work(double rows, double k) {
  return {.leaves = rows / 96,
          .values = rows * 8,
          .bytes = rows * 32,
          .span = rows * 32,
          .candidates = k + expected_replacements(k, rows),
          .replacements = expected_replacements(k, rows),
          .hits = k};
}

TEST(CostModel, RisesWithRowsAndWithK) {
  const MachineCosts costs;
  double before_bounded = 0, before_scan = 0;
  for (const double rows : {1e3, 1e4, 1e5, 1e6, 1e7, 1e8}) {
    const double bounded = bounded_us(scan_work(rows, 10), costs);
    const double scan = scan_us(scan_work(rows, 10), costs, kTwo);
    EXPECT_GT(bounded, before_bounded) << rows;
    EXPECT_GT(scan, before_scan) << rows;
    before_bounded = bounded;
    before_scan = scan;
  }
  for (const double k : {10.0, 100.0, 1e3, 1e4, 1e5}) {
    EXPECT_GT(bounded_us(scan_work(1e6, k), costs), bounded_us(scan_work(1e6, k / 10), costs)) << k;
    EXPECT_GT(scan_us(scan_work(1e6, k), costs, kTwo), scan_us(scan_work(1e6, k / 10), costs, kTwo)) << k;
  }
}

TEST(CostModel, ChargesForEveryConstantSomewhere) {
  const Work work = {.nodes = 10,
                     .ranges = 10,
                     .leaves = 1e5,
                     .leaves_tied_out = 10,
                     .values = 8e7,
                     .bytes = 3.2e8,
                     .candidates = 100,
                     .replacements = 100};
  Bill all;
  for (const double hits : {16.0, 256.0, 4096.0, 65536.0})
    for (const std::size_t size : kReadSizes) {
      Work answered = work;
      answered.hits = hits;
      answered.span = static_cast<double>(size);
      for (const Bill& bill : {bounded_bill(answered), scan_bill(answered, {1, 2}), scan_bill(answered, kTwo),
                               gta_bill(answered, kTwo)})
        all.add(bill, 1);
    }
  for (const CostConstant& constant : kCostConstants) {
    if (constant.value == &MachineCosts::pace_ns) continue;
    EXPECT_GT(all.times(constant.value), 0) << constant.name;
  }
}

TEST(CostModel, ChargesByTheLogarithmOfKBetweenTheMeasuredLengths) {
  const auto replaced = [](double k) { return bounded_bill({.replacements = 1, .hits = k}); };
  EXPECT_EQ(replaced(1).times(&MachineCosts::replace_16_ns), 1);
  EXPECT_EQ(replaced(256).times(&MachineCosts::replace_256_ns), 1);
  EXPECT_DOUBLE_EQ(replaced(1024).times(&MachineCosts::replace_256_ns), 0.5);
  EXPECT_DOUBLE_EQ(replaced(1024).times(&MachineCosts::replace_4096_ns), 0.5);
  EXPECT_EQ(replaced(1e9).times(&MachineCosts::replace_65536_ns), 1);
}

TEST(CostModel, ChargesReadingByTheLogarithmOfTheBytesBetweenTheMeasuredSizes) {
  const auto leaves = [](double span, Cost cost) {
    Bill bill;
    charge_reading(kFarRead, span, 10, 0, 1, bill);
    return bill.times(cost);
  };
  constexpr double kMb = 1 << 20;
  EXPECT_EQ(leaves(kMb, &MachineCosts::far_leaf_4mb_ns), 0);
  EXPECT_DOUBLE_EQ(leaves(2 * kMb, &MachineCosts::far_leaf_4mb_ns), 5);
  EXPECT_DOUBLE_EQ(leaves(8 * kMb, &MachineCosts::far_leaf_4mb_ns), 5);
  EXPECT_DOUBLE_EQ(leaves(8 * kMb, &MachineCosts::far_leaf_16mb_ns), 5);
  EXPECT_DOUBLE_EQ(leaves(1e12, &MachineCosts::far_leaf_256mb_ns), 10);
}

TEST(CostModel, LetsOneThreadDoWhatIsNotWorthTheOthersComing) {
  MachineCosts costs;
  costs.fork_ns = 1e12;
  const Work work = scan_work(1e6, 10);
  EXPECT_EQ(scan_us(work, costs, kTwo), scan_us(work, costs, {1, 2}));
  EXPECT_LT(scan_us(work, {}, kTwo), scan_us(work, {}, {1, 2}));
}

// Works of two constants, and of one that costs nothing: a bill charges some of each.
TEST(Bills, TellTheCostsByWhichTheyWerePaid) {
  MachineCosts costs;
  costs.leaf_ns = 40;
  costs.value_ns = 0.25;
  costs.node_ns = 0;
  std::vector<PaidBill> paid;
  for (int i = 1; i <= 20; ++i) {
    Bill bill;
    bill.charge(&MachineCosts::leaf_ns, i);
    bill.charge(&MachineCosts::value_ns, 1000.0 / i);
    bill.charge(&MachineCosts::node_ns, i % 3);
    paid.push_back({bill, bill.ns(costs)});
  }
  const MachineCosts fitted = fit_costs(paid);
  EXPECT_NEAR(fitted.leaf_ns, 40, 0.01);
  EXPECT_NEAR(fitted.value_ns, 0.25, 0.0001);
  EXPECT_NEAR(fitted.node_ns, 0, 0.01);
  EXPECT_EQ(fitted.tied_ns, MachineCosts().tied_ns);  // no bill says anything of ties
}

TEST(Bills, TellNoNegativeCosts) {
  std::vector<PaidBill> paid;
  for (int i = 1; i <= 20; ++i) {
    Bill bill;
    bill.charge(&MachineCosts::search_ns, 1);
    bill.charge(&MachineCosts::leaf_ns, i);
    paid.push_back({bill, 1000.0 - i});
  }
  const MachineCosts fitted = fit_costs(paid);
  EXPECT_EQ(fitted.leaf_ns, 0);
  EXPECT_NEAR(fitted.search_ns, 990, 5);
}

TEST(Calibration, MeasuresEveryConstant) {
  const MachineCosts costs = measure_costs().costs;
  for (const CostConstant& constant : kCostConstants) {
    EXPECT_GE(costs.*constant.value, 0) << constant.name;
    EXPECT_LT(costs.*constant.value, 1e9) << constant.name;
  }
  EXPECT_GT(costs.value_ns, 0);
  EXPECT_GT(costs.replace_16_ns, 0);
}

TEST(Pace, ChangesAllCostsByOneFactorWithinReason) {
  for (const double pace_ns : {1e-3, 1e4, 1e12}) {
    MachineCosts costs;
    costs.pace_ns = pace_ns;
    const MachineCosts present = at_present_pace(costs);
    const double factor = present.search_ns / costs.search_ns;
    EXPECT_GE(factor, 0.25);
    EXPECT_LE(factor, 4);
    if (pace_ns < 1) {
      EXPECT_EQ(factor, 4);
    } else if (pace_ns > 1e9) {
      EXPECT_EQ(factor, 0.25);
    }
    for (const CostConstant& constant : kCostConstants)
      EXPECT_DOUBLE_EQ(present.*constant.value, factor * costs.*constant.value) << constant.name;
  }
}

TEST(CalibrationFile, KeepsEveryConstant) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "deeper" / "costs.json";
  MachineCosts costs;
  double next = 0.5;
  for (const CostConstant& constant : kCostConstants) costs.*constant.value = next += 1;
  for (const bool is_sure : {false, true}) {
    const auto device = is_sure ? std::optional(DeviceCosts{.launch_ns = 3}) : std::nullopt;
    ASSERT_TRUE(save_costs(path, {costs, is_sure, device}));
    const std::optional<MeasuredCosts> read = load_costs(path);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->is_sure, is_sure);
    ASSERT_EQ(read->device.has_value(), is_sure);
    if (is_sure) {
      EXPECT_EQ(read->device->launch_ns, 3);
    }
    for (const CostConstant& constant : kCostConstants)
      EXPECT_EQ(read->costs.*constant.value, costs.*constant.value) << constant.name;
  }
  // Nothing but the file itself is left behind.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
}

TEST(CalibrationFile, ThatIsDamagedOrForeignHoldsNoCosts) {
  const std::string good = costs_text({}, "this machine");
  EXPECT_TRUE(parse_costs(good, "this machine").has_value());
  EXPECT_FALSE(parse_costs(good, "another machine").has_value());
  for (std::size_t length = 0; length + 2 < good.size(); ++length)
    EXPECT_FALSE(parse_costs(good.substr(0, length), "this machine").has_value()) << length;
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {replaced("\"format\": 3", "\"format\": 2"), replaced("\"format\": 3", "\"format\": \"3\""),
        replaced("\"sure\": false", "\"sure\": 0"), replaced("\"leaf_ns\": 120.0", "\"leaf_ns\": -1"),
        replaced("\"leaf_ns\": 120.0", "\"leaf_ns\": null"),
        replaced("\"leaf_ns\": 120.0", "\"leaf_ns\": 1e999"), replaced("leaf_ns", "lief_ns"),
        replaced("\"costs\": {", "\"cost\": {"), std::string("[]"), std::string("{\"format\": 3}")})
    EXPECT_FALSE(parse_costs(text, "this machine").has_value()) << text;
}

TEST(CalibrationFile, ThatCannotBeReadOrWrittenIsNoError) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(load_costs({}).has_value());
  EXPECT_FALSE(load_costs(directory.path() / "missing").has_value());
  EXPECT_FALSE(load_costs(directory.path()).has_value());
  EXPECT_FALSE(save_costs({}, {}));
  EXPECT_FALSE(save_costs(directory.path(), {}));
  std::ofstream(directory.path() / "file") << "x";
  EXPECT_FALSE(save_costs(directory.path() / "file" / "costs.json", {}));
}

TEST(CalibrationFile, LiesWhereTheEnvironmentSays) {
  const auto path_with = [](const char* chosen, const char* cache, const char* home) {
    const std::pair<const char*, const char*> settings[] = {
        {"CULMEN_CALIBRATION", chosen}, {"XDG_CACHE_HOME", cache}, {"HOME", home}};
    std::vector<std::pair<const char*, std::optional<std::string>>> before;
    for (const auto& [name, value] : settings) {
      const char* old = std::getenv(name);
      before.emplace_back(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
      value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
    }
    const std::string path = calibration_path().string();
    for (const auto& [name, value] : before) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
    return path;
  };
  EXPECT_EQ(path_with("/a/b.json", "/cache", "/home/me"), "/a/b.json");
  EXPECT_EQ(path_with("", "/cache", "/home/me"), "");
  EXPECT_TRUE(path_with(nullptr, "/cache", "/home/me").starts_with("/cache/culmen/costs-"));
  EXPECT_TRUE(path_with(nullptr, nullptr, "/home/me").starts_with("/home/me/.cache/culmen/costs-"));
  EXPECT_EQ(path_with(nullptr, nullptr, nullptr), "");
}

TEST(Forecast, EstimatesThePartOfTheRowsThatPass) {
  Random random(5);
  const Table table = random_table(random, ValueClass::uniform_f32, 20000, 2);
  const Index index = Index::build(table.view());
  const SearchResult all = index.search({.weights = {1, 0}, .k = 20000});
  const auto snapshot = all.snapshot;
  const double median = all.attribute(all.hits.size() / 2, 0);
  const auto selectivity = [&](const Filter& where) {
    return estimate_selectivity(*snapshot, resolve({.weights = {1, 1}, .k = 1, .where = where}, *snapshot));
  };
  EXPECT_EQ(selectivity({}), 1);
  EXPECT_NEAR(selectivity({{0, -kInfinity, median}}), 0.5, 0.15);
  EXPECT_LT(selectivity({{0, kInfinity, kInfinity}}), 0.01);
}

}  // namespace
}  // namespace culmen::test
