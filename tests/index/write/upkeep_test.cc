// A changed index answers with about as little work as a fresh build of the same rows, whatever the changes were:
// outliers that are inserted and erased, ties, columns that rise or fall, windows, duplicates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "culmen/index.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

using FloatRows = std::map<std::int64_t, std::vector<float>>;

// A table of float32 columns, as a view.
class Columns {
 public:
  explicit Columns(std::size_t num_attributes) : columns_(num_attributes) {
    for (std::size_t i = 0; i < num_attributes; ++i) attributes_.push_back({"a" + std::to_string(i)});
  }
  void add(std::int64_t id, const std::vector<float>& values) {
    ids_.push_back(id);
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(values[i]);
  }
  TableView view() const {
    TableView table{ids_.size(), attributes_, {}, ids_, {}};
    for (const std::vector<float>& column : columns_) table.columns.emplace_back(column);
    return table;
  }

 private:
  std::vector<Attribute> attributes_;
  std::vector<std::vector<float>> columns_;
  std::vector<std::int64_t> ids_;
};

// An index and the rows that it should hold.
class ChangedIndex {
 public:
  explicit ChangedIndex(FloatRows rows) : rows_(std::move(rows)), index_(build()) {}

  const FloatRows& rows() const { return rows_; }
  const Index& index() const { return index_; }
  Index build() const {
    Columns columns(num_attributes());
    for (const auto& [id, values] : rows_) columns.add(id, values);
    return Index::build(columns.view(), {.value_type = ValueType::float32});
  }
  std::size_t num_attributes() const { return rows_.begin()->second.size(); }

  void upsert(const FloatRows& rows) {
    Columns columns(num_attributes());
    for (const auto& [id, values] : rows) {
      columns.add(id, values);
      rows_[id] = values;
    }
    index_.upsert(columns.view());
  }
  void upsert(std::int64_t id, const std::vector<float>& values) { upsert(FloatRows{{id, values}}); }
  void erase(const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids) rows_.erase(id);
    index_.erase(ids);
  }

 private:
  FloatRows rows_;
  Index index_;
};

std::vector<float> random_floats(Random& random, std::size_t num_attributes) {
  std::vector<float> row;
  while (row.size() < num_attributes) row.push_back(static_cast<float>(random.unit()));
  return row;
}

FloatRows random_float_rows(Random& random, int count, std::size_t num_attributes) {
  FloatRows rows;
  for (int id = 0; id < count; ++id) rows[id] = random_floats(random, num_attributes);
  return rows;
}

// Medians over some queries of a changed index, relative to those of a fresh build.
struct Work {
  double leaves = 0;  // `bounded`
  double rows = 0;    // `gta`
};

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<std::pair<std::int64_t, double>> scores_of(const std::vector<Hit>& hits) {
  std::vector<std::pair<std::int64_t, double>> scores;
  for (const Hit& hit : hits) scores.emplace_back(hit.id, hit.score);
  return scores;
}

Work work_beside(const Index& changed, const Index& fresh, std::size_t k, bool both_signs) {
  Random random(k);
  std::vector<double> leaves[2], rows[2];
  for (int q = 0; q < 60; ++q) {
    Query query{.weights = {}, .k = k};
    for (int i = 0; i < static_cast<int>(changed.info().attributes.size()); ++i)
      query.weights.push_back(random.uniform(both_signs ? -1 : 0.05, 1));
    std::vector<std::vector<Hit>> hits(2);
    for (const int side : {0, 1}) {
      const Index& index = side == 0 ? changed : fresh;
      const SearchResult bounded = index.search(query, {.engine = Engine::bounded});
      leaves[side].push_back(static_cast<double>(bounded.stats.leaves_visited + bounded.stats.nodes_visited));
      const SearchResult gta = index.search(query, {.engine = Engine::gta, .num_threads = 1});
      rows[side].push_back(static_cast<double>(gta.stats.rows_scored));
      hits[side] = bounded.hits;
    }
    EXPECT_EQ(scores_of(hits[0]), scores_of(hits[1]));
  }
  return {median_of(leaves[0]) / median_of(leaves[1]), median_of(rows[0]) / median_of(rows[1])};
}

struct Limits {
  double leaves = 1.5;
  double rows = 2;
  double partitions = 2;
};

