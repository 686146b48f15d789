#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/philox.h"
#include "table/row_random.h"
#include "tests/cases.h"

namespace culmen {
namespace {

constexpr TableKind kAllKinds[] = {TableKind::independent,  TableKind::correlated, TableKind::anticorrelated,
                                   TableKind::ratings,      TableKind::zipf,       TableKind::clusters,
                                   TableKind::hotels,       TableKind::gaussian,   TableKind::weather,
                                   TableKind::heavytailed,  TableKind::sparse,     TableKind::series,
                                   TableKind::compositional};

double value_at(const Table& table, std::size_t column, std::size_t row) {
  if (const auto* values = std::get_if<Array<float>>(&table.storage[column])) return (*values)[row];
  return std::get<Array<double>>(table.storage[column])[row];
}

std::vector<double> column_of(const Table& table, std::size_t column) {
  std::vector<double> values(table.num_rows);
  for (std::size_t row = 0; row < table.num_rows; ++row) values[row] = value_at(table, column, row);
  return values;
}

std::vector<double> column_of(const Table& table, std::string_view name) {
  for (std::size_t column = 0; column < table.attributes.size(); ++column) {
    if (table.attributes[column].name == name) return column_of(table, column);
  }
  throw InvalidArgument("no column " + std::string(name));
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const double mean_x = mean_of(x);
  const double mean_y = mean_of(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return xy / std::sqrt(xx * yy);
}

double share_of(const std::vector<double>& values, double low, double high) {
  const auto inside = [&](double value) { return value >= low && value <= high; };
  return static_cast<double>(std::count_if(values.begin(), values.end(), inside)) /
         static_cast<double>(values.size());
}

double squared_distance(const Table& table, std::size_t row, std::size_t other) {
  double sum = 0;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const double difference = value_at(table, column, row) - value_at(table, column, other);
    sum += difference * difference;
  }
  return sum;
}

class Fnv1a {
 public:
  void add(const void* data, std::size_t num_bytes) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < num_bytes; ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3u;
  }
  template <typename T>
  void add(const Array<T>& values) {
    add(values.data(), values.size() * sizeof(T));
  }
  std::uint64_t hash() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

std::uint64_t hash_of(const Table& table) {
  Fnv1a fnv;
  for (const Table::Values& column : table.storage) {
    std::visit([&](const auto& values) { fnv.add(values); }, column);
  }
  for (const Attribute& attribute : table.attributes) fnv.add(attribute.name.data(), attribute.name.size());
  fnv.add(table.ids);
  fnv.add(table.labels.offsets);
  fnv.add(table.labels.bytes);
  return fnv.hash();
}

bool same_words(PhiloxBlock a, PhiloxBlock b) {
  return std::memcmp(a.word, b.word, sizeof(a.word)) == 0;
}

TEST(Philox, GivesTheNumbersPublishedWithRandom123) {
  EXPECT_TRUE(
      same_words(philox4x32({{0, 0, 0, 0}}, {{0, 0}}), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_TRUE(same_words(philox4x32({{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}),
                         {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}));
  EXPECT_TRUE(
      same_words(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {{0xa4093822, 0x299f31d0}}),
                 {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}));
}

TEST(Philox, CanBeComputedByTheCompiler) {
  static_assert(philox4x32({{0, 0, 0, 0}}, {{0, 0}}).word[0] == 0x6627e8d5);
}

TEST(RowRandom, PutsDrawRowAndStreamInTheCounterAndTheSeedInTheKey) {
  const std::uint64_t seed = 0x0123456789abcdef;
  const std::uint64_t row = 0xfedcba9876543210;
  RowRandom random(seed, 5, row);
  for (std::uint32_t draw = 0; draw < 3; ++draw) {
    const PhiloxBlock expected = philox4x32({{draw, 0x76543210, 0xfedcba98, 5}}, {{0x89abcdef, 0x01234567}});
    for (const std::uint32_t word : expected.word) EXPECT_EQ(random.next_word(), word);
  }
}

TEST(RowRandom, KeepsNormalNumbersWithinReachWithASixthOfItAsDeviation) {
  double sum = 0, sum_of_squares = 0;
  const int num_rows = 20000;
  for (int row = 0; row < num_rows; ++row) {
    const double value = RowRandom(3, 0, static_cast<std::uint64_t>(row)).normal(10, 6);
    ASSERT_GE(value, 4);
    ASSERT_LT(value, 16);
    sum += value - 10;
    sum_of_squares += (value - 10) * (value - 10);
  }
  EXPECT_NEAR(sum / num_rows, 0, 0.03);
  EXPECT_NEAR(sum_of_squares / num_rows, 1, 0.05);
}

// Must run before the other tests that set a number of threads: oneTBB warns once per process.
TEST(GenerateTable, PrintsNothingWhenAskedForMoreThreadsThanThereAre) {
  testing::internal::CaptureStderr();
  generate_table({.num_rows = 20000, .num_threads = 1000});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(GenerateTable, GivesTheSameBytesForEveryNumberOfThreads) {
  for (const TableKind kind : kAllKinds) {
    const auto hash_with = [&](int num_threads) {
      return hash_of(generate_table({.kind = kind,
                                     .num_rows = test::kSanitized ? 2001 : 20'001,
                                     .seed = 7,
                                     .num_threads = num_threads}));
    };
    const std::uint64_t expected = hash_with(1);
    for (const int num_threads : {0, 2, 3, 8}) {
      EXPECT_EQ(hash_with(num_threads), expected) << "kind " << static_cast<int>(kind) << ", " << num_threads;
    }
  }
}

TEST(GenerateTable, KeepsItsBytesFromReleaseToRelease) {
  constexpr std::uint64_t kHashes[] = {
      0x7264102eb483a989, 0xf6145b2e280017c3, 0xdf74c57a58e568ab, 0x1a2a053a5561ba49, 0x8d17aa2958a71668,
      0xd806ac5c2f671942, 0xf03a7c90e331da75, 0x7bf9a8ae0e15cf1b, 0x20544d3669ba73bb, 0x447f28d373f8ea4f,
      0x7b8db29eace62032, 0x95ba00128c1dba9d, 0x6f92215a340c2b0d};
  for (const TableKind kind : kAllKinds) {
    const Table table = generate_table({.kind = kind, .num_rows = 10000, .num_attributes = 5, .seed = 42});
    EXPECT_EQ(hash_of(table), kHashes[static_cast<int>(kind)])
        << "kind " << static_cast<int>(kind) << std::hex << " 0x" << hash_of(table);
  }
}

TEST(GenerateTable, MakesRowsThatDoNotDependOnTheNumberOfRows) {
  for (const TableKind kind : kAllKinds) {
    const Table small = generate_table({.kind = kind, .num_rows = 100, .seed = 5});
    const Table large = generate_table({.kind = kind, .num_rows = 9000, .seed = 5});
    for (std::size_t column = 0; column < small.attributes.size(); ++column) {
      for (std::size_t row = 0; row < small.num_rows; ++row) {
        ASSERT_EQ(value_at(small, column, row), value_at(large, column, row));
      }
    }
  }
}

TEST(GenerateTable, MakesAnotherTableFromEverySeedAndKind) {
  std::set<std::uint64_t> hashes;
  for (const TableKind kind : kAllKinds) {
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 32}) {
      hashes.insert(hash_of(generate_table({.kind = kind, .num_rows = 50, .seed = seed})));
    }
  }
  EXPECT_EQ(hashes.size(), 3 * std::size(kAllKinds));
}

TEST(GenerateTable, NamesColumnsAndGivesEachItsValues) {
  const Table table = generate_table({.kind = TableKind::independent, .num_rows = 3, .num_attributes = 12});
  ASSERT_EQ(table.num_rows, 3u);
  ASSERT_EQ(table.attributes.size(), 12u);
  EXPECT_EQ(table.attributes[11], (Attribute{"a11", Preference::high}));
  EXPECT_TRUE(table.ids.empty());
  EXPECT_TRUE(table.label_name.empty());
  for (std::size_t column = 0; column < 12; ++column) {
    EXPECT_EQ(table.columns[column].type, ElementType::float32);
    EXPECT_EQ(table.columns[column].stride_bytes, 4);
    const auto& values = std::get<Array<float>>(table.storage[column]);
    EXPECT_EQ(table.columns[column].data, reinterpret_cast<const std::byte*>(values.data()));
  }
}

TEST(GenerateTable, MakesEmptyTables) {
  for (const TableKind kind : kAllKinds) {
    const Table table = generate_table({.kind = kind, .num_rows = 0});
    EXPECT_EQ(table.num_rows, 0u);
    EXPECT_EQ(table.columns.size(), 8u);
  }
}

TEST(GenerateTable, RefusesWhatItCannotMake) {
  EXPECT_THROW(generate_table({.num_rows = 1, .num_attributes = 0}), InvalidArgument);
  EXPECT_THROW(generate_table({.num_rows = 1, .num_attributes = 1025}), InvalidArgument);
  EXPECT_THROW(generate_table({.kind = TableKind::anticorrelated, .num_rows = 1, .num_attributes = 33}),
               InvalidArgument);
  EXPECT_THROW(generate_table({.num_rows = ~std::uint64_t{0}}), InvalidArgument);
  EXPECT_THROW(generate_table({.num_rows = 1, .num_threads = -1}), InvalidArgument);
  EXPECT_THROW(generate_table({.kind = static_cast<TableKind>(99), .num_rows = 1}), InvalidArgument);
}

TEST(GenerateTable, KeepsUnitKindsWithinTheUnitCubeForAnyNumberOfAttributes) {
  for (const TableKind kind :
       {TableKind::independent, TableKind::correlated, TableKind::anticorrelated, TableKind::clusters}) {
    for (const int num_attributes : {1, 2, 20, 32}) {
      const Table table = generate_table({.kind = kind, .num_rows = 500, .num_attributes = num_attributes});
      for (std::size_t column = 0; column < table.attributes.size(); ++column) {
        const std::vector<double> values = column_of(table, column);
        ASSERT_EQ(share_of(values, 0, 1), 1) << "kind " << static_cast<int>(kind) << ", column " << column;
        ASSERT_NE(*std::min_element(values.begin(), values.end()),
                  *std::max_element(values.begin(), values.end()));
      }
    }
  }
}

TEST(Independent, IsUniformAndWithoutCorrelation) {
  const Table table = generate_table({.kind = TableKind::independent, .num_rows = 50000});
  for (std::size_t column = 0; column < 8; ++column) {
    const std::vector<double> values = column_of(table, column);
    for (int tenth = 0; tenth < 10; ++tenth) {
      EXPECT_NEAR(share_of(values, tenth * 0.1, (tenth + 1) * 0.1), 0.1, 0.007);
    }
    EXPECT_NEAR(correlation(values, column_of(table, (column + 1) % 8)), 0, 0.02);
  }
}

TEST(Correlated, MakesAllAttributesRiseTogether) {
  const Table table = generate_table({.kind = TableKind::correlated, .num_rows = 20000});
  for (std::size_t column = 0; column < 8; ++column) {
    // Neighbours share a shift of opposite sign, which takes some of it away.
    EXPECT_GT(correlation(column_of(table, column), column_of(table, (column + 1) % 8)), 0.2);
    EXPECT_GT(correlation(column_of(table, column), column_of(table, (column + 2) % 8)), 0.4);
    EXPECT_NEAR(mean_of(column_of(table, column)), 0.5, 0.01);
  }
}

TEST(Anticorrelated, MakesNeighboursFallAndKeepsTheSumClose) {
  const Table table = generate_table({.kind = TableKind::anticorrelated, .num_rows = 20000});
  std::vector<double> sums(table.num_rows);
  double sum_of_variances = 0;
  for (std::size_t column = 0; column < 8; ++column) {
    const std::vector<double> values = column_of(table, column);
    EXPECT_LT(correlation(values, column_of(table, (column + 1) % 8)), -0.2);
    const double mean = mean_of(values);
    for (std::size_t row = 0; row < values.size(); ++row) {
      sums[row] += values[row];
      sum_of_variances += (values[row] - mean) * (values[row] - mean);
    }
  }
  double variance_of_sum = 0;
  const double mean_sum = mean_of(sums);
  for (const double sum : sums) variance_of_sum += (sum - mean_sum) * (sum - mean_sum);
  EXPECT_LT(variance_of_sum, sum_of_variances / 2);  // equal for independent attributes
}

TEST(Ratings, HaveNineLevelsMostOfThemGoodAndFollowQuality) {
  const Table table = generate_table({.kind = TableKind::ratings, .num_rows = 20000});
  for (std::size_t column = 0; column < 8; ++column) {
    const std::vector<double> values = column_of(table, column);
    const std::set<double> levels(values.begin(), values.end());
    EXPECT_EQ(levels, (std::set<double>{1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}));
    EXPECT_GT(mean_of(values), 3.3);
    EXPECT_GT(share_of(values, 4, 5), 0.5);
    EXPECT_GT(share_of(values, 1, 1), share_of(values, 2, 2));
    EXPECT_GT(correlation(values, column_of(table, (column + 1) % 8)), 0.5);
  }
}

TEST(Zipf, HasWholeCountsWithATailOfItsOwnForEachAttribute) {
  const Table table = generate_table({.kind = TableKind::zipf, .num_rows = 100000});
  for (std::size_t column = 0; column < 8; ++column) {
    const std::vector<double> counts = column_of(table, column);
    EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](double count) {
      return count >= 1 && count <= 16777216 && count == std::floor(count);
    }));
    const double tail_exponent = 8.0 / (8.0 - static_cast<double>(column % 6));
    EXPECT_NEAR(share_of(counts, 2, 1e9), std::pow(2, -tail_exponent), 0.01);
    EXPECT_NEAR(share_of(counts, 10, 1e9), std::pow(10, -tail_exponent), 0.005);
  }
}

