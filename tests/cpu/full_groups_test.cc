// A search skips groups that have all their rows (Query::per): answers are those of the whole order, and if all groups together have
// fewer than k rows, the search scores few rows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tests/field_trial.h"

namespace culmen::test {
namespace {

// Leaves of 16 rows, so that a search visits many. Columns to group by: an attribute and a number with gaps, a text, whole
// numbers that are neighbours and others that are not, and one that is the same everywhere.
class GroupedTable {
 public:
  GroupedTable(Random& random, std::size_t num_rows, int num_groups) : num_rows_(num_rows) {
    const double gap = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int64_t> far;
    for (int g = 0; g < num_groups; ++g) far.push_back(static_cast<std::int64_t>(random.below(1'000'000)));
    for (std::size_t row = 0; row < num_rows; ++row) {
      const auto group = [&] { return random.between(0, num_groups - 1); };
      x_.push_back(random.uniform(-1, 1));
      y_.push_back(random.between(-3, 3));
      grade_.push_back(random.chance(0.1) ? gap : group() / 4.0);
      price_.push_back(random.chance(0.1) ? gap : group() * 1.5);
      stars_.push_back(group());
      place_.push_back(far[static_cast<std::size_t>(group())]);
      one_.push_back(7);
      const std::string text = "brand " + std::to_string(group() % 5);
      texts_.insert(texts_.end(), text.begin(), text.end());
      ends_.push_back(texts_.size());
    }
  }

  Index index() const {
    TableView view;
    view.num_rows = num_rows_;
    view.attributes = {{"x"}, {"y", Preference::low}, {"grade"}};
    view.columns = {ColumnView(x_), ColumnView(y_), ColumnView(grade_)};
    view.fields = {{"price", FieldRole::filter, {ColumnType::floating}},
                   {"stars", FieldRole::filter, {ColumnType::integer}},
                   {"place", FieldRole::filter, {ColumnType::integer}},
                   {"one", FieldRole::filter, {ColumnType::integer}},
                   {"brand", FieldRole::filter, {ColumnType::text}}};
    view.field_views = {ColumnView(price_), ColumnView(stars_), ColumnView(place_), ColumnView(one_),
                        TextView{{texts_, ends_}, {}}};
    return Index::build(view, {.leaf_rows = 16});
  }

  std::string group_of(std::size_t row, const std::string& column) const {
    if (column == "brand") return {texts_.data() + ends_[row], texts_.data() + ends_[row + 1]};
    if (column == "stars") return std::to_string(stars_[row]);
    if (column == "place") return std::to_string(place_[row]);
    if (column == "one") return "";
    return std::to_string(column == "grade" ? grade_[row] : price_[row]);  // nan is one, too
  }

 private:
  std::size_t num_rows_;
  std::vector<double> x_, y_, grade_, price_;
  std::vector<std::int64_t> stars_, place_, one_;
  std::vector<char> texts_;
  std::vector<std::uint64_t> ends_ = {0};
};

const std::vector<std::string> kColumns = {"grade", "price", "stars", "place", "one", "brand"};

TEST(FullGroups, AnswersAreThoseOfTheWholeOrder) {
  Random random(5);
  std::uint64_t num_short = 0;
  for (int t = 0; t < 12; ++t) {
    const GroupedTable table(random, 4000 + random.below(8000), random.pick({2, 7, 40, 90}));
    const Index index = table.index();
    for (int q = 0; q < 25; ++q) {
      Query query = {.weights = {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)}};
      if (random.chance(0.3)) query.weights = {0, 1, 0};  // nearly all tie
      if (random.chance(0.3))
        query.where = Filter(Condition{Column{"stars"}, Comparison::not_equal, {std::int64_t{1}}});
      if (random.chance(0.2))
        query.where = query.where && Filter(Condition{Column{"x"}, Comparison::greater, {0.5}});
      query.k.reset();
      query.min_score = -std::numeric_limits<double>::infinity();
      const std::vector<Hit> order = index.search(query, {.engine = Engine::scan}).hits;
      query.min_score.reset();
      query.k = random.pick<std::size_t>({1, 10, 50, 200, 20'000});
      query.per = RowsPer{kColumns[random.below(kColumns.size())], 1 + random.below(3)};
      if (random.chance(0.3) && !order.empty()) {
        const Hit& at = order[random.below(order.size())];
        query.after = Cursor{at.score, at.id};
      }
      std::map<std::string, std::size_t> counts;
      std::vector<Hit> expected;
      for (const Hit& hit : order) {
        if (++counts[table.group_of(static_cast<std::size_t>(hit.id), query.per->column)] > query.per->most)
          continue;
        const bool is_behind = !query.after || hit.score < query.after->score ||
                               (hit.score == query.after->score && hit.id > query.after->id);
        if (is_behind && expected.size() < *query.k) expected.push_back(hit);
      }
      num_short += expected.size() < *query.k ? 1 : 0;
      ASSERT_EQ(index.search(query).hits, expected) << "table " << t << ", per " << query.per->column << ": "
                                                    << query.per->most << ", " << describe(query);
    }
  }
  EXPECT_GT(num_short, 100U);
}

TEST(FullGroups, AreNotLookedAtAgain) {
  Random random(6);
  constexpr std::size_t kRows = 40'000;
  const Index index = GroupedTable(random, kRows, 7).index();
  for (const std::string& column : kColumns) {
    const SearchResult result = index.search({.weights = {1, -1, 0.5}, .k = 100, .per = RowsPer{column, 1}});
    EXPECT_LT(result.hits.size(), 100U);
    EXPECT_LT(result.stats.candidates, kRows / 8) << column;
  }
}

}  // namespace
}  // namespace culmen::test