void expect_as_good_as_a_build(const ChangedIndex& changed, const Limits& limits = {}) {
  const Index fresh = changed.build();
  const bool prints = std::getenv("CULMEN_TEST_PRINT") != nullptr;
  for (const std::size_t k : {10, 1000})
    for (const bool both_signs : {false, true}) {
      const Work work = work_beside(changed.index(), fresh, k, both_signs);
      if (prints)
        std::cout << "k " << k << (both_signs ? " mixed" : " positive") << ": leaves " << work.leaves
                  << ", gta " << work.rows << '\n';
      EXPECT_LE(work.leaves, limits.leaves) << "k " << k << ", both signs " << both_signs;
      EXPECT_LE(work.rows, limits.rows) << "k " << k << ", both signs " << both_signs;
    }
  const auto partitions = static_cast<double>(changed.index().info().num_partitions);
  const auto fresh_partitions = static_cast<double>(fresh.info().num_partitions);
  if (prints) std::cout << "partitions " << partitions << " / " << fresh_partitions << '\n';
  EXPECT_LE(partitions, limits.partitions * fresh_partitions);
}

constexpr int kUpkeepRows = 200'000;
constexpr int kUpkeepChanges = 3'000;

// Each row in turn gets other values, and then its own again.
void visit_and_return(ChangedIndex& changed, Random& random,
                      const std::function<void(std::vector<float>&)>& move_out) {
  for (int n = 0; n < kUpkeepChanges; ++n) {
    auto row = changed.rows().begin();
    const auto id = static_cast<std::int64_t>(random.below(changed.rows().size()));
    row = changed.rows().find(id);
    const std::vector<float> values = row->second;
    std::vector<float> moved = values;
    move_out(moved);
    changed.upsert(id, moved);
    changed.upsert(id, values);
  }
}

TEST(Upkeep, OfRowsThatMoveOutAndReturn) {
  Random random(1);
  const auto one = [&](float value) {
    return [&random, value](std::vector<float>& row) { row[random.below(row.size())] = value; };
  };
  const std::map<std::string, std::function<void(std::vector<float>&)>> moves = {
      {"far", one(-1e9F)},
      {"near", one(-0.5F)},
      {"above", one(1.5F)},
      {"huge", one(1e30F)},
      {"corner", [](std::vector<float>& row) { std::ranges::fill(row, 0.97F); }},
      {"half a corner", [](std::vector<float>& row) { std::fill(row.begin(), row.begin() + 4, 0.97F); }},
      {"anywhere", [&](std::vector<float>& row) { row = random_floats(random, row.size()); }}};
  for (const auto& [name, move] : moves) {
    SCOPED_TRACE(name);
    if (std::getenv("CULMEN_TEST_PRINT") != nullptr) std::cout << name << '\n';
    ChangedIndex changed(random_float_rows(random, kUpkeepRows, 8));
    visit_and_return(changed, random, move);
    expect_as_good_as_a_build(changed);
  }
}

TEST(Upkeep, OfTiesThatABetterRowVisits) {
  Random random(2);
  FloatRows rows;
  for (int id = 0; id < kUpkeepRows; ++id)
    rows[id] = id % 2 == 0 ? std::vector<float>{5, 5}
                           : std::vector<float>{static_cast<float>(random.between(1, 9)) / 2,
                                                static_cast<float>(random.between(1, 9)) / 2};
  ChangedIndex changed(rows);
  const Index fresh = changed.build();
  const auto work = [](const Index& index) {
    const SearchStats stats =
        index.search({.weights = {0.7, 0.3}, .k = 10}, {.engine = Engine::bounded}).stats;
    return stats.leaves_visited + stats.nodes_visited + stats.leaves_tied_out;
  };
  for (const std::vector<float>& visitor : {std::vector<float>{5.5, 5}, {5, 5.25}, {-1, 5.125}}) {
    changed.upsert(kUpkeepRows, visitor);
    EXPECT_LE(work(changed.index()), 8 + work(fresh));
    changed.erase({kUpkeepRows});
    EXPECT_LE(work(changed.index()), 4 + work(fresh));
  }
}

