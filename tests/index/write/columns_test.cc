// Batches of rows with fields and gaps, against a std::map: the rows, the statistics, the zones, and the columns that a
// batch may have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/read_row.h"
#include "culmen/error.h"
#include "index/build/bulk_load.h"
#include "index/node_zone_map.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/field_tables.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using RowsById = std::map<std::int64_t, culmen::Row>;

bool same_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

std::string fault_of_row(const Snapshot& s, std::uint64_t position, const RowsById& rows) {
  const culmen::Row found = read_row(s, position);
  const std::string name = "id " + std::to_string(found.id);
  const auto row = rows.find(found.id);
  if (row == rows.end()) return name + " should not be there";
  if (!same_numbers(found.values, row->second.values)) return "a value of " + name;
  if (found.fields != row->second.fields) return "a field of " + name;
  return found.label == row->second.label ? "" : "the label of " + name;
}

// Of the values that are there, as stored.
AttributeStats range_of(const RowsById& rows, std::size_t i, Preference preference) {
  AttributeStats range;
  bool has_value = false;
  for (const auto& [id, row] : rows) {
    if (std::isnan(row.values[i])) continue;
    const double value = oriented(row.values[i], preference);
    range.minimum = has_value ? std::min(range.minimum, value) : value;
    range.maximum = has_value ? std::max(range.maximum, value) : value;
    has_value = true;
  }
  return range;
}

bool same_range(const AttributeStats& a, const AttributeStats& b) {
  return a.minimum == b.minimum && a.maximum == b.maximum;
}

// What the root knows of a field, without codes of texts, which depend on earlier texts.
bool same_zones(const Snapshot& a, const Snapshot& b, std::size_t f) {
  const auto summary = [f](const Snapshot& s) {
    return summary_of(s.arena->child_zones(s.root).zones(f), s.node(s.root).header().num_children);
  };
  const ColumnSummary x = summary(a), y = summary(b);
  if (x.some_missing != y.some_missing || x.some_present != y.some_present) return false;
  return a.fields[f].is_text() || (x.minimum == y.minimum && x.maximum == y.maximum && x.set == y.set);
}

bool same_gaps(const Snapshot& a, const Snapshot& b, std::size_t i) {
  const ChildGaps &x = a.arena->child_zones(a.root).gaps(i), &y = b.arena->child_zones(b.root).gaps(i);
  return (x.some_missing != 0) == (y.some_missing != 0) && (x.some_present != 0) == (y.some_present != 0);
}

std::string fault_of_snapshot(const Snapshot& s, const RowsById& rows, Random& random) {
  if (const std::vector<std::string> faults = verify_snapshot(s, true); !faults.empty())
    return faults.front();
  if (s.num_rows != rows.size()) return "the number of rows";
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r)
      if (std::string fault = fault_of_row(s, leaf * static_cast<std::uint64_t>(s.leaf_rows) + r, rows);
          !fault.empty())
        return fault;
  for (std::size_t i = 0; i < s.attributes.size(); ++i)
    if (!same_range(s.stats[i], range_of(rows, i, s.attributes[i].preference)))
      return "the range of " + s.attributes[i].name;
  if (rows.empty()) return "";
  std::vector<culmen::Row> list;
  for (const auto& [id, row] : rows) list.push_back(row);
  const RowTable table(random, {s.attributes, s.has_labels, s.fields}, list);
  BuildOptions options = {.leaf_rows = s.leaf_rows, .value_type = s.value_type};
  for (std::size_t i = 0; i < s.attributes.size(); ++i)
    options.stand_ins.push_back(oriented(s.stand_ins[i], s.attributes[i].preference));
  const std::shared_ptr<Snapshot> fresh = bulk_load(table.view(), options);
  for (std::size_t i = 0; i < s.attributes.size(); ++i) {
    if (!same_range(s.stats[i], fresh->stats[i])) return "a fresh load's range of " + s.attributes[i].name;
    if (!same_gaps(s, *fresh, i)) return "the gaps of " + s.attributes[i].name;
  }
  for (std::size_t f = 0; f < s.fields.size(); ++f)
    if (!same_zones(s, *fresh, f)) return "the zones of " + s.fields[f].name;
  return "";
}