TEST(Clusters, HaveNeighboursMuchCloserThanUniformRows) {
  const auto mean_squared_distance_to_nearest = [](TableKind kind) {
    const Table table = generate_table({.kind = kind, .num_rows = 600});
    double sum = 0;
    for (std::size_t row = 0; row < table.num_rows; ++row) {
      double nearest = 1e9;
      for (std::size_t other = 0; other < table.num_rows; ++other) {
        if (other != row) nearest = std::min(nearest, squared_distance(table, row, other));
      }
      sum += nearest;
    }
    return sum / static_cast<double>(table.num_rows);
  };
  EXPECT_LT(mean_squared_distance_to_nearest(TableKind::clusters),
            mean_squared_distance_to_nearest(TableKind::independent) / 5);
}

class Hotels : public testing::Test {
 protected:
  static const Table& table() {
    static const Table hotels = generate_table({.kind = TableKind::hotels, .num_rows = 150000});
    return hotels;
  }
};

TEST_F(Hotels, HaveNamedAttributesWithTheirPreference) {
  std::vector<Attribute> expected = {{"price", Preference::low},    {"rating", Preference::high},
                                     {"stars", Preference::high},   {"distance", Preference::low},
                                     {"reviews", Preference::high}, {"breakfast", Preference::high},
                                     {"noise", Preference::low},    {"renovated", Preference::high}};
  for (const std::size_t whole : {2, 4, 7}) expected[whole].format.type = ColumnType::integer;
  EXPECT_EQ(table().attributes, expected);
  EXPECT_EQ(table().columns[0].type, ElementType::float64);
}

