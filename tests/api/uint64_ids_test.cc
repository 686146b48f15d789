// Indexes whose ids are uint64: what they answer, keep and refuse, with ids on both sides of 2^63.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "culmen/update.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

// Near the ends of both halves, or anywhere.
std::uint64_t random_number(Random& random) {
  const auto near = static_cast<std::uint64_t>(random.between(0, 40));
  switch (random.between(0, 4)) {
    case 0:
      return near;
    case 1:
      return kHalf - 20 + near;
    case 2:
      return kLargest - near;
    default:
      return random.next();
  }
}

// Rows by their numbers, whose few values make most scores tie.
using Rows = std::map<std::uint64_t, std::vector<double>>;

constexpr std::size_t kNumAttributes = 2;

std::vector<double> random_values(Random& random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kNumAttributes; ++i) values.push_back(random.between(0, 2));
  return values;
}

Rows random_rows(Random& random, int num_rows) {
  Rows rows;
  for (int i = 0; i < num_rows; ++i) rows[random_number(random)] = random_values(random);
  return rows;
}

// The rows as a table of uint64 ids, in an order that is not theirs.
struct RowTable {
  RowTable(const Rows& rows, Random& random) {
    std::vector<std::uint64_t> numbers;
    for (const auto& row : rows) numbers.push_back(row.first);
    for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    for (const std::uint64_t number : numbers) {
      ids.push_back(id_of_uint64(number));
      values.insert(values.end(), rows.at(number).begin(), rows.at(number).end());
    }
  }

  TableView view() const {
    TableView table = row_major_table(std::span<const double>(values), {{"a"}, {"b"}});
    table.num_rows = ids.size();
    table.ids = ids;
    table.id_type = IdType::uint64;
    return table;
  }

  std::vector<std::int64_t> ids;
  std::vector<double> values;
};

struct Expected {
  std::uint64_t number;
  double score;

  friend bool operator==(const Expected&, const Expected&) = default;
};

// The answer by the numbers themselves: largest score first, then the smaller number.
template <typename Passes>
std::vector<Expected> best_of(const Rows& rows, const std::vector<double>& weights, std::size_t k,
                              const Passes& passes) {
  std::vector<Expected> best;
  for (const auto& [number, values] : rows)
    if (passes(number)) best.push_back({number, weights[0] * values[0] + weights[1] * values[1]});
  std::ranges::stable_sort(best, [](const Expected& a, const Expected& b) { return a.score > b.score; });
  if (best.size() > k) best.resize(k);
  return best;
}

std::vector<Expected> numbers_of(const std::vector<Hit>& hits) {
  std::vector<Expected> found;
  for (const Hit& hit : hits) found.push_back({uint64_of_id(hit.id), hit.score});
  return found;
}

Literal literal_of(std::uint64_t number) {
  return number < kHalf ? Literal(static_cast<std::int64_t>(number)) : Literal(LargeInteger{number});
}

template <typename AnyIndex>
void check_searches(const AnyIndex& index, const Rows& rows, Random& random) {
  const std::vector<double> weights = {static_cast<double>(random.between(-2, 2)), 1};
  const auto k = static_cast<std::size_t>(random.between(1, 30));
  const std::uint64_t limit = random_number(random);
  // Halves, and numbers that round to 2^64.
  const double rounded = static_cast<double>(limit) + random.pick({-0.5, 0.0, 0.5});
  std::vector<std::int64_t> wanted;
  for (const auto& row : rows)
    if (random.chance(0.3)) wanted.push_back(id_of_uint64(row.first));
  const IdSet set(wanted, IdType::uint64);
  for (const Engine engine : kEngines) {
    SCOPED_TRACE(std::string(engine_name(engine)));
    const SearchOptions options = {.engine = engine};
    Query query{.weights = weights, .k = k};
    EXPECT_EQ(numbers_of(index.search(query, options).hits),
              best_of(rows, weights, k, [](std::uint64_t) { return true; }));
    query.where = id_col() < literal_of(limit);
    EXPECT_EQ(numbers_of(index.search(query, options).hits),
              best_of(rows, weights, k, [&](std::uint64_t number) { return number < limit; }));
    query.where = id_col() >= rounded;
    EXPECT_EQ(numbers_of(index.search(query, options).hits),
              best_of(rows, weights, k, [&](std::uint64_t number) {
                return static_cast<long double>(number) >= static_cast<long double>(rounded);
              }));
    query.where = Filter::ids_in(set);
    EXPECT_EQ(
        numbers_of(index.search(query, options).hits),
        best_of(rows, weights, k, [&](std::uint64_t number) { return set.contains(id_of_uint64(number)); }));
    query.where = {};
    const std::vector<Expected> all = best_of(rows, weights, rows.size(), [](std::uint64_t) { return true; });
    if (all.empty()) continue;
    const auto last = random.below(all.size());
    query.after = Cursor{all[last].score, id_of_uint64(all[last].number)};
    const std::vector<Expected> page(
        all.begin() + static_cast<std::ptrdiff_t>(last) + 1,
        all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), last + 1 + k)));
    EXPECT_EQ(numbers_of(index.search(query, options).hits), page);
    query.after = std::nullopt;
    const std::optional<RowRank> rank = index.rank_of(query, id_of_uint64(all[last].number), options);
    ASSERT_TRUE(rank);
    EXPECT_EQ(rank->rank, last + 1);
  }
}