// An index with a random schema, in memory or in a directory, and its rows.
class ChangingIndex {
 public:
  explicit ChangingIndex(std::uint64_t seed)
      : random_(seed),
        precision_(random_.pick({Precision::float32, Precision::float64})),
        source_(random_, precision_, random_width(random_, 8)) {
    const std::vector<culmen::Row> rows = source_.draw_many(random_.pick<std::size_t>({0, 1, 40, 500, 3000}));
    const RowTable table(random_, source_.schema(), rows);
    for (const culmen::Row& row : rows) rows_[row.id] = row;
    const BuildOptions options{
        .partitioning = random_.pick({Partitioning::automatic, Partitioning::angle, Partitioning::random}),
        .num_partitions = random_.pick({0, 1, 40}),
        .leaf_rows = random_.pick({16, 16, 96}),
        .value_type = precision_ == Precision::float32 ? ValueType::float32 : ValueType::float64};
    const std::shared_ptr<Snapshot> first = bulk_load(table.view(), options);
    in_directory_ = random_.chance(0.4);
    if (!in_directory_) {
      index_ = std::make_unique<LiveIndex>(first);
    } else {
      storage::save(*first, files_, "index", false);
    }
  }

  std::shared_ptr<const Snapshot> now() const { return index_->published()->get(); }

