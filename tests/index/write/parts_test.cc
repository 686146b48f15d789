// Components of the tree in isolation: id map, slots, columns of nodes, ranges, order keys.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <thread>
#include <unordered_map>

#include "culmen/error.h"
#include "index/partitioner.h"
#include "index/snapshot_fields.h"
#include "index/write/id_map.h"
#include "index/write/node_columns.h"
#include "index/write/slots.h"
#include "index/write/working_tree.h"
#include "tests/cases.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

// ---- IdMap

// An id map against std::unordered_map. As in the tree, a page holds an id if the model says so.
class IdMapModel {
 public:
  explicit IdMapModel(std::size_t room) : map_(room) {}

  bool contains(std::int64_t id) const { return pages_.count(id) > 0; }
  PageNumber found(std::int64_t id) const {
    return map_.find(id, [&](PageNumber page) {
      const auto entry = pages_.find(id);
      return entry != pages_.end() && entry->second == page;
    });
  }
  PageNumber expected(std::int64_t id) const { return contains(id) ? pages_.at(id) : kNoPage; }
  void insert(std::int64_t id, PageNumber page) {
    map_.insert(id, page);
    pages_[id] = page;
  }
  void erase(std::int64_t id) {
    map_.erase(id, pages_.at(id));
    pages_.erase(id);
  }
  void move(std::int64_t id, PageNumber to) {
    map_.move(id, pages_.at(id), to);
    pages_[id] = to;
  }
  bool all_are_found() const {
    return map_.size() == pages_.size() && std::all_of(pages_.begin(), pages_.end(), [&](const auto& entry) {
             return found(entry.first) == entry.second;
           });
  }

 private:
  IdMap map_;
  std::unordered_map<std::int64_t, PageNumber> pages_;
};

void run_id_map(std::uint64_t seed, std::uint64_t num_ids, std::uint64_t num_steps) {
  std::mt19937_64 random(seed);
  IdMapModel model(random() % 40);
  for (std::uint64_t step = 0; step < num_steps; ++step) {
    const auto id = static_cast<std::int64_t>(random() % num_ids) - static_cast<std::int64_t>(num_ids / 2);
    const auto page = static_cast<PageNumber>(random() % 50);
    ASSERT_EQ(model.found(id), model.expected(id)) << "seed " << seed << ", step " << step;
    if (!model.contains(id)) {
      model.insert(id, page);
    } else if (random() % 2 == 0) {
      model.erase(id);
    } else {
      model.move(id, page);
    }
  }
  EXPECT_TRUE(model.all_are_found()) << "seed " << seed;
}

// Inverts the mixing step of splitmix64, so that its results can be chosen.
std::uint64_t unmixed(std::uint64_t x) {
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t y = odd;
    for (int i = 0; i < 5; ++i) y *= 2 - odd * y;
    return y;
  };
  x ^= x >> 31 ^ x >> 62;
  x *= inverse(0x94d049bb133111eb);
  x ^= x >> 27 ^ x >> 54;
  x *= inverse(0xbf58476d1ce4e5b9);
  return x ^ x >> 30 ^ x >> 60;
}

// No choice of ids makes all of them collide: not of a table of ids modulo a prime, nor of one with a publicly known
// mixing function.
TEST(IdMap, IsNotSlowedDownByChosenIds) {
  constexpr std::int64_t kIds = 5000;
  for (const bool is_mixed : {false, true}) {
    IdMap map(kIds);
    IdTable<int> table;
    table.reserve(kIds);
    const auto buckets = static_cast<std::int64_t>(table.bucket_count());
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < kIds; ++i)
      ids.push_back(
          is_mixed ? static_cast<std::int64_t>(unmixed(0x123456700000000 + static_cast<std::uint64_t>(i)))
                   : i * buckets);
    for (const std::int64_t id : ids) {
      map.insert(id, 1);
      table[id] = 1;
    }
    std::size_t num_looks = 0, largest_bucket = 0;
    for (const std::int64_t id : ids) map.find(id, [&](PageNumber) { return ++num_looks == 0; });
    EXPECT_LT(num_looks, 2u * kIds) << "each id once, but for the few that share a tag by chance";
    for (std::size_t b = 0; b < table.bucket_count(); ++b)
      largest_bucket = std::max(largest_bucket, table.bucket_size(b));
    EXPECT_LT(largest_bucket, 20u);
  }
}