TEST_F(Hotels, HaveIdsFromOneMillionOn) {
  ASSERT_EQ(table().ids.size(), table().num_rows);
  EXPECT_EQ(table().ids.front(), 1000000);
  EXPECT_EQ(table().ids.back(), 1149999);
}

TEST_F(Hotels, HaveUniqueNamesSomeBeyondAscii) {
  EXPECT_EQ(table().label_name, "name");
  const LabelsView names = table().labels.view();
  ASSERT_EQ(table().labels.offsets.size(), table().num_rows + 1);
  ASSERT_EQ(table().labels.offsets.back(), table().labels.bytes.size());
  std::unordered_set<std::string_view> unique;
  std::size_t num_beyond_ascii = 0;
  for (std::size_t row = 0; row < table().num_rows; ++row) {
    EXPECT_GE(names[row].size(), 9u);
    unique.insert(names[row]);
    num_beyond_ascii += std::any_of(names[row].begin(), names[row].end(), [](char c) { return c < 0; });
  }
  EXPECT_EQ(unique.size(), table().num_rows);
  EXPECT_GT(num_beyond_ascii, table().num_rows / 10);
  EXPECT_LT(num_beyond_ascii, table().num_rows / 2);
}

TEST_F(Hotels, HaveTheCityOfTheirNameAndUsuallyADayOfOpening) {
  ASSERT_EQ(table().fields, (std::vector<Field>{{"city", FieldRole::filter, {ColumnType::text}},
                                                {"opened", FieldRole::filter, {ColumnType::date}}}));
  const TableView view = table().view();
  const auto& cities = std::get<TextView>(view.field_views[0]);
  const auto& opened = std::get<ColumnView>(view.field_views[1]);
  const auto* const days = reinterpret_cast<const std::int64_t*>(opened.data);
  const std::vector<double> renovated = column_of(table(), "renovated");
  std::size_t num_unknown = 0;
  for (std::size_t row = 0; row < table().num_rows; ++row) {
    ASSERT_NE(table().labels.view()[row].find(cities.texts[row]), std::string_view::npos);
    num_unknown += opened.validity.is_missing(row);
    if (opened.validity.is_missing(row)) continue;
    const double year = 1970 + static_cast<double>(days[row]) / 365.2425;
    ASSERT_LT(year, renovated[row] + 1.01);
    ASSERT_GT(year, renovated[row] - 60.01);
  }
  EXPECT_NEAR(static_cast<double>(num_unknown), static_cast<double>(table().num_rows) / 8, 1000);
}

