// Loads of tables with gaps, filter and stored columns: what a row reads back as, what leaves and nodes say of it, and
// the values that stand in.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "index/build/bulk_load.h"
#include "index/build/stand_ins.h"
#include "index/node_zone_map.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Labels labels_of(const std::vector<std::string>& texts) {
  Labels labels;
  labels.offsets.push_back(0);
  for (const std::string& text : texts) {
    labels.bytes.insert(labels.bytes.end(), text.begin(), text.end());
    labels.offsets.push_back(labels.bytes.size());
  }
  return labels;
}

// A table of two attributes and a field of each kind, with gaps everywhere.
class RandomTable {
 public:
  RandomTable(std::size_t num_rows, std::uint64_t seed) : validity((num_rows + 7) / 8, 0xff) {
    std::mt19937_64 random(seed);
    std::vector<std::string> cities, notes;
    const auto hole = [&] { return random() % 7 == 0; };
    for (std::size_t r = 0; r < num_rows; ++r) {
      price.push_back(hole() ? kNan : static_cast<double>(random() % 1000));
      rating.push_back(static_cast<std::int32_t>(random() % 10));
      count.push_back(static_cast<std::int64_t>(random()));
      weight.push_back(hole() ? kNan : static_cast<double>(random() % 64) / 8 - 4);
      cities.push_back("city " + std::to_string(random() % 40));
      notes.push_back(std::string(random() % 30, 'x') + std::to_string(r));
      if (hole()) validity[r / 8] &= static_cast<std::uint8_t>(~(1u << r % 8));
    }
    city = labels_of(cities);
    note = labels_of(notes);
  }

  TableView view() const {
    TableView table;
    table.num_rows = price.size();
    table.attributes = {{.name = "price", .preference = Preference::low}, {.name = "rating"}};
    table.columns = {price, rating};
    table.columns[1].validity = {validity.data()};
    table.fields = {{.name = "count", .format = {.type = ColumnType::integer}},
                    {.name = "weight"},
                    {.name = "city", .format = {.type = ColumnType::text}},
                    {.name = "note", .role = FieldRole::stored, .format = {.type = ColumnType::text}}};
    ColumnView counts = count;
    counts.validity = {validity.data()};
    table.field_views = {counts, ColumnView(weight), TextView{city.view(), {validity.data()}},
                         TextView{note.view(), {}}};
    return table;
  }

  Row row(std::size_t r) const {
    const bool is_valid = !Validity{validity.data()}.is_missing(r);
    Row row = {static_cast<std::int64_t>(r), {price[r], is_valid ? rating[r] : kNan}, ""};
    row.fields.resize(4);
    if (is_valid) row.fields[0] = count[r];
    if (!std::isnan(weight[r])) row.fields[1] = weight[r];
    if (is_valid) row.fields[2] = std::string(city.view()[r]);
    row.fields[3] = std::string(note.view()[r]);
    return row;
  }

  std::vector<double> price, weight;
  std::vector<std::int32_t> rating;
  std::vector<std::int64_t> count;
  Labels city, note;
  std::vector<std::uint8_t> validity;
};

void expect_same(const Row& a, const Row& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.fields, b.fields);
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i)
    EXPECT_TRUE(a.values[i] == b.values[i] || (std::isnan(a.values[i]) && std::isnan(b.values[i])));
}

TEST(LoadFields, RowsReadBackAsTheyWereGiven) {
  for (const std::size_t num_rows : {1, 15, 700, 5000}) {
    const RandomTable table(num_rows, num_rows);
    const Index index = Index::build(table.view(), {.leaf_rows = 16});
    for (std::size_t r = 0; r < num_rows; ++r)
      expect_same(*index.get(static_cast<std::int64_t>(r)), table.row(r));
  }
}

TEST(LoadFields, LeavesAreWhatFilesMayHold) {
  const RandomTable table(3000, 1);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.leaf_rows = 32});
  const std::vector<std::uint32_t> sizes = {0, 0, s->dictionaries[2]->size(), 0};
  for (const std::uint32_t leaf : s->order().leaves)
    EXPECT_EQ(fault_of_leaf_fields(s->leaf_fields(leaf).bytes(), s->leaf(leaf).num_rows, 2, s->fields, sizes),
              "");
}

