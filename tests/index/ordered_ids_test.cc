// The ids of an index in order: those of files and what has changed since, against a std::set.
#include "index/ordered_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/generators.h"

namespace culmen::test {
namespace {

// What a file of ids would say.
class ListedIds final : public IdLookup, public IdOrder {
 public:
  explicit ListedIds(std::vector<std::int64_t> ids) : ids_(std::move(ids)) {}

  std::vector<std::uint32_t> leaves_with(std::int64_t) const override { return {}; }
  const IdOrder* order() const override { return this; }
  std::uint64_t num_ids() const override { return ids_.size(); }
  OrderedId at(std::uint64_t place) const override { return {ids_.at(place)}; }
  std::uint64_t place_of(std::int64_t id) const override {
    return static_cast<std::uint64_t>(std::ranges::lower_bound(ids_, id) - ids_.begin());
  }
  [[noreturn]] void fail(std::uint64_t) const override { throw std::logic_error("no leaf is looked into"); }

 private:
  std::vector<std::int64_t> ids_;
};

void expect_same(const OrderedIds& ids, const std::set<std::int64_t>& model, std::int64_t id) {
  const auto above = model.upper_bound(id), from = model.lower_bound(id);
  const auto value = [&](auto at) { return at == model.end() ? std::nullopt : std::optional(*at); };
  const auto value_before = [&](auto at) {
    return at == model.begin() ? std::nullopt : std::optional(*std::prev(at));
  };
  ASSERT_EQ(ids.after(id), value(above)) << id;
  ASSERT_EQ(ids.before(id), value_before(from)) << id;
  const auto last = ids.last_that([&](std::int64_t other) {
    EXPECT_TRUE(model.contains(other)) << other << " was erased";
    return other <= id;
  });
  ASSERT_EQ(last, value_before(above)) << id;
}

TEST(OrderedIds, OfFilesAndChangesAreThoseOfASet) {
  for (const std::int64_t num_ids : {0, 1, 2, 500, 20'000}) {
    for (const std::int64_t num_erased : {10, 12'000}) {
      Random random(static_cast<std::uint64_t>(num_ids + num_erased));
      std::vector<std::int64_t> of_files;
      for (std::int64_t i = 0; i < num_ids; ++i) of_files.push_back(3 * i);
      std::set<std::int64_t> model(of_files.begin(), of_files.end());
      OrderedIds ids(std::make_shared<const ListedIds>(of_files));
      const auto any_id = [&] { return static_cast<std::int64_t>(random.below(3 * 20'000 + 6)) - 3; };
      for (std::int64_t round = 0; round < 2 * num_erased; ++round) {
        const std::int64_t erased = 3 * (round % (num_erased + 1));  // runs of neighbours
        if (model.erase(erased) > 0) ids.erase(erased);
        if (const std::int64_t id = any_id(); round % 2 == 0 && model.insert(id).second) ids.insert(id);
        if (const std::int64_t id = any_id(); round % 16 == 0) expect_same(ids, model, id);
      }
      for (int i = 0; i < 500; ++i) expect_same(ids, model, any_id());
    }
  }
}

}  // namespace
}  // namespace culmen::test