TEST(IdMap, FindsWhatAnUnorderedMapFinds) {
  const std::uint64_t steps = kSanitized ? 50'000 : 500'000;
  run_id_map(1, 100'000, steps);
  run_id_map(2, 1000, steps);
}

// Small and almost full: probes wrap around, and erases close holes across the end.
TEST(IdMap, ClosesHolesAcrossItsEnd) {
  for (std::uint64_t seed = 10; seed < 60; ++seed) run_id_map(seed, 24, 2000);
}

// The inverse of the map's tag_of: x with the same upper half of its hash.
std::int64_t id_of_hash(std::uint64_t hash) {
  const auto unshift = [](std::uint64_t y, int by) {
    std::uint64_t x = y;
    for (int i = 0; i < 64 / by + 1; ++i) x = y ^ (x >> by);
    return x;
  };
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  std::uint64_t x = unshift(hash, 31) * inverse(0x94d049bb133111eb);
  x = unshift(x, 27) * inverse(0xbf58476d1ce4e5b9);
  return static_cast<std::int64_t>(unshift(x, 30));
}

TEST(IdMap, TellsIdsOfOneTagApart) {
  IdMapModel model(4);
  std::vector<std::int64_t> ids;
  for (const std::uint64_t tag : {0xffffffffull, 0xfffffffeull, 0ull, 0x80000000ull})
    for (std::uint64_t low = 0; low < 30; ++low) ids.push_back(id_of_hash(tag << 32 | low * 7919));
  for (std::size_t i = 0; i < ids.size(); ++i) model.insert(ids[i], static_cast<PageNumber>(i % 3));
  EXPECT_TRUE(model.all_are_found());
  for (std::size_t i = 0; i < ids.size(); i += 2) model.erase(ids[i]);
  EXPECT_TRUE(model.all_are_found());
  for (std::size_t i = 1; i < ids.size(); i += 4) model.move(ids[i], 9);
  EXPECT_TRUE(model.all_are_found());
  for (std::size_t i = 0; i < ids.size(); i += 2) EXPECT_EQ(model.found(ids[i]), kNoPage);
}

TEST(IdMap, TakesTheLargestAndSmallestIds) {
  IdMapModel model(0);
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t id : {lowest, lowest + 1, std::int64_t{-1}, std::int64_t{0}, highest - 1, highest})
    model.insert(id, 5);
  EXPECT_TRUE(model.all_are_found());
}

// Threads whose ids hash to the same few slots, one of which was emptied before.
TEST(IdMap, TakesIdsFromSeveralThreads) {
  constexpr std::int64_t kIds = 4'000, kIdsOfPage = 10;
  IdMap map(kIds);
  map.insert(id_of_hash(7ull << 32), 1);
  map.erase(id_of_hash(7ull << 32), 1);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < kIds; ++i) ids.push_back(i % 2 == 0 ? i : id_of_hash(std::uint64_t(i) << 20));
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t page = t; page < kIds / kIdsOfPage; page += 4)
        map.insert_concurrently(std::span(ids).subspan(std::size_t(page * kIdsOfPage), kIdsOfPage),
                                static_cast<PageNumber>(page), [](std::int64_t, PageNumber) {});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(map.size(), std::size_t{kIds});
  for (std::int64_t i = 0; i < kIds; ++i) {
    const auto page = static_cast<PageNumber>(i / kIdsOfPage);
    ASSERT_EQ(map.find(ids[std::size_t(i)], [&](PageNumber at) { return at == page; }), page) << i;
  }
}

// ---- Slots

using Over = std::shared_ptr<std::atomic<bool>>;

