// Indexes whose ids are texts: what they answer, keep and refuse. Numbers stand in for the texts, and no answer shows them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/error.h"
#include "culmen/id_set.h"
#include "culmen/index.h"
#include "culmen/row_reader.h"
#include "culmen/update.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/harness.h"
#include "tests/sku_rows.h"

namespace culmen::test {
namespace {

void check_sku_searches(const Index& live, const Skus& rows, Random& random, bool has_limit) {
  const Index index = live.snapshot();
  const std::vector<double> weights = {static_cast<double>(random.between(-2, 2)), 1};
  const auto k = static_cast<std::size_t>(random.between(1, 30));
  std::vector<std::string_view> named;
  for (const auto& row : rows)
    if (random.chance(0.3)) named.push_back(row.first);
  const IdSet set(named);
  const auto is_named = [&](const std::string& text) { return std::ranges::binary_search(named, text); };
  for (const Engine engine : kEngines) {
    if (has_limit && engine == Engine::ta) continue;
    SCOPED_TRACE(std::string(engine_name(engine)));
    const SearchOptions options = {.engine = engine};
    Query query{.weights = weights, .k = k};
    const auto all_of = [](const std::string&) { return true; };
    EXPECT_EQ(skus_of(index.search(query, options)), best_skus(rows, weights, k, all_of));
    query.where = Filter::ids_in(set);
    EXPECT_EQ(skus_of(index.search(query, options)), best_skus(rows, weights, k, is_named));
    query.where = !Filter::ids_in(set);
    EXPECT_EQ(skus_of(index.search(query, options)),
              best_skus(rows, weights, k, [&](const std::string& text) { return !is_named(text); }));
    const std::string limit = random_text(random);
    const std::vector<std::pair<Filter, std::function<bool(const std::string&)>>> conditions = {
        {id_col() == limit, [&](const std::string& text) { return text == limit; }},
        {id_col() != limit, [&](const std::string& text) { return text != limit; }},
        {id_col() < limit, [&](const std::string& text) { return text < limit; }},
        {id_col() <= limit, [&](const std::string& text) { return text <= limit; }},
        {id_col() > limit, [&](const std::string& text) { return text > limit; }},
        {col("sku") >= limit, [&](const std::string& text) { return text >= limit; }},
        {id_col().starts_with(limit), [&](const std::string& text) { return text.starts_with(limit); }},
        {id_col().in({limit, "ma", "b"}),
         [&](const std::string& text) { return text == limit || text == "ma" || text == "b"; }},
        {id_col().is_null(), [](const std::string&) { return false; }}};
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      query.where = conditions[i].first;
      EXPECT_EQ(skus_of(index.search(query, options)), best_skus(rows, weights, k, conditions[i].second))
          << i;
    }
    query.where = {};
    // After a place, whether or not a row is there.
    const std::vector<RankedSku> all = best_skus(rows, weights, rows.size(), all_of);
    if (all.empty()) continue;
    const RankedSku& of_row = all[random.below(all.size())];
    const RankedSku place = {random.chance(0.5) ? of_row.text : random_text(random), of_row.score};
    query.after = Cursor{.score = place.score, .text = place.text};
    std::vector<RankedSku> page;
    for (const RankedSku& row : all)
      if (page.size() < k && (row.score < place.score || (row.score == place.score && row.text > place.text)))
        page.push_back(row);
    EXPECT_EQ(skus_of(index.search(query, options)), page);
    // The first of each group, by their numbers or none.
    query.per = RowsPer{"f", static_cast<std::size_t>(random.between(1, 3))};
    std::map<std::optional<double>, std::size_t> counts;
    std::vector<RankedSku> of_groups;
    for (const RankedSku& row : all) {
      if (++counts[rows.at(row.text).field] > query.per->most || of_groups.size() == k) continue;
      if (row.score < place.score || (row.score == place.score && row.text > place.text))
        of_groups.push_back(row);
    }
    EXPECT_EQ(skus_of(index.search(query, options)), of_groups);
    query.per = std::nullopt;
    query.after = std::nullopt;
    const auto is_before = [&](const RankedSku& row) {
      return row.score > place.score || (row.score == place.score && row.text < place.text);
    };
    EXPECT_EQ(index.count_before(query, Cursor{.score = place.score, .text = place.text}, options),
              static_cast<std::uint64_t>(std::ranges::count_if(all, is_before)));
    const std::optional<RowRank> rank = index.rank_of(query, of_row.text, options);
    ASSERT_TRUE(rank);
    EXPECT_EQ(rank->rank, static_cast<std::uint64_t>(std::ranges::find(all, of_row) - all.begin()) + 1);
  }
}

void check_skus(const Index& index, const Skus& rows, Random& random, bool has_limit) {
  Skus asked = rows;
  for (int i = 0; i < 20; ++i) asked.emplace(random_text(random), SkuValues());
  std::vector<std::string_view> texts;
  for (const auto& row : asked) texts.push_back(row.first);
  const std::vector<std::optional<Row>> found = index.get(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto row = rows.find(std::string(texts[i]));
    ASSERT_EQ(found[i].has_value(), row != rows.end()) << texts[i];
    if (i % 16 == 0) {
      EXPECT_EQ(index.contains(texts[i]), row != rows.end());
    }
    if (row == rows.end()) continue;
    EXPECT_EQ(id_text(*found[i], IdType::text), texts[i]);
    EXPECT_EQ(values_of_sku(*found[i]), row->second) << texts[i];
  }
  Skus read;
  RowReader reader(index);
  for (std::vector<Row> part; !(part = reader.next(100)).empty();)
    for (const Row& row : part) read.emplace(row.label, values_of_sku(row));
  EXPECT_EQ(read, rows);
  if (!has_limit) {
    EXPECT_EQ(index.verify(true), std::vector<std::string>{});
  }
}

void check_index(const Index& index, const Skus& rows, Random& random, bool has_limit = false) {
  EXPECT_EQ(index.schema().id_type, IdType::text);
  EXPECT_FALSE(index.schema().has_labels);
  EXPECT_EQ(index.info().num_rows, rows.size());
  check_sku_searches(index, rows, random, has_limit);
  check_skus(index, rows, random, has_limit);
}

// Rows one by one until there is no number left between the deepest text and the one before it.
void crowd(Index& index, Skus& rows, Random& random, int& depth) {
  for (const int end = depth + 70; depth < end; ++depth) {
    const Skus row = {{nested_text(depth), sku_values(random)}};
    index.insert(SkuTable(row, random).view());
    rows.insert(*row.begin());
  }
}

// One batch: erases, replaces and inserts some rows, in steps that see each other. Nested texts from `depth` on are new, and
// make others move.
void change_skus(Index& index, Skus& rows, Random& random, int& depth) {
  Skus inserted = random_skus(random, random.between(0, 30));
  for (const int end = depth + random.between(0, 4); depth < end; ++depth)
    inserted[nested_text(depth)] = sku_values(random);
  std::erase_if(inserted, [&](const auto& row) { return rows.contains(row.first); });
  const Skus upserted = random_skus(random, random.between(0, 30));
  std::vector<std::string> erased;
  for (const Skus* some : {&std::as_const(rows), &std::as_const(inserted), &upserted})
    for (const auto& row : *some)
      if (random.chance(0.1)) erased.push_back(row.first);
  erased.push_back(random_text(random));
  const SkuTable insert(inserted, random), upsert(upserted, random);
  const std::vector<std::string_view> erase(erased.begin(), erased.end());
  const bool erases_where = random.chance(0.3);
  WriteBatch batch;
  batch.insert(insert.view()).upsert(upsert.view()).erase(erase);
  if (erases_where) batch.erase_where(col("f") == 3);
  const WriteResult result = index.write(batch);

  Skus after = rows;
  after.merge(inserted);
  std::uint64_t num_replaced = 0, num_erased = 0;
  for (const auto& [text, values] : upserted)
    num_replaced += after.insert_or_assign(text, values).second ? 0 : 1;
  for (const std::string& text : erased) num_erased += after.erase(text);
  if (erases_where) num_erased += std::erase_if(after, [](const auto& row) { return row.second.field == 3; });
  EXPECT_EQ(result.replaced, num_replaced);
  EXPECT_EQ(result.erased, num_erased);
  EXPECT_EQ(rows.size() + result.inserted - result.erased, after.size());
  rows = std::move(after);
}

TEST(TextIds, AnswersAreThoseOfTheTexts) {
  const std::uint64_t only = only_seed();
  for (std::uint64_t seed = 1; seed <= num_cases(60); ++seed) {
    if (only != 0 && seed != only) continue;
    SCOPED_TRACE(rerun_command(seed, "api_test", "TextIds.*"));
    Random random(seed);
    Skus rows = random_skus(random, random.pick({0, 1, 20, 400}));
    const TemporaryDirectory directory;
    const Partitioning partitioning =
        random.pick({Partitioning::kd, Partitioning::angle, Partitioning::random});
    const BuildOptions options =
        random_build_options(random, partitioning, ValueType::automatic, kSkuAttributes);
    Index index = Index::build(SkuTable(rows, random).view(), options);
    check_index(index, rows, random);
    int depth = kCommonDepth + 1;
    change_skus(index, rows, random, depth);
    check_index(index, rows, random);
    index.save(directory.path() / "index");
    const bool has_limit = random.chance(0.3);
    Index opened = Index::open(
        directory.path() / "index",
        {.writable = true,
         .durability = Durability::os,
         .loading = has_limit ? Loading::on_touch : random.pick({Loading::whole, Loading::on_touch}),
         .max_memory = has_limit ? random.pick<std::uint64_t>({1, 100'000, 10'000'000}) : kUnlimitedMemory});
    if (random.chance(0.5)) crowd(opened, rows, random, depth);
    Index reader = Index::open(directory.path() / "index", {.loading = Loading::on_touch});
    for (int course = 0; course < 4; ++course) {
      for (int i = random.between(1, 5); i > 0; --i) change_skus(opened, rows, random, depth);
      if (random.chance(0.2)) opened.compact();
      if (random.chance(0.2)) opened.checkpoint();
      check_index(opened, rows, random, has_limit);
      reader.refresh();
      check_index(reader, rows, random);
    }
    // Behind a log, as its writer is still open.
    check_index(Index::open(directory.path() / "index"), rows, random);
    check_index(Index::open(directory.path() / "index", {.loading = Loading::on_touch}), rows, random);
    opened.close();
    const Index limited =
        Index::open(directory.path() / "index", {.loading = Loading::on_touch, .max_memory = 1});
    if (!rows.empty()) check_index(limited, rows, random, true);
    if (HasFailure()) return;
  }
}

template <typename Error>
std::string problem_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no exception";
}

void expect_says(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

// Rows that come one by one directly after another, until the numbers between them are used up many times.
TEST(TextIds, CrowdedTextsGetRoom) {
  Random random(1);
  Skus rows = {{"m", sku_values(random)}, {"mz", sku_values(random)}, {"n", sku_values(random)}};
  const TemporaryDirectory directory;
  Index::build(SkuTable(rows, random).view()).save(directory.path() / "index");
  Index index = Index::open(directory.path() / "index", {.writable = true, .durability = Durability::os});
  const auto id_of = [&](std::string_view text) { return index.find_texts(std::span(&text, 1)).front().id; };
  std::map<std::string, std::int64_t> ids;  // as they were at first
  for (int depth = 1; depth <= 300; ++depth) {
    const Skus row = {{nested_text(depth), sku_values(random)}};
    EXPECT_EQ(index.insert(SkuTable(row, random).view()).inserted, 1u);
    rows.insert(*row.begin());
    ids[row.begin()->first] = id_of(row.begin()->first);
  }
  EXPECT_TRUE(std::ranges::any_of(ids, [&](const auto& one) { return id_of(one.first) != one.second; }))
      << "no row was moved";
  // Rows that a refused batch would move are rows of the index to it.
  for (int depth = 301; depth < 320; ++depth) {
    const Skus row = {{nested_text(depth), sku_values(random)}};
    Skus both = row;
    both.insert(*rows.find(nested_text(depth - 1)));
    expect_says(problem_of<RowError>([&] { index.insert(SkuTable(both, random).view()); }),
                "is already in the index");
    index.insert(SkuTable(row, random).view());
    rows.insert(*row.begin());
  }
  check_index(index, rows, random);
  check_index(Index::open(directory.path() / "index"), rows, random);
}

TEST(TextIds, RepairLosesTheRowsWhoseIdsAreLost) {
  Random random(7);
  const Skus rows = random_skus(random, 400);
  const TemporaryDirectory directory;
  Index::build(SkuTable(rows, random).view(), {.leaf_rows = 16}).save(directory.path() / "index");
  {
    std::fstream file(directory.path() / "index" / "SNAP-1-labels",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);  // in the first frame
    file.put('\xff');
  }
  EXPECT_THROW(static_cast<void>(Index::open(directory.path() / "index")), FormatError);
  const RepairReport report = Index::repair(directory.path() / "index", directory.path() / "mended");
  EXPECT_GT(report.rows_lost, 0u);
  EXPECT_LE(report.rows_lost, 16u);
  EXPECT_EQ(report.rows_kept + report.rows_lost, rows.size());
  const Index mended = Index::open(directory.path() / "mended");
  EXPECT_EQ(mended.verify(true), std::vector<std::string>{});
  RowReader reader(mended);
  for (const Row& row : reader.next(rows.size())) {
    ASSERT_TRUE(rows.contains(row.label)) << row.label;
    EXPECT_EQ(values_of_sku(row), rows.at(row.label));
  }
}

TEST(TextIds, ADirectoryIsTheSameWhateverTheThreads) {
  Random random(5);
  const Skus rows = random_skus(random, 500);
  const SkuTable table(rows, random);
  const Index one = Index::build(table.view(), {.num_threads = 1});
  const Index two = Index::build(table.view(), {.num_threads = 2});
  for (const auto& row : rows) EXPECT_EQ(one.get(row.first), two.get(row.first));
}

TEST(TextIds, OneOfSeveralRowsWithATextIsKept) {
  SkuTable table({}, *std::make_unique<Random>(1));
  for (const double a : {1.0, 2.0, 3.0}) table.add(a == 2 ? "x" : "y", {{a, 0}, {}});
  expect_says(problem_of<RowError>([&] { static_cast<void>(Index::build(table.view())); }),
              "row 3: id \"y\" stands in row 1 as well; ids must be unique");
  SkuTable twice({}, *std::make_unique<Random>(1));
  for (const char* text : {"y", "x", "y", "x"}) twice.add(text, {{1, 0}, {}});
  expect_says(problem_of<RowError>([&] { static_cast<void>(Index::build(twice.view())); }),
              "row 3: id \"y\"");
  for (const Duplicates duplicates : {Duplicates::first, Duplicates::last}) {
    const double kept = duplicates == Duplicates::first ? 1 : 3;
    const Index built = Index::build(table.view(), {.duplicates = duplicates});
    EXPECT_EQ(built.get("y")->values[0], kept);
    EXPECT_EQ(built.info().num_rows, 2u);
    Index filled = Index::create(built.schema());
    filled.insert(table.view(), {.duplicates = duplicates});
    EXPECT_EQ(filled.get("y")->values[0], kept);
    EXPECT_EQ(filled.get("x")->values[0], 2);
  }
  Index filled = Index::create(
      Index::build(SkuTable({{"z", {{0, 0}, {}}}}, *std::make_unique<Random>(1)).view()).schema());
  expect_says(problem_of<RowError>([&] { filled.insert(table.view()); }), "id \"y\" appears twice");
}

TEST(TextIds, UpdatesKeepOtherColumns) {
  Random random(1);
  Index index = Index::build(SkuTable({{"x", {{1, 3}, 7}}, {"y", {{2, 4}, 8}}}, random).view());
  const std::vector<double> values = {9};
  TableView table = row_major_table(std::span<const double>(values), {{"a"}});
  Labels texts;
  texts.append("y");
  table.labels = texts.view();
  table.id_type = IdType::text;
  EXPECT_EQ(update(index, table).replaced, 1u);
  EXPECT_EQ(values_of_sku(*index.get("y")), (SkuValues{{9, 4}, 8}));
  Labels others;
  others.append("w");
  table.labels = others.view();
  expect_says(problem_of<RowError>([&] { update(index, table); }), "id \"w\" is not in the index");
}

TEST(TextIds, WhatDoesNotFitIsRefused) {
  Random random(1);
  const SkuTable table({{"x", {{1, 1}, {}}}, {"y", {{2, 1}, {}}}}, random);
  Index index = Index::build(table.view());
  const Index numbers = Index::build(row_major_table(std::span<const double>(table.values), {{"a"}, {"b"}}));
  const std::int64_t ids[] = {1, 2};
  TableView other = table.view();
  other.ids = ids;
  expect_says(problem_of<InputError>([&] { static_cast<void>(Index::build(other)); }),
              "leave out the numbers");
  expect_says(problem_of<InvalidArgument>([&] { index.upsert(other); }), "leave out the numbers");
  other.id_type = IdType::int64;
  expect_says(problem_of<InvalidArgument>([&] { index.upsert(other); }),
              "the ids of the rows are int64, those of the index text");
  other.ids = {};
  expect_says(problem_of<InvalidArgument>([&] { index.insert(other); }), "give the rows ids");
  other.id_type = IdType::text;
  other.labels = {};
  expect_says(problem_of<InputError>([&] { static_cast<void>(Index::build(other)); }),
              "no labels, which hold them");
  expect_says(problem_of<InputError>([&] { index.insert(other); }), "no labels, which hold them");
  expect_says(problem_of<RowError>([&] { index.insert(table.view()); }), "is already in the index");
  expect_says(problem_of<InvalidArgument>([&] { index.erase(ids); }), "erase by texts");
  const std::string_view texts[] = {"x"};
  const std::string mismatch = "the ids of the index are int64, not texts";
  Index changed = numbers;
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(numbers.find_texts(texts)); }), mismatch);
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(numbers.get("x")); }), mismatch);
  expect_says(problem_of<InvalidArgument>([&] { changed.erase(texts); }), mismatch);
  const auto search = [&](const Filter& where) {
    return [&index, where] { static_cast<void>(index.search({.weights = {1, 1}, .k = 1, .where = where})); };
  };
  expect_says(problem_of<InvalidArgument>(search(id_col() == 7)), "id holds texts");
  expect_says(problem_of<InvalidArgument>(search(Filter::ids_in(IdSet(ids)))), "those of the index text");
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(id_text(7, IdType::text)); }), "stand in");
  EXPECT_EQ(index.version(), 1u);
}