  // The first fault; empty: none.
  std::string run() {
    try {
      return live();
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  std::string live() {
    if (in_directory_) reopen();
    if (std::string fault = check(); !fault.empty()) return "loaded: " + fault;
    for (int batches = random_.between(3, 12); batches > 0; --batches) {
      write();
      if (in_directory_ && random_.chance(0.2)) reopen();
      if (random_.chance(0.05)) index_->compact();
      if (std::string fault = check(); !fault.empty())
        return std::to_string(batches) + " batches left: " + fault;
    }
    if (!in_directory_) return "";
    reopen();
    return check();
  }

  void reopen() {
    if (index_ != nullptr) index_->close();
    index_.reset();
    index_ = std::make_unique<LiveIndex>(files_, "index",
                                         OpenOptions{.writable = true, .durability = Durability::batch});
  }

  std::string check() {
    const std::shared_ptr<const Snapshot> s = now();
    if (!stand_ins_.empty() && !same_numbers(s->stand_ins, stand_ins_)) return "the stand-ins changed";
    stand_ins_ = s->stand_ins;
    if (stand_ins_.empty() && !rows_.empty()) return "no stand-ins";
    return fault_of_snapshot(*s, rows_, random_);
  }

  std::vector<std::int64_t> some_ids(std::size_t count) {
    std::vector<std::int64_t> ids;
    for (const auto& [id, row] : rows_)
      if (random_.below(rows_.size()) < count) ids.push_back(id);
    return ids;
  }

  // Sometimes the table lacks fields.
  TableView without_fields(TableView table, std::vector<culmen::Row>& rows) {
    for (std::size_t f = table.fields.size(); f-- > 0;) {
      if (!random_.chance(0.1)) continue;
      for (std::size_t known = 0; known < source_.schema().fields.size(); ++known)
        if (source_.schema().fields[known].name == table.fields[f].name)
          for (culmen::Row& row : rows) row.fields[known] = std::monostate();
      table.fields.erase(table.fields.begin() + static_cast<std::ptrdiff_t>(f));
      table.field_views.erase(table.field_views.begin() + static_cast<std::ptrdiff_t>(f));
    }
    return table;
  }

  void write() {
    source_.grow();
    const std::size_t most = random_.pick<std::size_t>({2, 10, 100, rows_.size() + 2});
    const std::size_t count = 1 + random_.below(most);
    std::vector<culmen::Row> inserted, upserted;
    for (std::size_t i = 0; i < count; ++i)
      if (culmen::Row row = source_.draw(); rows_.count(row.id) == 0) inserted.push_back(std::move(row));
    for (const std::int64_t id : some_ids(count / 2)) upserted.push_back(source_.draw(id));
    const std::vector<std::int64_t> erased = some_ids(random_.chance(0.1)   ? 2 * rows_.size()
                                                      : random_.chance(0.3) ? 2 * count
                                                                            : count / 2);
    const RowTable first(random_, source_.schema(), inserted, {true, random_.chance(0.3)});
    const RowTable second(random_, source_.schema(), upserted, {true, random_.chance(0.3)});
    WriteBatch batch;
    batch.insert(without_fields(first.view(), inserted));
    batch.upsert(without_fields(second.view(), upserted));
    batch.erase(erased);
    index_->write(batch, {});
    for (const culmen::Row& row : inserted) rows_[row.id] = row;
    for (const culmen::Row& row : upserted) rows_[row.id] = row;
    for (const std::int64_t id : erased) rows_.erase(id);
  }

  Random random_;
  Precision precision_;
  RowSource source_;
  RowsById rows_;
  std::vector<double> stand_ins_;
  bool in_directory_ = false;
  storage::MemoryFileSystem files_;
  std::unique_ptr<LiveIndex> index_;
};

TEST(WriteColumns, LeavesTheRowsStatisticsAndZonesOfAFreshLoad) {
  const std::uint64_t num_seeds = num_cases(200), only = only_seed();
  for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
    if (only != 0 && seed != only) continue;
    ASSERT_EQ(ChangingIndex(seed).run(), "") << rerun_command(seed, "write_test", "WriteColumns.Leaves*");
  }
}

// ---- One index

// Two attributes and a field of each kind that a batch treats in its own way.
std::shared_ptr<Snapshot> shop(const std::vector<double>& prices = {3, 1, 2}) {
  const std::vector<double> ratings(prices.size(), 0.5);
  TableView table;
  table.num_rows = prices.size();
  table.attributes = {{"price", Preference::low}, {"rating"}};
  table.attributes[1].stand_in = StandIn::refuse;
  table.columns = {prices, ratings};
  const std::vector<std::int64_t> days(prices.size(), 100);
  std::vector<std::uint64_t> ends(prices.size() + 1);
  table.fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                  {"new", FieldRole::filter, {ColumnType::boolean}},
                  {"count", FieldRole::filter, {ColumnType::integer}},
                  {"sold", FieldRole::filter, {ColumnType::timestamp, TimeUnit::millisecond, "UTC"}},
                  {"weight"}};
  const std::vector<std::int64_t> ones(prices.size(), 1);
  const std::vector<double> weights(prices.size(), 0.25);
  table.field_views = {TextView{{{}, ends}, {}}, ColumnView(ones), ColumnView(days), ColumnView(days),
                       ColumnView(weights)};
  return bulk_load(table, {.leaf_rows = 16, .value_type = ValueType::float64});
}

struct Goods {
  std::vector<double> prices = {7, 8}, ratings = {1, 2};
  std::vector<std::int32_t> is_new = {0, 1}, counts = {5, 6};
  std::vector<std::int64_t> sold = {1000, 2000};
  std::vector<double> weights = {0.5, kNan};
  std::vector<char> brand_bytes = {'a', 'b', 'a'};
  std::vector<std::uint64_t> brand_ends = {0, 1, 3};
  std::vector<std::uint8_t> brand_validity = {0xff};

  TableView view() const {
    TableView table;
    table.num_rows = prices.size();
    table.attributes = {{"rating"}, {"price"}};
    table.columns = {ratings, prices};
    table.fields = {
        {"weight"},
        {"sold", FieldRole::filter, {ColumnType::timestamp, TimeUnit::millisecond, "Europe/Paris"}},
        {"count", FieldRole::filter, {ColumnType::integer}},
        {"new", FieldRole::filter, {ColumnType::boolean}},
        {"brand", FieldRole::filter, {ColumnType::text}}};
    table.field_views = {ColumnView(weights), ColumnView(sold), ColumnView(counts), ColumnView(is_new),
                         TextView{{brand_bytes, brand_ends}, {brand_validity.data()}}};
    return table;
  }
};

