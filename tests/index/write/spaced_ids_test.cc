// SpacedIds and OrderedIds: numbers between numbers, in whatever order texts come.
#include "index/write/spaced_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "index/ordered_ids.h"
#include "tests/cases.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// The texts of an index by their numbers, in order. Only their order counts, so texts have no letters.
class Model {
 public:
  std::size_t size() const { return ids_.size(); }
  std::size_t num_moves() const { return num_moves_; }

  struct Gap {
    std::size_t position;  // in front of this text
    std::size_t count;
  };
  // Inserts so many texts into some gaps, whose positions ascend.
  void insert(const std::vector<Gap>& gaps) {
    SpacedIds spaced(order_);
    for (const Gap& gap : gaps)
      spaced.insert_after(gap.position == 0 ? std::nullopt : std::optional(ids_[gap.position - 1]),
                          gap.count);
    const std::vector<SpacedIds::Move> moves = spaced.moves();
    num_moves_ += moves.size();
    const std::vector<std::int64_t> fresh = spaced.new_ids();
    for (const SpacedIds::Move& move : moves) order_.erase(move.from);
    for (const SpacedIds::Move& move : moves) order_.insert(move.to);
    for (const std::int64_t id : fresh) order_.insert(id);
    merge(gaps, moves, fresh);
  }

  // Whether the numbers of all texts ascend, and are those of the list.
  void check() const {
    ASSERT_TRUE(std::ranges::is_sorted(ids_, std::less_equal<>()));
    std::optional<std::int64_t> id = order_.after(std::numeric_limits<std::int64_t>::min());
    for (const std::int64_t expected : ids_) {
      ASSERT_EQ(id, expected);
      id = order_.after(*id);
    }
    ASSERT_EQ(id, std::nullopt);
  }

 private:
  void merge(const std::vector<Gap>& gaps, const std::vector<SpacedIds::Move>& moves,
             const std::vector<std::int64_t>& fresh) {
    std::vector<std::size_t> moved;
    for (const SpacedIds::Move& move : moves)
      moved.push_back(static_cast<std::size_t>(std::ranges::lower_bound(ids_, move.from) - ids_.begin()));
    for (std::size_t i = 0; i < moves.size(); ++i) ids_[moved[i]] = moves[i].to;
    std::size_t num_before = 0;
    for (const Gap& gap : gaps) {
      const auto first = fresh.begin() + static_cast<std::ptrdiff_t>(num_before);
      ids_.insert(ids_.begin() + static_cast<std::ptrdiff_t>(gap.position + num_before), first,
                  first + static_cast<std::ptrdiff_t>(gap.count));
      num_before += gap.count;
    }
  }

  OrderedIds order_;
  std::vector<std::int64_t> ids_;
  std::size_t num_moves_ = 0;
};

// Inserts texts one by one, and returns how many moves there were for each.
double moves_of(std::size_t num_texts, const std::function<std::size_t(std::size_t size)>& position) {
  Model model;
  for (std::size_t i = 0; i < num_texts; ++i) {
    model.insert({{position(model.size()), 1}});
    if (i % 10'000 == 0) model.check();
  }
  model.check();
  return static_cast<double>(model.num_moves()) / static_cast<double>(num_texts);
}

TEST(SpacedIds, MoveFewWhateverTheOrder) {
  const std::size_t num_texts = num_cases(100'000);
  Random random(1);
  EXPECT_EQ(moves_of(num_texts, [](std::size_t size) { return size; }), 0);
  EXPECT_EQ(moves_of(num_texts, [](std::size_t) { return std::size_t{0}; }), 0);
  const double in_the_middle = moves_of(num_texts, [](std::size_t size) { return size / 2; });
  const double before_the_last =
      moves_of(num_texts, [](std::size_t size) { return size - std::min<std::size_t>(size, 1); });
  const double anywhere = moves_of(num_texts, [&](std::size_t size) { return random.below(size + 1); });
  RecordProperty("in_the_middle", std::to_string(in_the_middle));
  RecordProperty("before_the_last", std::to_string(before_the_last));
  RecordProperty("anywhere", std::to_string(anywhere));
  EXPECT_LE(in_the_middle, 16);
  EXPECT_LE(before_the_last, 16);
  EXPECT_LE(anywhere, 0.1);
}

TEST(SpacedIds, BatchesFillAnyGaps) {
  for (std::uint64_t seed = 1; seed <= num_cases(300); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Model model;
    const bool is_narrow = random.chance(0.5);  // most batches come to one place
    for (int batch = 0; batch < 40; ++batch) {
      std::set<std::size_t> positions;
      for (int i = random.between(1, 6); i > 0; --i)
        positions.insert(is_narrow && random.chance(0.8) ? std::min<std::size_t>(model.size(), 3)
                                                         : random.below(model.size() + 1));
      std::vector<Model::Gap> gaps;
      for (const std::size_t position : positions)
        gaps.push_back({position, static_cast<std::size_t>(random.pick({1, 2, 30, 400}))});
      model.insert(gaps);
    }
    model.check();
    if (HasFatalFailure()) return;
  }
}

TEST(SpacedIds, KeepOffTheEndsOfInt64) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t end : {kMost - 1, kLeast + 1}) {
    const std::int64_t present[] = {end};
    const OrderedIds order(present);
    SpacedIds spaced(order);
    spaced.insert_after(end > 0 ? std::optional(end) : std::nullopt, 1);
    const std::int64_t fresh = spaced.new_ids().front(), moved = spaced.now(end);
    EXPECT_EQ(spaced.moves().size(), 1u);
    EXPECT_EQ(moved<fresh, end> 0);
    for (const std::int64_t id : {fresh, moved}) {
      EXPECT_GT(id, kLeast);
      EXPECT_LT(id, kMost);
    }
  }
}

TEST(OrderedIds, FollowASet) {
  Random random(2);
  std::set<std::int64_t> model;
  for (int i = 0; i < 3000; ++i) model.insert(random.between(-40'000, 40'000));
  OrderedIds order(std::vector<std::int64_t>(model.begin(), model.end()));
  for (int step = 0; step < 40'000; ++step) {
    const std::int64_t id = random.between(-40'000, 40'000);
    if (model.erase(id) == 1) {
      order.erase(id);
    } else if (random.chance(step < 20'000 ? 0.9 : 0.1)) {
      model.insert(id);
      order.insert(id);
    }
    const std::int64_t asked = random.between(-41'000, 41'000);
    const auto above = model.upper_bound(asked), not_below = model.lower_bound(asked);
    ASSERT_EQ(order.after(asked), above == model.end() ? std::nullopt : std::optional(*above));
    ASSERT_EQ(order.before(asked),
              not_below == model.begin() ? std::nullopt : std::optional(*std::prev(not_below)));
  }
}

}  // namespace
}  // namespace culmen::test