TEST_F(Hotels, HaveValuesInBelievableRanges) {
  const struct {
    const char* name;
    double low, high, least_mean, greatest_mean;
  } expectations[] = {{"price", 10, 1000, 80, 160}, {"rating", 1, 10, 6, 8},
                      {"stars", 1, 5, 3, 3.5},      {"distance", 0, 15, 3, 7},
                      {"reviews", 0, 1e7, 10, 100}, {"breakfast", 1, 10, 6, 8},
                      {"noise", 20, 80, 40, 60},    {"renovated", 1975, 2025, 2000, 2015}};
  for (const auto& expected : expectations) {
    const std::vector<double> values = column_of(table(), expected.name);
    EXPECT_EQ(share_of(values, expected.low, expected.high), 1) << expected.name;
    EXPECT_GT(mean_of(values), expected.least_mean) << expected.name;
    EXPECT_LT(mean_of(values), expected.greatest_mean) << expected.name;
  }
}

TEST_F(Hotels, HaveTheDoublesNearestToTheirDecimals) {
  const auto has_digits = [](const std::vector<double>& values, double scale) {
    return std::all_of(values.begin(), values.end(),
                       [&](double value) { return std::round(value * scale) / scale == value; });
  };
  EXPECT_TRUE(has_digits(column_of(table(), "price"), 100));
  for (const char* name : {"rating", "distance", "breakfast", "noise"}) {
    EXPECT_TRUE(has_digits(column_of(table(), name), 10)) << name;
  }
  for (const char* name : {"stars", "reviews", "renovated"}) {
    EXPECT_TRUE(has_digits(column_of(table(), name), 1)) << name;
  }
}