TEST(TextIds, AreAsLongAsACellOfCsvHoldsThem) {
  Random random(1);
  const std::string longest(kMaxTextIdBytes, '"');
  Index index = Index::build(SkuTable({{longest, {{1, 1}, {}}}}, random).view());
  EXPECT_TRUE(index.contains(longest));
  const auto refusal_of = [&](const std::string& text) {
    SkuTable table({{"good", {{1, 1}, {}}}}, random);
    table.add(text, {{2, 1}, {}});
    const auto build = [&] { static_cast<void>(Index::build(table.view())); };
    const std::string built = error_of<RowError>(build);
    EXPECT_EQ(error_of<RowError>([&] { index.upsert(table.view()); }), built);
    return built;
  };
  EXPECT_EQ(refusal_of(longest + 'x'), "row 2: the id has 32768 bytes, and at most 32767 can be an id: \"" +
                                           std::string(40, '"') + "...\"");
  EXPECT_EQ(refusal_of(std::string("a\0b", 3)), "row 2: the id has a NUL character: \"a\\x00b\"");
  EXPECT_EQ(refusal_of(std::string("\0", 1)), "row 2: the id has a NUL character: \"\\x00\"");
  const auto expect_refused = [&](const std::string& text, const std::string& says) {
    const std::string_view texts[] = {"good", text};
    EXPECT_EQ(problem_of<InvalidArgument>([&] { static_cast<void>(index.get(texts)); }), says);
    EXPECT_EQ(problem_of<InvalidArgument>([&] { static_cast<void>(index.contains(text)); }), says);
    EXPECT_EQ(problem_of<InvalidArgument>([&] { index.erase(texts); }), says);
    EXPECT_EQ(problem_of<InvalidArgument>([&] { static_cast<void>(IdSet(texts)); }), says);
    EXPECT_EQ(
        problem_of<InvalidArgument>([&] {
          static_cast<void>(index.search({.weights = {1, 1}, .k = 1, .where = id_col().in({"good", text})}));
        }),
        says);
    EXPECT_EQ(problem_of<InvalidArgument>([&] {
                static_cast<void>(index.rank_of({.weights = {1, 1}}, text));
              }),
              says);
  };
  expect_refused(longest + 'x', refusal_of(longest + 'x').substr(7));
  expect_refused(std::string("a\0b", 3), "the id has a NUL character: \"a\\x00b\"");
  EXPECT_EQ(index.version(), 1u);
}