class WriteColumnsOf : public testing::Test {
 protected:
  culmen::Row row(std::int64_t id) const {
    const std::shared_ptr<const Snapshot> s = index.published()->get();
    for (const std::uint32_t leaf : s->order().leaves)
      for (std::uint32_t r = 0; r < s->leaf(leaf).num_rows; ++r)
        if (s->leaf_ids(leaf)[r] == id)
          return read_row(*s, leaf * static_cast<std::uint64_t>(s->leaf_rows) + r);
    return {};
  }
  void insert(const TableView& table) { index.write(WriteBatch().insert(table), {}); }
  std::string refusal(const TableView& table) {
    try {
      insert(table);
    } catch (const Error& error) {
      return error.what();
    }
    return "taken";
  }

  LiveIndex index{shop()};
};

TEST_F(WriteColumnsOf, MatchesThemByName) {
  insert(Goods().view());
  EXPECT_EQ(row(3).values, (std::vector<double>{7, 1}));
  EXPECT_EQ(row(3).fields, (std::vector<FieldValue>{std::string("a"), std::int64_t{0}, std::int64_t{5},
                                                    std::int64_t{1000}, 0.5}));
  EXPECT_EQ(row(4).fields, (std::vector<FieldValue>{std::string("ba"), std::int64_t{1}, std::int64_t{6},
                                                    std::int64_t{2000}, std::monostate()}));
}

TEST_F(WriteColumnsOf, MissesFieldsThatTheTableLacks) {
  const Goods goods;
  TableView table = goods.view();
  table.fields.clear();
  table.field_views.clear();
  insert(table);
  EXPECT_EQ(row(3).fields, std::vector<FieldValue>(5));
}

// A numeric table does not know which columns are ranked, nor what its numbers mean.
TEST_F(WriteColumnsOf, TakesFieldsAmongTheAttributesAndAttributesAmongTheFields) {
  const Goods goods;
  const std::vector<double> flags = {0, kNan}, counts = {5, 6}, sold = {1000, 2000};
  TableView table;
  table.num_rows = 2;
  table.attributes = {{"new"}, {"count"}, {"sold"}, {"rating"}};
  table.columns = {flags, counts, sold, goods.ratings};
  table.fields = {{"price"}};
  table.field_views = {ColumnView(goods.prices)};
  insert(table);
  EXPECT_EQ(row(3).values, (std::vector<double>{7, 1}));
  EXPECT_EQ(row(3).fields, (std::vector<FieldValue>{std::monostate(), std::int64_t{0}, std::int64_t{5},
                                                    std::int64_t{1000}, std::monostate()}));
  EXPECT_EQ(row(4).fields[1], FieldValue());
}

TEST_F(WriteColumnsOf, ConvertsUnitsOfTime) {
  Goods goods;
  TableView table = goods.view();
  table.fields[1].format.unit = TimeUnit::second;
  insert(table);
  EXPECT_EQ(row(4).fields[3], FieldValue(std::int64_t{2'000'000}));
  table.fields[1].format.unit = TimeUnit::microsecond;
  insert(table);
  EXPECT_EQ(row(5).fields[3], FieldValue(std::int64_t{1}));
  goods.sold[1] = 2001;
  EXPECT_EQ(
      refusal(table),
      "row 2: column \"sold\": 2001 microseconds cannot be stored as milliseconds, the unit in the index");
  goods.sold[1] = kHighestInt;
  table.fields[1].format.unit = TimeUnit::second;
  EXPECT_TRUE(refusal(table).starts_with("row 2: column \"sold\""));
}