TEST_F(Hotels, CostMoreWithStarsAndNearTheCentreAndAreRatedBetter) {
  const auto correlation_of = [&](const char* a, const char* b) {
    return correlation(column_of(table(), a), column_of(table(), b));
  };
  EXPECT_GT(correlation_of("price", "stars"), 0.5);
  EXPECT_LT(correlation_of("price", "distance"), -0.1);
  EXPECT_GT(correlation_of("rating", "stars"), 0.2);
  EXPECT_GT(correlation_of("breakfast", "rating"), 0.3);
  EXPECT_LT(correlation_of("noise", "distance"), -0.3);
  EXPECT_GT(correlation_of("rating", "renovated"), 0.1);
}

TEST(Gaussian, HasNoDirection) {
  const Table table = generate_table({.kind = TableKind::gaussian, .num_rows = 50000});
  for (std::size_t column = 0; column < 8; ++column) {
    const std::vector<double> values = column_of(table, column);
    EXPECT_NEAR(mean_of(values), 0, 0.02);
    EXPECT_NEAR(share_of(values, -1, 1), 0.683, 0.01);
    EXPECT_NEAR(correlation(values, column_of(table, (column + 1) % 8)), 0, 0.02);
  }
}

TEST(Weather, TiesAndGoesInPairs) {
  const Table table = generate_table({.kind = TableKind::weather, .num_rows = 20000});
  for (std::size_t column = 0; column < 8; column += 2) {
    const std::vector<double> values = column_of(table, column);
    EXPECT_LT(std::set<double>(values.begin(), values.end()).size(), 1000u);
    EXPECT_GT(correlation(values, column_of(table, column + 1)), 0.95);
    EXPECT_NEAR(correlation(values, column_of(table, (column + 2) % 8)), 0, 0.03);
  }
}