TEST(Slots, ComeBackWhenAllVersionsThatNeedThemAreOver) {
  Slots slots(4, 8, [](std::size_t) {});
  const Over first = std::make_shared<std::atomic<bool>>(false),
             second = std::make_shared<std::atomic<bool>>(false),
             third = std::make_shared<std::atomic<bool>>(false);
  slots.retire(0, 1);
  slots.end_version({1, first});
  slots.retire(1, 1);
  slots.retire(2, 2);
  slots.end_version({2, second});
  slots.end_version({3, third});
  *second = true;
  slots.reclaim();
  EXPECT_EQ(slots.num_available(), 5u) << "slot 2: the older version may read slot 1, too";
  *third = true;
  slots.reclaim();
  EXPECT_EQ(slots.num_available(), 5u);
  *first = true;
  slots.reclaim();
  EXPECT_EQ(slots.num_available(), 7u);
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 7; ++i) taken.insert(slots.take());
  EXPECT_EQ(taken, (std::set<std::uint32_t>{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(slots.num_available(), 0u);
  EXPECT_THROW(slots.take(), std::bad_alloc);
}

// A model that knows which versions read each slot, while versions end in any order.
TEST(Slots, AreFreeAsSoonAsNoVersionReadsThemAndNotBefore) {
  Random random(4);
  constexpr std::size_t kSlots = 400;
  Slots slots(0, kSlots, [](std::size_t) {});
  struct Version {
    std::uint64_t number = 0;
    Over over = std::make_shared<std::atomic<bool>>(false);
    std::set<std::uint32_t> reads = {};
  };
  std::vector<Version> alive;
  Version base;
  std::map<std::uint32_t, std::uint64_t>
      present;  // slots of the next version, and the versions that they are new in
  for (std::uint64_t number = 1; number < 3000; ++number) {
    slots.reclaim();
    std::set<std::uint32_t> read = base.reads;
    for (const Version& version : alive) read.insert(version.reads.begin(), version.reads.end());
    EXPECT_EQ(slots.num_available(), kSlots - read.size());
    for (int i = 0; i < 3; ++i) {
      const std::uint32_t slot = slots.take();
      ASSERT_FALSE(read.contains(slot)) << slot;
      ASSERT_TRUE(present.emplace(slot, number).second);
    }
    while (present.size() > 18 || random.chance(0.3)) {
      if (present.empty()) break;
      const auto gone = std::next(present.begin(), static_cast<std::ptrdiff_t>(random.below(present.size())));
      gone->second == number ? slots.give_back(gone->first) : slots.retire(gone->first, gone->second);
      present.erase(gone);
    }
    slots.end_version({base.number, base.over});
    alive.push_back(std::exchange(base, Version{.number = number}));
    for (const auto& [slot, new_in] : present) base.reads.insert(slot);
    while (alive.size() > 30 || (!alive.empty() && random.chance(0.5))) {
      const auto gone = alive.begin() + static_cast<std::ptrdiff_t>(random.below(alive.size()));
      *gone->over = true;
      alive.erase(gone);
    }
  }
}

TEST(Slots, OfTheVersionInTheMakingComeBackAtOnce) {
  std::size_t memory = 0;
  Slots slots(0, 1000, [&](std::size_t n) { memory = n; });
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(slots.take(), i);
    EXPECT_GT(memory, i);
    EXPECT_LE(memory, 1000u);
  }
  slots.give_back(17);
  EXPECT_EQ(slots.take(), 17u);
  EXPECT_EQ(slots.end(), 300u);
}

TEST(Slots, WaitForVersionsBeforeTheWritersOwn) {
  const Over older = std::make_shared<std::atomic<bool>>(false),
             base = std::make_shared<std::atomic<bool>>(true);
  const std::vector<SlotArena::OlderVersion> versions{{1, older}};
  Slots slots(
      2, 2, [](std::size_t) {}, versions);
  slots.retire(0, 0);
  slots.end_version({2, base});
  slots.reclaim();
  EXPECT_EQ(slots.num_available(), 0u);
  *older = true;
  slots.reclaim();
  EXPECT_EQ(slots.num_available(), 1u);
}

// ---- Columns of nodes

// A node and vectors of its columns.
class ColumnsTest : public testing::Test {
 protected:
  using Column = BoundRows;

  MutableNode node(std::vector<std::byte>& bytes) const {
    bytes.assign(node_bytes_of(layout_), std::byte{0});
    return {bytes.data()};
  }
  // 63 multiples of 1/8: no code rounds them.
  BoundRows random_rows() {
    BoundRows rows(static_cast<std::size_t>(layout_.num_rows()));
    for (float& row : rows) row = static_cast<float>(random_() % 63) / 8 - 2;
    return rows;
  }
  Column column(MutableNode node, std::uint32_t child) const {
    Column rows;
    for (int row = 0; row < layout_.num_rows(); ++row) rows.push_back(node.bounds()[row][child]);
    return rows;
  }
  struct Child {
    std::uint32_t slot;
    std::int64_t min_id;
    Column column;
  };
  void expect(MutableNode node, const std::vector<Child>& children) const {
    ASSERT_EQ(node.header().num_children, children.size());
    for (std::uint32_t c = 0; c < children.size(); ++c) {
      EXPECT_EQ(node.children()[c], children[c].slot);
      EXPECT_EQ(node.min_ids()[c], children[c].min_id);
      EXPECT_EQ(column(node, c), children[c].column);
      EXPECT_EQ(position_of({node.bytes}, children[c].slot), c);
    }
    for (std::uint32_t c = node.header().num_children; c < kFanOut; ++c) {
      EXPECT_EQ(node.children()[c], 0u);
      EXPECT_EQ(node.min_ids()[c], 0);
      for (int row = 0; row < layout_.num_rows(); ++row) EXPECT_EQ(node.bounds()[row].codes[c], 0);
    }
  }
  void insert(MutableNode node, std::vector<Child>& children, std::uint32_t at) {
    const BoundRows rows = random_rows();
    open_column(layout_, node, at);
    node.children()[at] = next_slot_;
    node.min_ids()[at] = -static_cast<std::int64_t>(next_slot_) * 3;
    set_column(layout_, node, at, rows);
    children.insert(children.begin() + at, {next_slot_, -static_cast<std::int64_t>(next_slot_) * 3, rows});
    ++next_slot_;
  }

  const BoundLayout layout_{3};
  std::mt19937_64 random_{5};
  std::uint32_t next_slot_ = 100;
};

TEST_F(ColumnsTest, AreOpenedClosedAndAppendedAsInAVector) {
  std::vector<std::byte> bytes, other_bytes;
  for (int round = 0; round < 50; ++round) {
    const MutableNode a = node(bytes), b = node(other_bytes);
    std::vector<Child> in_a, in_b;
    while (in_a.size() < 20) insert(a, in_a, static_cast<std::uint32_t>(random_() % (in_a.size() + 1)));
    while (in_b.size() < 9) insert(b, in_b, static_cast<std::uint32_t>(random_() % (in_b.size() + 1)));
    expect(a, in_a);
    const auto first = static_cast<std::uint32_t>(random_() % 15);
    const auto count = static_cast<std::uint32_t>(random_() % 6);
    append_columns(layout_, b, {a.bytes}, first, count);
    in_b.insert(in_b.end(), in_a.begin() + first, in_a.begin() + first + count);
    close_columns(layout_, a, first, count);
    in_a.erase(in_a.begin() + first, in_a.begin() + first + count);
    expect(a, in_a);
    expect(b, in_b);
    update_min_id(b);
    const auto smallest = std::min_element(
        in_b.begin(), in_b.end(), [](const Child& x, const Child& y) { return x.min_id < y.min_id; });
    EXPECT_EQ(b.header().min_id, smallest->min_id);
  }
}

TEST_F(ColumnsTest, TellWhichRowsHaveChanged) {
  std::vector<std::byte> bytes;
  for (int round = 0; round < 200; ++round) {
    const BoundRows a = random_rows(), b = random_rows();
    const MutableNode parent = node(bytes);
    std::vector<Child> children;
    for (std::uint32_t c = 0; c < 4; ++c) insert(parent, children, c);
    set_column(layout_, parent, 2, a);
    const std::vector<BoundRow> before(parent.bounds(), parent.bounds() + layout_.num_rows());
    RowNumbers expected, changed;
    set_column(layout_, parent, 2, b, changed);
    for (std::size_t row = 0; row < before.size(); ++row)
      if (std::memcmp(&before[row], &parent.bounds()[row], sizeof(BoundRow)) != 0)
        expected.push_back(static_cast<std::uint16_t>(row));
    EXPECT_EQ(changed, expected);
    EXPECT_EQ(column(parent, 2), b);
    EXPECT_EQ(column(parent, 1), children[1].column);
    changed.clear();
    set_column(layout_, parent, 2, b, changed);
    EXPECT_TRUE(changed.empty());
  }
}

// ---- Order keys and ranges

TEST(OrderOf, IsTheKeysOwnOrder) {
  for (const ValueClass value_class : all_value_classes()) {
    Random random(static_cast<std::uint64_t>(value_class) + 1);
    const int d = random.between(1, 12);
    const Table table = random_table(random, value_class, 300, d);
    const auto snapshot = bulk_load(table.view(), {});
    RowChunk rows(600, static_cast<std::size_t>(d));  // rows of the table, and some far outside its range
    for (std::size_t r = 0; r < 600; ++r)
      for (std::size_t i = 0; i < rows.num_attributes(); ++i) {
        const double value = value_at(table.columns[i], r % 300);
        const double factor = r < 300 ? 1 : random.pick({-1.0, 0.0, 1e-320, 1e-3, 3.0, 1e5});
        const double sum = value * factor + (r < 300 ? 0 : random.pick({0.0, 1e-310, 1.0, -1e300}));
        rows(r, i) = std::isfinite(sum) ? sum + 0.0 : 0.0;
      }
    std::vector<OrderKey> keys(600);
    snapshot->partitioner->keys(rows, 0, 600, keys);
    for (std::size_t r = 0; r < 600; ++r)
      ASSERT_EQ(snapshot->partitioner->order_of([&](std::size_t i) { return rows(r, i); }) & kOrderMask,
                keys[r] & kOrderMask)
          << value_class_name(value_class) << ", row " << r;
  }
}

TEST(PresentRange, IsTheSmallestAndTheLargest) {
  for (const ValueClass value_class : all_value_classes()) {
    Random random(static_cast<std::uint64_t>(value_class) + 100);
    const Table table = random_table(random, value_class, 1200, random.between(1, 10));
    const auto snapshot = bulk_load(table.view(), {.leaf_rows = 16});
    for (std::size_t i = 0; i < snapshot->attributes.size(); ++i) {
      const AttributeStats range = present_range_of_index(*snapshot, i);
      EXPECT_EQ(range.minimum, snapshot->stats[i].minimum) << value_class_name(value_class);
      EXPECT_EQ(range.maximum, snapshot->stats[i].maximum) << value_class_name(value_class);
    }
  }
}

// Many pages. The one with the extremes is erased, again and again, and splits add pages.
TEST(PresentRange, FollowsTheRows) {
  std::map<std::int64_t, ModelRow> rows;
  for (std::int64_t id = 0; id < 40'000; ++id)
    rows[id] = {static_cast<double>(id), -static_cast<double>(id % 977)};
  TreeWriter writer(load_tree(rows, {.num_attributes = 2}));
  Random random(3);
  for (std::int64_t step = 0; step < (kSanitized ? 6 : 60); ++step) {
    ChangeMaker batch(rows);
    batch.erase(rows.begin()->first);
    batch.erase(rows.rbegin()->first);
    for (int r = 0; r < random.between(0, 200); ++r) {
      const std::int64_t id = 20'000 + static_cast<std::int64_t>(random.below(15'000));
      random.chance(0.5) ? batch.erase(id)
                         : batch.upsert(id, {static_cast<double>(id), random.pick({-5.0, 3.0})});
    }
    writer.apply(batch.make(2, false));
    batch.apply_to(rows);
    ASSERT_EQ(fault_in(*writer.finish_version(writer.current().version), rows), "") << "step " << step;
  }
}

}  // namespace
}  // namespace culmen::test