template <typename AnyIndex>
void check_rows(const AnyIndex& index, const Rows& rows) {
  std::vector<std::int64_t> ids;
  for (const auto& row : rows) ids.push_back(id_of_uint64(row.first));
  ids.push_back(id_of_uint64(kHalf + 12'345));
  const std::vector<std::optional<Row>> found = index.get(ids);
  std::size_t i = 0;
  for (const auto& [number, values] : rows) {
    ASSERT_TRUE(found[i]) << number;
    EXPECT_EQ(uint64_of_id(found[i]->id), number);
    EXPECT_EQ(found[i++]->values, values) << number;
  }
  EXPECT_EQ(found.back().has_value(), rows.contains(kHalf + 12'345));
  EXPECT_EQ(index.verify(true), std::vector<std::string>{});
}

// Erases, replaces and inserts some rows.
template <typename AnyIndex>
void change(AnyIndex& index, Rows& rows, Random& random) {
  std::vector<std::int64_t> erased;
  for (auto row = rows.begin(); row != rows.end();) {
    if (!random.chance(0.2)) {
      ++row;
      continue;
    }
    erased.push_back(id_of_uint64(row->first));
    row = rows.erase(row);
  }
  EXPECT_EQ(index.erase(erased), erased.size());
  const Rows added = random_rows(random, random.between(1, 40));
  for (const auto& [number, values] : added) rows[number] = values;
  index.upsert(RowTable(added, random).view());
}

TEST(Uint64Ids, AnswersAreThoseOfTheNumbers) {
  const std::uint64_t only = only_seed();
  for (std::uint64_t seed = 1; seed <= num_cases(60); ++seed) {
    if (only != 0 && seed != only) continue;
    SCOPED_TRACE(rerun_command(seed, "api_test", "Uint64Ids.*"));
    Random random(seed);
    Rows rows = random_rows(random, random.pick({1, 20, 400}));
    const TemporaryDirectory directory;
    const Partitioning partitioning =
        random.pick({Partitioning::kd, Partitioning::angle, Partitioning::random});
    Index index =
        Index::build(RowTable(rows, random).view(),
                     random_build_options(random, partitioning, ValueType::automatic, kNumAttributes));
    EXPECT_EQ(index.schema().id_type, IdType::uint64);
    check_searches(index, rows, random);
    check_rows(index, rows);
    index.save(directory.path() / "index");
    Index opened = Index::open(directory.path() / "index", {.writable = true});
    EXPECT_EQ(opened.schema().id_type, IdType::uint64);
    change(opened, rows, random);
    check_searches(opened, rows, random);
    check_rows(opened, rows);
    if (random.chance(0.5)) opened.compact();
    opened.close();
    const Loading loading = random.pick({Loading::whole, Loading::on_touch});
    const Index again = Index::open(directory.path() / "index", {.loading = loading});
    EXPECT_EQ(again.schema().id_type, IdType::uint64);
    check_searches(again, rows, random);
    check_rows(again, rows);
    if (HasFailure()) return;
  }
}

TEST(Uint64Ids, AnswersOfShardsAreThoseOfTheNumbers) {
  const std::uint64_t only = only_seed();
  for (std::uint64_t seed = 1; seed <= num_cases(20); ++seed) {
    if (only != 0 && seed != only) continue;
    SCOPED_TRACE(rerun_command(seed, "api_test", "Uint64Ids.*"));
    Random random(seed);
    Rows rows = random_rows(random, random.pick({1, 20, 200}));
    const TemporaryDirectory directory;
    const std::filesystem::path path = directory.path() / "index";
    ShardedIndex::build(RowTable(rows, random).view(), path,
                        {.num_shards = static_cast<std::uint32_t>(random.between(1, 4))});
    ShardedIndex index = ShardedIndex::open(path, {.writable = true});
    change(index, rows, random);
    check_searches(index, rows, random);
    check_rows(index, rows);
    EXPECT_THROW(index.reserve_ids(1), InvalidArgument);
    index.close();
    const ShardedIndex again = ShardedIndex::open(path);
    EXPECT_EQ(again.info().next_id, 0);
    EXPECT_EQ(again.schema().id_type, IdType::uint64);
    check_searches(again, rows, random);
    if (HasFailure()) return;
  }
}

void expect_words(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(Uint64Ids, TablesOfOtherIdsAreRefused) {
  Random random(1);
  const RowTable table(Rows{{7, {1, 1}}, {kLargest, {2, 1}}}, random);
  Index index = Index::build(table.view());
  TableView other = table.view();
  other.id_type = IdType::int64;
  const std::string mismatch = "the ids of the rows are int64, those of the index uint64";
  expect_words(error_of<InvalidArgument>([&] { index.upsert(other); }), mismatch);
  expect_words(error_of<InvalidArgument>([&] { update(index, other); }), mismatch);
  other.ids = {};
  expect_words(error_of<InvalidArgument>([&] { index.insert(other); }), "give the rows ids");
  other.id_type = IdType::uint64;
  expect_words(error_of<InputError>([&] { static_cast<void>(Index::build(other)); }), "has none");
  Index signed_index = Index::create({.attributes = {{"a"}, {"b"}}}, {.value_type = ValueType::float32});
  expect_words(error_of<InvalidArgument>([&] { signed_index.upsert(table.view()); }),
               "the ids of the rows are uint64, those of the index int64");
  expect_words(error_of<RowError>([&] { index.insert(table.view()); }), "is already in the index");
  expect_words(error_of<InputError>([&] {
                 const std::int64_t twice[] = {id_of_uint64(kLargest), id_of_uint64(kLargest)};
                 TableView repeated = table.view();
                 repeated.ids = twice;
                 static_cast<void>(Index::build(repeated));
               }),
               "id 18446744073709551615 stands in rows 1 and 2");
  const Index shards[] = {signed_index, index};
  expect_words(error_of<FormatError>([&] { static_cast<void>(ShardedIndex::of(shards)); }),
               "its ids are uint64, those of shard 0 int64");
}

TEST(Uint64Ids, UpdatesKeepOtherColumns) {
  Random random(1);
  Index index = Index::build(RowTable(Rows{{7, {1, 3}}, {kLargest, {2, 4}}}, random).view());
  const std::int64_t ids[] = {id_of_uint64(kLargest)};
  const std::vector<double> values = {9};
  TableView table = row_major_table(std::span<const double>(values), {{"a"}});
  table.ids = ids;
  table.id_type = IdType::uint64;
  EXPECT_EQ(update(index, table).replaced, 1u);
  EXPECT_EQ(index.get(ids)[0]->values, (std::vector<double>{9, 4}));
  const std::int64_t absent[] = {id_of_uint64(kHalf)};
  table.ids = absent;
  expect_words(error_of<RowError>([&] { update(index, table); }),
               "id 9223372036854775808 is not in the index");
}

TEST(Uint64Ids, SetsAreOfNumbers) {
  Random random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> ids, small_ids;
    std::vector<std::int64_t> signed_ids = {-7, -1};
    for (int i = random.between(0, 300); i > 0; --i) {
      const std::uint64_t number = random_number(random);
      ids.push_back(id_of_uint64(number));
      if (number >= kHalf) continue;
      small_ids.push_back(id_of_uint64(number));
      signed_ids.push_back(static_cast<std::int64_t>(number));
    }
    const IdSet set(ids, IdType::uint64), small_set(small_ids, IdType::uint64), signed_set(signed_ids);
    EXPECT_EQ(IdSet::from_bytes(set.to_bytes(), IdType::uint64), set);
    EXPECT_EQ(signed_set.as(IdType::uint64), small_set);
    EXPECT_EQ(set.as(IdType::int64).as(IdType::uint64), small_set);
    EXPECT_EQ(small_set.to_bytes(), small_set.as(IdType::int64).to_bytes());
    EXPECT_EQ(signed_set.as(IdType::int64), signed_set);
    if (HasFailure()) return;
  }
}

TEST(Uint64Ids, AreTextsOfTheirNumbers) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{7}, kHalf - 1, kHalf, kLargest}) {
    const std::int64_t id = id_of_uint64(number);
    EXPECT_EQ(uint64_of_id(id), number);
    EXPECT_EQ(id_text(id, IdType::uint64), std::to_string(number));
    EXPECT_EQ(parse_id(std::to_string(number), IdType::uint64), id);
  }
  EXPECT_EQ(parse_id("-7", IdType::int64), -7);
  EXPECT_EQ(id_text(-7, IdType::int64), "-7");
  for (const char* text : {"", "-1", "+1", "1.0", " 1", "18446744073709551616", "x"})
    EXPECT_EQ(parse_id(text, IdType::uint64), std::nullopt) << text;
  EXPECT_EQ(parse_id("9223372036854775808", IdType::int64), std::nullopt);
  EXPECT_EQ(parse_id_type("uint64"), IdType::uint64);
  EXPECT_THROW(static_cast<void>(parse_id_type("uint32")), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