TEST(Heavytailed, HasOutliersOfBothSigns) {
  const Table table = generate_table({.kind = TableKind::heavytailed, .num_rows = 100000});
  const std::vector<double> values = column_of(table, 3);
  EXPECT_NEAR(share_of(values, -1.5, 1.5), 0.5, 0.05);
  EXPECT_LT(*std::min_element(values.begin(), values.end()), -1e4);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 1e4);
}

TEST(Sparse, IsZeroInNineteenOfTwenty) {
  const std::vector<double> values =
      column_of(generate_table({.kind = TableKind::sparse, .num_rows = 50000}), 2);
  EXPECT_NEAR(share_of(values, 0, 0), 0.95, 0.005);
  EXPECT_EQ(share_of(values, 0, 1), 1);
}

TEST(Series, IsMuchTheSameFromRowToRow) {
  const Table table =
      generate_table({.kind = TableKind::series, .num_rows = test::kSanitized ? 60000u : 300000u});
  for (std::size_t column = 0; column < 8; ++column) {
    std::vector<double> values = column_of(table, column);
    std::vector<double> next(values.begin() + 1, values.end());
    values.pop_back();
    EXPECT_GT(correlation(values, next), 0.9);
    const double mean = mean_of(values);
    EXPECT_LT(share_of(values, mean - 0.05, mean + 0.05), 0.6) << "waves, not noise alone";
  }
}

TEST(Compositional, IsDividedIntoSharesOfOne) {
  for (const int dims : {1, 2, 8, 64}) {
    const Table table =
        generate_table({.kind = TableKind::compositional, .num_rows = 2000, .num_attributes = dims});
    for (std::size_t row = 0; row < table.num_rows; ++row) {
      double sum = 0;
      for (std::size_t column = 0; column < table.columns.size(); ++column) {
        EXPECT_GE(value_at(table, column, row), 0);
        sum += value_at(table, column, row);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_NEAR(mean_of(column_of(table, 0)), 1.0 / dims, 0.02) << "no attribute is favoured";
  }
}

TEST(ParseTableKind, KnowsEveryKind) {
  EXPECT_EQ(parse_table_kind("independent"), TableKind::independent);
  EXPECT_EQ(parse_table_kind("correlated"), TableKind::correlated);
  EXPECT_EQ(parse_table_kind("anticorrelated"), TableKind::anticorrelated);
  EXPECT_EQ(parse_table_kind("ratings"), TableKind::ratings);
  EXPECT_EQ(parse_table_kind("zipf"), TableKind::zipf);
  EXPECT_EQ(parse_table_kind("clusters"), TableKind::clusters);
  EXPECT_EQ(parse_table_kind("hotels"), TableKind::hotels);
  EXPECT_EQ(parse_table_kind("gaussian"), TableKind::gaussian);
  EXPECT_EQ(parse_table_kind("weather"), TableKind::weather);
  EXPECT_EQ(parse_table_kind("heavytailed"), TableKind::heavytailed);
  EXPECT_EQ(parse_table_kind("sparse"), TableKind::sparse);
  EXPECT_EQ(parse_table_kind("series"), TableKind::series);
  EXPECT_EQ(parse_table_kind("compositional"), TableKind::compositional);
}

TEST(ParseTableKind, ListsTheKindsWhenItDoesNotKnowOne) {
  try {
    parse_table_kind("hotel");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(
        error.what(),
        "unknown kind of table \"hotel\"; known: independent, correlated, anticorrelated, ratings, zipf, "
        "clusters, hotels, gaussian, weather, heavytailed, sparse, series, compositional");
  }
}

}  // namespace
}  // namespace culmen