TEST_F(WriteColumnsOf, RefusesColumnsThatAreUnknownOrLackOrAreOfAnotherKind) {
  const Goods goods;
  const auto changed = [&](auto&& change) {
    TableView table = goods.view();
    change(table);
    return refusal(table);
  };
  EXPECT_EQ(changed([](TableView& table) { table.fields[0].name = "weigth"; }),
            "the index has no column \"weigth\"; it has price, rating, brand, new, count, sold, weight");
  EXPECT_EQ(changed([](TableView& table) { table.attributes[0].name = "stars"; }),
            "no column \"rating\"; the index has price, rating, brand, new, count, sold, weight");
  EXPECT_EQ(changed([](TableView& table) { table.fields[0].name = "price"; }),
            "column \"price\" is given twice");
  EXPECT_EQ(changed([&](TableView& table) {
              table.fields[4].format = {};
              table.field_views[4] = ColumnView(goods.weights);
            }),
            "column \"brand\" has numbers; in the index it has texts");
  EXPECT_EQ(changed([](TableView& table) {
              table.fields[4].name = "count";
              table.fields[2].name = "brand";
            }),
            "column \"brand\" has integers; in the index it has texts");
  EXPECT_EQ(changed([](TableView& table) { table.fields[2].format.type = ColumnType::date; }),
            "column \"count\" has dates; in the index it has integers");
  EXPECT_EQ(changed([](TableView& table) { table.fields[1].format.time_zone = ""; }),
            "column \"sold\" has timestamps without a time zone; in the index they have one");
  EXPECT_EQ(index.published()->get()->num_rows, 3u);
}

TEST_F(WriteColumnsOf, RefusesValuesThatTheirColumnCannotHave) {
  Goods goods;
  goods.weights[1] = kInfinity;
  EXPECT_EQ(refusal(goods.view()), "row 2: column \"weight\": infinity is not a value; a missing one is NaN");
  goods = {};
  goods.is_new[1] = 2;
  EXPECT_EQ(refusal(goods.view()), "row 2: column \"new\": 2 is not a boolean: 0 or 1");
  goods = {};
  goods.ratings[0] = kNan;
  EXPECT_EQ(refusal(goods.view()),
            "row 1: column \"rating\": the value is missing; drop the row, or choose what stands in");
  goods = {};
  const std::vector<double> halves = {1, 2.5};
  TableView table = goods.view();
  table.field_views[2] = ColumnView(halves);
  EXPECT_EQ(refusal(table), "row 2: column \"count\": 2.5 is not a 64-bit integer");
}