TEST(Upkeep, OfAColumnThatAlwaysRises) {
  for (const bool falls : {false, true})
    for (const std::size_t d : {2, 5}) {
      Random random(3);
      ChangedIndex changed(random_float_rows(random, kUpkeepRows, d));
      for (int first = kUpkeepRows; first < kUpkeepRows * 4 / 3; first += 1000) {
        FloatRows batch;
        for (int id = first; id < first + 1000; ++id) {
          batch[id] = random_floats(random, d);
          const float way = 2 * static_cast<float>(id - kUpkeepRows) / kUpkeepRows;
          batch[id][0] = falls ? -way : 1 + way;
        }
        changed.upsert(batch);
      }
      SCOPED_TRACE(std::to_string(d) + (falls ? " falls" : " rises"));
      if (std::getenv("CULMEN_TEST_PRINT") != nullptr)
        std::cout << d << (falls ? " falls" : " rises") << '\n';
      expect_as_good_as_a_build(changed, {.leaves = 2});
    }
}

TEST(Upkeep, OfAWindow) {
  Random random(4);
  const int window = kUpkeepRows / 10;
  ChangedIndex changed(random_float_rows(random, window, 3));
  int last = window;
  for (int batch = 0; batch < 60; ++batch) {
    FloatRows fresh;
    std::vector<std::int64_t> old;
    for (int n = 0; n < window / 4; ++n, ++last) {
      fresh[last] = random_floats(random, 3);
      fresh[last][0] += static_cast<float>(last) / static_cast<float>(window);
      old.push_back(last - window);
    }
    changed.upsert(fresh);
    changed.erase(old);
  }
  expect_as_good_as_a_build(changed, {.leaves = 2});
}

TEST(Upkeep, OfRowsBelowAllOthers) {
  Random random(5);
  FloatRows rows = random_float_rows(random, kUpkeepRows, 4);
  ChangedIndex changed(rows);
  for (int n = 0; n < 200; ++n) {
    std::vector<float> row = random_floats(random, 4);
    row[random.below(4)] = -0.01F;
    changed.upsert(kUpkeepRows + n, row);
  }
  expect_as_good_as_a_build(changed);
}

TEST(Upkeep, OfRandomChanges) {
  Random random(6);
  ChangedIndex changed(random_float_rows(random, kUpkeepRows, 8));
  for (int batch = 0; batch < 200; ++batch) {
    FloatRows some;
    for (int n = 0; n < kUpkeepRows / 200; ++n)
      some[static_cast<std::int64_t>(random.below(kUpkeepRows))] = random_floats(random, 8);
    changed.upsert(some);
  }
  expect_as_good_as_a_build(changed);
}

// Up to 20 of them exist at once, in leaves of the same nodes.
TEST(Upkeep, OfSeveralOutliersAtATime) {
  for (const std::size_t d : {2, 4, 8}) {
    SCOPED_TRACE(d);
    Random random(7);
    ChangedIndex changed(random_float_rows(random, kUpkeepRows / 4, d));
    const std::int64_t first = kUpkeepRows;
    for (std::int64_t id = first; id < first + kUpkeepChanges; ++id) {
      std::vector<float> row = random_floats(random, d);
      const auto distance = static_cast<float>(std::pow(10, random.uniform(-1, 3)));
      row[random.below(d)] = random.chance(0.5) ? -distance : 1 + distance;
      changed.upsert(id, row);
      if (id >= first + 20) changed.erase({id - 20});
    }
    for (std::int64_t id = first + kUpkeepChanges - 20; id < first + kUpkeepChanges; ++id)
      changed.erase({id});
    expect_as_good_as_a_build(changed);
  }
}

TEST(Upkeep, OfAColumnThatIsScaledDown) {
  Random random(8);
  FloatRows rows = random_float_rows(random, kUpkeepRows / 4, 4);
  for (auto& [id, row] : rows) row[0] *= 10'000;
  ChangedIndex changed(rows);
  FloatRows batch;
  for (const auto& [id, row] : rows) {
    batch[id] = random_floats(random, 4);
    if (batch.size() == 500) changed.upsert(std::exchange(batch, {}));
  }
  expect_as_good_as_a_build(changed);
}

TEST(Upkeep, OfATableThatShrinks) {
  Random random(9);
  ChangedIndex changed(random_float_rows(random, kUpkeepRows / 4, 4));
  while (changed.rows().size() > kUpkeepRows / 200) {
    std::vector<std::int64_t> ids;
    for (const auto& [id, row] : changed.rows())
      if (random.chance(0.02)) ids.push_back(id);
    changed.erase(ids);
  }
  expect_as_good_as_a_build(changed);
}

}  // namespace
}  // namespace culmen::test