// By the list that the first look-up of texts makes, not by a pass over the ids of all rows.
TEST(TextIds, NumbersFindTheRowsOfAnIndexThatWasJustBuilt) {
  Random random(6);
  const Skus rows = random_skus(random, 500);
  const Index index = Index::build(SkuTable(rows, random).view(), {.leaf_rows = 16});
  std::vector<std::string_view> texts;
  for (const auto& [text, values] : rows) texts.push_back(text);
  std::set<std::int64_t> ids;
  for (const bool is_listed : {false, true}) {
    if (is_listed) {
      for (const TextPlace& place : index.find_texts(texts)) ids.insert(place.id);
      ASSERT_EQ(ids.size(), texts.size());
      std::size_t next = 0;
      for (const std::int64_t id : ids) EXPECT_EQ(index.get(id)->label, texts[next++]);
    }
    for (const std::int64_t id : {std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max(), std::int64_t{12345}})
      EXPECT_EQ(index.contains(id), ids.contains(id));
  }
  for (const std::int64_t id : ids) EXPECT_EQ(index.contains(id + 1), ids.contains(id + 1));
  EXPECT_TRUE(index.search({.weights = {1, 1}, .k = 9, .where = id_col() == std::string(texts.front())})
                  .stats.by_id_map);
}

TEST(TextIds, SetsAreOfTexts) {
  const std::vector<std::string_view> texts = {"b", "a", "b"};
  const IdSet set(texts);
  EXPECT_EQ(set.type(), IdType::text);
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.contains("a"));
  EXPECT_FALSE(set.contains("c"));
  EXPECT_EQ(set.texts(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(set == IdSet(std::span(texts).first(2)));
  EXPECT_FALSE(set == IdSet(std::span(texts).first(1)));
  EXPECT_EQ((!Filter::ids_in(set)).text(), "not id in {2 ids}");
  const std::int64_t numbers[] = {1};
  const IdRange ranges[] = {{1, 2}};
  const std::string refusal = "make the set of the texts themselves";
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(IdSet(numbers, IdType::text)); }), refusal);
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(IdSet::of_ranges(ranges, IdType::text)); }),
              refusal);
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(IdSet::from_bytes({}, IdType::text)); }),
              refusal);
  expect_says(problem_of<InvalidArgument>([&] { static_cast<void>(set.to_bytes()); }), refusal);
}

// The same set in searches of versions that others replace, of which some share an address.
TEST(TextIds, ASetIsLookedUpInEachVersion) {
  Random random(4);
  const std::vector<std::string_view> texts = {"mz", "maz", "n"};
  const IdSet set(texts);
  const auto is_in_set = [&](const std::string& text) { return set.contains(text); };
  for (int round = 0; round < 20; ++round) {
    Skus rows = random_skus(random, 30);
    rows["n"] = sku_values(random);
    Index index = Index::build(SkuTable(rows, random).view());
    const Query query{.weights = {1, 1}, .k = 40, .where = Filter::ids_in(set)};
    for (int depth = 0; depth < 40; ++depth) {
      EXPECT_EQ(skus_of(index.search(query)), best_skus(rows, query.weights, 40, is_in_set));
      const Skus row = {{nested_text(depth % 20), sku_values(random)}};
      index.upsert(SkuTable(row, random).view());
      rows.insert_or_assign(row.begin()->first, row.begin()->second);
    }
  }
}

}  // namespace
}  // namespace culmen::test