TEST(WriteTimes, HoldOnlyWhatTextsAndNumPyHave) {
  const std::vector<double> values = {1, 2};
  TableView table;
  table.num_rows = 2;
  table.attributes = {{.name = "a"}};
  table.columns = {values};
  const auto refusal_as_field = [&](ColumnType type, const auto& times) {
    table.fields = {{"t", FieldRole::filter, {type}}};
    table.field_views = {ColumnView(times)};
    return error_of<RowError>([&] { (void)bulk_load(table, {}); });
  };
  const auto refusal_as_attribute = [&](ColumnType type, const auto& times) {
    TableView ranked = table;
    ranked.attributes = {{.name = "t", .format = {type}}};
    ranked.columns = {ColumnView(times)};
    ranked.fields.clear();
    ranked.field_views.clear();
    return error_of<RowError>([&] { (void)bulk_load(ranked, {}); });
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kLastDay = 0x7fffffff;
  const std::vector<std::int64_t> no_times = {kLeast + 1, kLeast}, days = {-kLastDay - 1, kLastDay},
                                  far_days = {0, kLastDay + 1};
  const std::string no_time =
      "row 2: column \"t\": -9223372036854775808 units of time are no timestamp: from -2^63 + 1 to 2^63 - 1 "
      "are, "
      "and -2^63 is NumPy's NaT";
  EXPECT_EQ(refusal_as_field(ColumnType::timestamp, no_times), no_time);
  EXPECT_EQ(refusal_as_field(ColumnType::timestamp, std::vector<double>{0, -0x1p63}), no_time);
  EXPECT_EQ(refusal_as_attribute(ColumnType::timestamp, std::vector<std::int64_t>{0, kLeast}), no_time);
  EXPECT_EQ(refusal_as_field(ColumnType::integer, no_times), "no exception");
  const std::string no_day =
      "row 2: column \"t\": 2147483648 days since 1970 are beyond the dates, which end with the year 5881580";
  EXPECT_EQ(refusal_as_field(ColumnType::date, days), "no exception");
  EXPECT_EQ(refusal_as_attribute(ColumnType::date, days), "no exception");
  EXPECT_EQ(refusal_as_field(ColumnType::date, far_days), no_day);
  EXPECT_EQ(refusal_as_attribute(ColumnType::date, far_days), no_day);
  EXPECT_EQ(refusal_as_attribute(ColumnType::date, std::vector<float>{1, 2.5}),
            "row 2: column \"t\": 2.5 is no whole number of days");
  EXPECT_EQ(refusal_as_attribute(ColumnType::timestamp, std::vector<double>{1, 2.5}),
            "row 2: column \"t\": 2.5 is no whole number of units of time");
  EXPECT_EQ(refusal_as_attribute(ColumnType::timestamp, std::vector<float>{1, std::nanf("")}),
            "no exception");
}

// The minimum and maximum are those of real values, though the stand-in of a low attribute is its worst.
TEST_F(WriteColumnsOf, IgnoresStandInsInStatistics) {
  const auto range = [&] {
    const AttributeStats stats = index.published()->get()->stats[0];
    return std::pair(-stats.maximum, -stats.minimum);  // as given
  };
  Goods goods;
  goods.prices = {kNan, kNan};
  insert(goods.view());
  EXPECT_EQ(range(), std::pair(1.0, 3.0));
  EXPECT_TRUE(std::isnan(row(3).values[0]));
  const std::vector<std::int64_t> dearest = {0}, others = {1, 2};
  index.write(WriteBatch().erase(dearest), {});
  EXPECT_EQ(range(), std::pair(1.0, 2.0));
  index.write(WriteBatch().erase(others), {});
  EXPECT_EQ(range(), std::pair(0.0, 0.0));
  EXPECT_EQ(index.published()->get()->stand_ins[0], -3);
  goods.prices = {8, kNan};
  insert(goods.view());
  EXPECT_EQ(range(), std::pair(8.0, 8.0));
  EXPECT_EQ(index.published()->get()->stand_ins[0], -3);
}

// The same again in an index that no batch reloads.
TEST(WriteColumns, FindTheRangeOfAnAttributeThatLosesAllItsValues) {
  std::vector<double> prices(1000, kNan);
  prices[500] = 4;
  LiveIndex index(shop(prices));
  const SlotArena* const arena = index.published()->get()->arena.get();
  const auto range = [&] {
    const AttributeStats stats = index.published()->get()->stats[0];
    return std::pair(-stats.maximum, -stats.minimum);
  };
  EXPECT_EQ(range(), std::pair(4.0, 4.0));
  const std::vector<std::int64_t> last = {500};
  index.write(WriteBatch().erase(last), {});
  EXPECT_EQ(range(), std::pair(0.0, 0.0));
  Goods goods;
  index.write(WriteBatch().insert(goods.view()), {});
  EXPECT_EQ(range(), std::pair(7.0, 8.0));
  EXPECT_EQ(index.published()->get()->arena.get(), arena);
  EXPECT_TRUE(verify_snapshot(*index.published()->get(), true).empty());
}

// Pages for empty partitions split full nodes, also ones with pages that have no rows yet. The children of the nodes
// above move, and so must what these know of them.
TEST(WriteColumns, MoveWithTheChildrenOfNodesThatAddedPagesSplit) {
  for (const bool has_fields : {false, true}) {
    Random random(3);
    std::vector<double> a, b;
    for (std::size_t r = 0; r < 4000; ++r) {
      a.push_back(random.between(-500, 500));
      b.push_back(std::fmod(std::fabs(a.back()), 7) < 3 ? kNan : random.between(-500, 500));
    }
    const auto view = [&](std::span<const double> as, std::span<const double> bs) {
      TableView table;
      table.num_rows = as.size();
      table.attributes = {{"a"}, {"b"}};
      table.columns = {as, bs};
      if (has_fields) table.fields = {{"c"}};
      if (has_fields) table.field_views = {ColumnView(bs)};
      return table;
    };
    LiveIndex index(
        bulk_load(view(a, b), {.partitioning = Partitioning::kd, .num_partitions = 300, .leaf_rows = 16}));
    const auto now = [&index] { return index.published()->get(); };
    const SlotArena* const arena = now()->arena.get();
    int num_split = 0;
    for (const std::uint32_t num_partitions : {1, 1, 1, 20, 20, 20}) {
      const std::shared_ptr<const Snapshot> s = now();
      const TreeOrder& order = s->order();
      std::vector<std::int64_t> erased, back;
      const auto first = static_cast<std::uint32_t>(random.below(order.partitions.size() - num_partitions));
      for (std::uint32_t l = 0; l < order.leaves.size(); ++l) {
        const LeafHeader& leaf = s->leaf(order.leaves[l]);
        if (leaf.partition < first || leaf.partition >= first + num_partitions) continue;
        const std::span ids(s->leaf_ids(order.leaves[l]), leaf.num_rows);
        erased.insert(erased.end(), ids.begin(), ids.end());
        if (order.partitions[leaf.partition].first_leaf == l) back.push_back(ids.front());
      }
      index.write(WriteBatch().erase(erased), {});
      const std::uint64_t num_nodes = now()->num_nodes;
      std::vector<double> as, bs;
      for (const std::int64_t id : back) as.push_back(a[static_cast<std::size_t>(id)]);
      for (const std::int64_t id : back) bs.push_back(b[static_cast<std::size_t>(id)]);
      TableView rows = view(as, bs);
      rows.ids = back;
      index.write(WriteBatch().insert(rows), {});
      num_split += now()->num_nodes > num_nodes ? 1 : 0;
      const std::vector<std::string> faults = verify_snapshot(*now(), true);
      ASSERT_EQ(faults.empty() ? "" : faults.front(), "") << num_partitions;
    }
    EXPECT_GT(num_split, 0);
    EXPECT_EQ(now()->arena.get(), arena);
  }
}

// Sums of the values are exact, but not those with the stand-in.
TEST(WriteColumns, LoosenBoundsOnceAStandInMayRound) {
  TableView table;
  std::vector<std::vector<double>> columns(3);
  for (std::size_t r = 0; r < 2000; ++r)
    for (std::size_t i = 0; i < 3; ++i) columns[i].push_back(static_cast<double>((r * 7 + i) % 5));
  table.num_rows = 2000;
  table.attributes = {{"a"}, {"b"}, {"c"}};
  table.attributes[1].stand_in = StandIn::number;
  table.attributes[1].number = 0.1;
  table.columns = {columns[0], columns[1], columns[2]};
  LiveIndex index(bulk_load(table, {.leaf_rows = 16, .value_type = ValueType::float64}));
  ASSERT_TRUE(index.published()->get()->exact_sums);
  for (std::vector<double>& column : columns) column.resize(1);
  columns[1][0] = kNan;
  table.num_rows = 1;
  table.columns = {columns[0], columns[1], columns[2]};
  index.write(WriteBatch().insert(table), {});
  EXPECT_FALSE(index.published()->get()->exact_sums);
  EXPECT_TRUE(verify_snapshot(*index.published()->get(), true).empty());
}

// A dictionary grows with the batches and forgets texts at a reload; earlier versions keep theirs.
TEST_F(WriteColumnsOf, GivesEachVersionItsDictionary) {
  const std::shared_ptr<const Snapshot> before = index.published()->get();
  EXPECT_EQ(before->dictionaries[0]->size(), 1u);  // the empty text
  insert(Goods().view());
  EXPECT_EQ(index.published()->get()->dictionaries[0]->size(), 3u);
  EXPECT_EQ(before->dictionaries[0]->size(), 1u);
  const std::vector<std::int64_t> without_ba = {4};
  index.write(WriteBatch().erase(without_ba), {});
  index.compact();
  EXPECT_EQ(index.published()->get()->dictionaries[0]->size(), 2u);
  EXPECT_EQ(row(3).fields[0], FieldValue(std::string("a")));
}

}  // namespace
}  // namespace culmen::test