TEST(LoadFields, NodesKnowTheirChildren) {
  const RandomTable table(3000, 2);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.leaf_rows = 16});
  const ChildZonesRef root = s->arena->child_zones(s->root);
  const std::uint32_t num_children = s->node(s->root).header().num_children;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t r = 0; r < 3000; ++r)
    if (!Validity{table.validity.data()}.is_missing(r)) smallest = std::min(smallest, table.count[r]);
  const ColumnSummary counts = summary_of(root.zones(0), num_children);
  EXPECT_EQ(counts.minimum, smallest);
  EXPECT_TRUE(counts.some_missing && counts.some_present);
  EXPECT_NE(root.gaps(0).some_missing, 0u);
  EXPECT_EQ(summary_of(root.zones(2), num_children).maximum, std::int64_t{s->dictionaries[2]->size()} - 1);
}

TEST(LoadFields, ATableWithoutGapsAndFieldsHasNone) {
  const std::vector<float> a = {1, 2, 3};
  const std::shared_ptr<Snapshot> s =
      bulk_load({.num_rows = 3, .attributes = {{"a"}}, .columns = {a}, .ids = {}, .labels = {}}, {});
  EXPECT_TRUE(s->leaf_fields(0).empty());
}

TEST(LoadFields, StatisticsIgnoreWhatIsMissing) {
  const std::vector<double> a = {kNan, 3, 5, kNan};
  const std::vector<double> b(4, kNan);
  const TableView table = {
      .num_rows = 4, .attributes = {{"a"}, {"b"}}, .columns = {a, b}, .ids = {}, .labels = {}};
  const IndexInfo info = Index::build(table).info();
  EXPECT_EQ(info.attributes[0].minimum, 3);
  EXPECT_EQ(info.attributes[0].maximum, 5);
  EXPECT_TRUE(info.attributes[0].has_missing);
  EXPECT_EQ(info.attributes[0].stand_in_value, 3);
  EXPECT_EQ(info.attributes[1].maximum, 0);
  EXPECT_EQ(info.value_type, ValueType::float32);
}

double stand_in_of(StandIn policy, std::vector<double> values, Preference preference = Preference::high) {
  values.push_back(kNan);
  const TableView table = {
      .num_rows = values.size(),
      .attributes = {{.name = "a", .preference = preference, .stand_in = policy, .number = 7}},
      .columns = {values},
      .ids = {},
      .labels = {}};
  return Index::build(table, {.value_type = ValueType::float64}).info().attributes[0].stand_in_value;
}

TEST(StandIns, AreWhatTheAttributeSays) {
  EXPECT_EQ(stand_in_of(StandIn::worst, {4, 2, 9}), 2);
  EXPECT_EQ(stand_in_of(StandIn::worst, {4, 2, 9}, Preference::low), 9);
  EXPECT_EQ(stand_in_of(StandIn::number, {4, 2, 9}), 7);
  EXPECT_EQ(stand_in_of(StandIn::median, {4, 2, 9}), 4);
  EXPECT_EQ(stand_in_of(StandIn::median, {4, 2, 9, 5}), 4.5);
  EXPECT_EQ(stand_in_of(StandIn::mean, {4, 2, 9, 5}, Preference::low), 5);
  EXPECT_THROW(stand_in_of(StandIn::refuse, {1}), RowError);
}

TEST(StandIns, MeansAreRoundedOnce) {
  const std::vector<double> cancels = {1e308, 1, -1e308, 1e308, -1e308};
  EXPECT_EQ(exact_mean(cancels, false), 0.2);
  const std::vector<double> largest(3, std::numeric_limits<double>::max());
  EXPECT_EQ(exact_mean(largest, false), std::numeric_limits<double>::max());
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(exact_mean(std::vector<double>{tiny, 0}, false), 0);  // a tie goes to the even one
  EXPECT_EQ(exact_mean(std::vector<double>{tiny, tiny, tiny, 0}, false), tiny);
  // Just above the middle of two floats, which float64 would round to the middle.
  const double middle = 1 + 0x1p-24;
  const std::vector<double> above = {middle, middle, middle + 0x1p-52};
  EXPECT_EQ(exact_mean(above, true), 1 + 0x1p-23);
  EXPECT_EQ(exact_mean(std::vector<double>{middle}, true), 1);
}

TEST(StandIns, MeansOfSmallNumbersAreThoseOfLongDouble) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> values(1 + random() % 9);
    long double sum = 0;
    for (double& value : values) sum += value = static_cast<double>(random() % 2048) / 64 - 16;
    EXPECT_EQ(exact_mean(values, false), static_cast<double>(sum / static_cast<long double>(values.size())));
  }
}

}  // namespace
}  // namespace culmen
