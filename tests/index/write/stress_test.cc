// Trees at their limits: deep, emptied, refilled, out of slots, with rows far from the built range.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <span>

#include "index/build/load_steps.h"
#include "index/leaf_bounds.h"
#include "index/node_zone_map.h"
#include "index/storage/store.h"
#include "index/tree_height.h"
#include "tests/cases.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/write/tree_model.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, ModelRow>;

Change change_of(const ChangeMaker& batch, const TreeShape& shape) {
  return batch.make(shape.num_attributes, shape.labels);
}

// A tree and its rows.
class Tree {
 public:
  Tree(Rows rows, const TreeShape& shape)
      : rows_(std::move(rows)),
        shape_(shape),
        writer_(load_tree(rows_, shape)),
        now_(writer_.finish_version(1)) {}

  ChangeMaker batch() const { return ChangeMaker(rows_); }
  void apply(const ChangeMaker& batch) {
    writer_.apply(change_of(batch, shape_));
    batch.apply_to(rows_);
  }
  const Snapshot& finish() {
    now_ = writer_.finish_version(writer_.current().version);
    return *now_;
  }
  const Snapshot& apply_and_finish(const ChangeMaker& batch) {
    apply(batch);
    return finish();
  }
  std::string fault() const { return fault_in(*now_, rows_); }
  const Snapshot& now() const { return *now_; }
  std::shared_ptr<const Snapshot> shared() const { return now_; }
  const Rows& rows() const { return rows_; }

 private:
  Rows rows_;
  TreeShape shape_;
  TreeWriter writer_;
  std::shared_ptr<const Snapshot> now_;
};

Rows random_rows(std::int64_t count, int num_attributes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows rows;
  for (std::int64_t id = 0; id < count; ++id) {
    ModelRow& row = rows[id];
    for (int i = 0; i < num_attributes; ++i) row.push_back(static_cast<double>(random() % 100'000) / 0x1p17);
  }
  return rows;
}

// 1,024 full leaves, 32 full nodes, a full root: one more row turns eight leaves into ten and splits all levels above.
TEST(TreeWriter, SplitsEveryLevelAtOnce) {
  Tree tree(random_rows(16 * 32 * 32, 2, 1), {.num_attributes = 2, .num_partitions = 1});
  ASSERT_EQ(tree.now().height, 2);
  ASSERT_EQ(tree.now().num_leaves, 1024u);
  ChangeMaker batch = tree.batch();
  batch.upsert(100'000, {0.375, 0.375});
  tree.apply_and_finish(batch);
  EXPECT_EQ(tree.now().height, 3);
  EXPECT_EQ(tree.now().num_leaves, 1026u);
  EXPECT_EQ(tree.now().num_nodes, 36u);
  EXPECT_EQ(tree.fault(), "");
}

// Rows that follow from their id, for trees for which a map would be too slow.
class WideTree {
 public:
  explicit WideTree(std::int64_t count) : alive_(static_cast<std::size_t>(count), true) {
    std::vector<std::vector<float>> columns(2);
    for (std::int64_t id = 0; id < count; ++id)
      for (std::size_t i = 0; i < 2; ++i) columns[i].push_back(value(id, i));
    TableView table{alive_.size(), {{"a", Preference::high}, {"b", Preference::high}}, {}, {}, {}};
    for (const std::vector<float>& column : columns) table.columns.emplace_back(column);
    now_ = bulk_load(table, {.num_partitions = 3, .leaf_rows = 16});
    writer_ = std::make_unique<TreeWriter>(now_);
  }
  const Snapshot& now() const { return *now_; }
  std::size_t num_rows() const {
    return static_cast<std::size_t>(std::count(alive_.begin(), alive_.end(), true));
  }

  void erase(const std::vector<std::int64_t>& ids) {
    Change change;
    for (const std::int64_t id : ids)
      if (set_alive(id, false)) change.removed.push_back(id);
    apply(change);
  }
  void insert(const std::vector<std::int64_t>& ids) {
    Change change;
    for (const std::int64_t id : ids)
      if (!set_alive(id, true)) {
        change.ids.push_back(id);
        change.next_id = std::max(change.next_id, id_after(id));
      }
    std::vector<float> values;
    for (std::size_t i = 0; i < 2; ++i)
      for (const std::int64_t id : change.ids) values.push_back(value(id, i));
    const auto bytes = std::as_bytes(std::span(values));
    change.values.assign(bytes.begin(), bytes.end());
    apply(change);
  }
  // The ids in consecutive leaves, in the tree's order.
  std::vector<std::int64_t> ids_of_leaves(std::size_t first, std::size_t count) const {
    std::vector<std::int64_t> ids;
    const std::vector<std::uint32_t>& leaves = now_->order().leaves;
    for (std::size_t l = first; l < std::min(first + count, leaves.size()); ++l)
      ids.insert(ids.end(), now_->leaf_ids(leaves[l]),
                 now_->leaf_ids(leaves[l]) + now_->leaf(leaves[l]).num_rows);
    return ids;
  }
  std::string fault() const {
    const std::vector<std::string> faults = verify_snapshot(*now_, true);
    if (!faults.empty()) return faults.front();
    if (now_->num_rows != num_rows()) return "the number of rows";
    for (const std::uint32_t leaf : now_->order().leaves)
      for (std::uint32_t r = 0; r < now_->leaf(leaf).num_rows; ++r) {
        const std::int64_t id = now_->leaf_ids(leaf)[r];
        if (!alive_[static_cast<std::size_t>(id)]) return "a row that should have gone";
        for (int i = 0; i < 2; ++i)
          if (now_->value(leaf * std::uint64_t{16} + r, i) != value(id, static_cast<std::size_t>(i)))
            return "a value";
      }
    return "";
  }

 private:
  bool set_alive(std::int64_t id, bool alive) {  // returns what it was
    const bool before = alive_[static_cast<std::size_t>(id)];
    alive_[static_cast<std::size_t>(id)] = alive;
    return before;
  }
  static float value(std::int64_t id, std::size_t attribute) {
    return static_cast<float>(Random(static_cast<std::uint64_t>(id) * 2 + attribute).unit());
  }
  void apply(const Change& change) {
    writer_->apply(change);
    now_ = writer_->finish_version(writer_->current().version);
  }

  std::vector<bool> alive_;
  std::shared_ptr<const Snapshot> now_;
  std::unique_ptr<TreeWriter> writer_;
};

TEST(TreeWriter, KeepsADeepTreeWhileKeyRangesComeAndGo) {
  const std::int64_t num_rows = kSanitized ? 40'000 : 560'000;
  WideTree tree(num_rows);
  const int height = tree.now().height;
  const SlotArena* const arena = tree.now().arena.get();
  ASSERT_EQ(height, kSanitized ? 3 : 4);
  const auto leaves = static_cast<std::size_t>(tree.now().num_leaves);
  const std::vector<std::int64_t> middle = tree.ids_of_leaves(leaves / 3, leaves / 3);
  tree.erase(middle);
  ASSERT_EQ(tree.fault(), "");
  std::mt19937_64 random(4);
  for (int i = 0; i < 6; ++i) {  // some hundred neighbouring leaves, whose nodes are then nearly empty
    tree.erase(tree.ids_of_leaves(random() % static_cast<std::size_t>(tree.now().num_leaves),
                                  25 + random() % static_cast<std::uint64_t>(num_rows / 2000)));
    std::vector<std::int64_t> back(middle.begin() + i * 500, middle.begin() + i * 500 + 400);
    tree.insert(back);
    if (i % 3 == 0) {
      ASSERT_EQ(tree.fault(), "") << i;
    }
  }
  const auto shrink_to = [&](std::size_t rows,
                             std::size_t part) {  // from the front, from the back, from within
    while (tree.num_rows() > rows) {
      const auto left = static_cast<std::size_t>(tree.now().num_leaves);
      tree.erase(tree.ids_of_leaves(random() % 3 == 0 ? 0 : random() % left, 1 + left / part));
    }
    EXPECT_EQ(tree.fault(), "");
  };
  shrink_to(static_cast<std::size_t>(num_rows) * 52 / 100, 100);
  EXPECT_EQ(tree.now().arena.get(), arena) << "the index was rebuilt, so nothing was tested";
  shrink_to(100, 3);  // rebuilt with each half
  EXPECT_LT(tree.now().height, height);
  tree.insert(std::vector<std::int64_t>(middle.begin(), middle.begin() + 90));
  EXPECT_EQ(tree.fault(), "");
}

// Nodes with few children although a neighbour could merge with them.
std::size_t num_thin_nodes(const Snapshot& s) {
  std::size_t count = 0;
  for (const std::uint32_t slot : s.order().nodes) {
    const NodeRef node = s.node(slot);
    if (node.header().level == 1 || node.header().num_children < 2) continue;
    for (std::uint32_t c = 0; c < node.header().num_children; ++c)
      count += s.node(node.children()[c]).header().num_children < kFanOut / 4 ? 1 : 0;
  }
  return count;
}

// In steps of about a leaf, so that nodes have every number of children, with neighbours of every size.
TEST(TreeWriter, MergesAndBorrowsAmongNodesOfAllSizes) {
  std::mt19937_64 random(31);
  WideTree tree(kSanitized ? 12'000 : 40'000);
  int step = 0;
  while (tree.num_rows() > 400) {
    const auto leaves = static_cast<std::size_t>(tree.now().num_leaves);
    tree.erase(tree.ids_of_leaves(random() % leaves, 5 + random() % 30));
    if (++step % 4 == 0) {
      ASSERT_EQ(tree.fault(), "") << "step " << step;
      ASSERT_LE(num_thin_nodes(tree.now()), 2u);  // the load leaves one at the end of each level
    }
  }
  EXPECT_EQ(tree.fault(), "");
}

// All leaves are full after the load: each inserted row may split one.
TEST(TreeWriter, TakesALargeBatchWithoutALoad) {
  Tree tree(random_rows(30'000, 2, 21), {.num_attributes = 2, .num_partitions = 40});
  const SlotArena* const arena = tree.now().arena.get();
  ChangeMaker batch = tree.batch();
  for (const auto& [id, row] : random_rows(12'000, 2, 22)) batch.upsert(100'000 + id, row);
  tree.apply_and_finish(batch);
  EXPECT_EQ(tree.fault(), "");
  EXPECT_EQ(tree.now().arena.get(), arena);
}

TEST(TreeWriter, EmptiesAPartitionAndFillsItAgain) {
  Tree tree(random_rows(3000, 3, 2), {.num_partitions = 12});
  const std::size_t num_partitions = tree.now().order().partitions.size();
  ASSERT_GT(num_partitions, 4u);
  for (const std::size_t p : {std::size_t{0}, num_partitions / 2, num_partitions - 1}) {
    ChangeMaker out = tree.batch(), in = tree.batch();
    const PartitionRange range = tree.now().order().partitions[p];
    ASSERT_GT(range.num_leaves, 0u);
    Rows gone;
    for (std::uint32_t l = range.first_leaf; l < range.first_leaf + range.num_leaves; ++l) {
      const std::uint32_t leaf = tree.now().order().leaves[l];
      for (std::uint32_t r = 0; r < tree.now().leaf(leaf).num_rows; ++r)
        gone[tree.now().leaf_ids(leaf)[r]] = tree.rows().at(tree.now().leaf_ids(leaf)[r]);
    }
    for (const auto& [id, unused] : gone) out.erase(id);
    tree.apply_and_finish(out);
    ASSERT_EQ(tree.fault(), "");
    EXPECT_EQ(tree.now().order().partitions[p].num_leaves, 0u);
    ChangeMaker back = tree.batch();
    for (const auto& [id, row] : gone) back.upsert(id, row);
    tree.apply_and_finish(back);
    ASSERT_EQ(tree.fault(), "");
    EXPECT_GT(tree.now().order().partitions[p].num_leaves, 0u);
  }
}

// The page that is added for the row gets the slot of the page that had it, whose zone map is still there.
TEST(TreeWriter, EmptiesAPartitionOfOneRowAndInsertsTheSameRowAgain) {
  Rows rows = random_rows(2000, 2, 24);
  rows[5000] = {9, 9};
  Tree tree(rows, {.num_attributes = 2, .num_partitions = 64});
  const auto partition_of_row = [&](std::int64_t id) {
    for (const std::uint32_t leaf : tree.now().order().leaves)
      if (std::count(tree.now().leaf_ids(leaf), tree.now().leaf_ids(leaf) + tree.now().leaf(leaf).num_rows,
                     id) > 0)
        return tree.now().leaf(leaf).partition;
    return ~0U;
  };
  ChangeMaker others = tree.batch();
  const std::uint32_t partition = partition_of_row(5000);
  for (const std::uint32_t leaf : tree.now().order().leaves)
    for (std::uint32_t r = 0; r < tree.now().leaf(leaf).num_rows; ++r)
      if (tree.now().leaf(leaf).partition == partition && tree.now().leaf_ids(leaf)[r] != 5000)
        others.erase(tree.now().leaf_ids(leaf)[r]);
  tree.apply_and_finish(others);
  ChangeMaker out = tree.batch();
  out.erase(5000);
  tree.apply_and_finish(out);
  ASSERT_EQ(tree.fault(), "");
  ChangeMaker in = tree.batch();
  in.upsert(5000, {9, 9});
  tree.apply_and_finish(in);
  EXPECT_EQ(partition_of_row(5000), partition);
  EXPECT_EQ(tree.fault(), "");
}

TEST(TreeWriter, LosesAllItsRowsAndTakesNewOnes) {
  const TreeShape shape{.num_attributes = 2, .labels = true};
  Rows rows = random_rows(700, 2, 23);
  const Rows all = rows;
  TreeWriter writer(load_tree(rows, shape));
  std::shared_ptr<const Snapshot> before;
  const auto apply = [&](const ChangeMaker& batch, std::int64_t next_id, std::uint64_t rounded) {
    Change change = change_of(batch, shape);
    change.next_id = next_id;
    change.rounded_values = rounded;
    batch.apply_to(rows);
    writer.apply(change);
    const auto now = writer.finish_version(writer.current().version);
    EXPECT_EQ(fault_in(*now, rows), "");
    EXPECT_EQ(now->next_id, next_id);
    EXPECT_TRUE(now->has_labels);
    return now->rounded_values;
  };
  ChangeMaker one(rows), out(rows);
  one.erase(3);
  EXPECT_EQ(apply(one, 800, 5), 5u);
  for (const auto& [id, unused] : rows) out.erase(id);
  EXPECT_EQ(apply(out, 900, 0), 5u);
  EXPECT_TRUE(rows.empty());
  ChangeMaker back(rows);
  for (const auto& [id, row] : all) back.upsert(id, row);
  EXPECT_EQ(apply(back, 1000, 2), 7u);
}

// Several partitions at once: one batch erases the last rows of one and inserts the first of another.
TEST(TreeWriter, ChangesPartitionsForEachOther) {
  std::mt19937_64 random(8);
  Tree tree(random_rows(2000, 2, 3), {.num_attributes = 2, .num_partitions = 30});
  for (int round = 0; round < 30; ++round) {
    ChangeMaker batch = tree.batch();
    const std::uint32_t parity = static_cast<std::uint32_t>(round) % 2;
    for (const std::uint32_t leaf : tree.now().order().leaves)
      for (std::uint32_t r = 0; r < tree.now().leaf(leaf).num_rows; ++r) {
        if (tree.now().leaf(leaf).partition % 2 != parity || random() % 8 == 0) continue;
        batch.upsert(tree.now().leaf_ids(leaf)[r], {static_cast<double>(random() % 1000) / 1024,
                                                    static_cast<double>(random() % 1000) / 1024});
      }
    tree.apply_and_finish(batch);
    ASSERT_EQ(tree.fault(), "") << round;
  }
}

TEST(TreeWriter, TakesThousandsOfRowsInOneLeaf) {
  Tree tree(random_rows(6000, 3, 5), {.num_partitions = 4});
  ChangeMaker batch = tree.batch();
  std::mt19937_64 random(6);
  for (std::int64_t id = 10'000; id < 15'000; ++id)
    batch.upsert(id, {0.5, 0.25, static_cast<double>(random() % 8) * 0x1p-17});
  tree.apply_and_finish(batch);
  EXPECT_EQ(tree.fault(), "");
  ChangeMaker out = tree.batch();
  for (std::int64_t id = 10'003; id < 15'000; ++id) out.erase(id);
  tree.apply_and_finish(out);
  EXPECT_EQ(tree.fault(), "");
}

TEST(TreeWriter, TakesIdsAtTheEndsOfTheirRange) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle, Partitioning::random}) {
    Tree tree(random_rows(500, 3, 7), {.partitioning = partitioning, .num_partitions = 3});
    for (const std::int64_t id : {kLowest, kHighest, std::int64_t{-1}, kLowest + 1, kHighest - 1}) {
      ChangeMaker batch = tree.batch();
      batch.upsert(id, {0.125, 0.25, 0.375});
      tree.apply_and_finish(batch);
      ASSERT_EQ(tree.fault(), "") << id;
    }
    ChangeMaker batch = tree.batch();
    batch.erase(kLowest);
    batch.upsert(kHighest, {0.75, 0.75, 0.75});
    tree.apply_and_finish(batch);
    EXPECT_EQ(tree.fault(), "");
  }
}

// Bounds of exact sums have no error bound. Far from the built range an error bound would exceed one step of a bound:
// sums of 2^45 and -2^45 cancel, but their rounding errors would not.
TEST(TreeWriter, LoosensBoundsOnceSumsMayRound) {
  Rows rows;
  std::mt19937_64 random(12);
  for (std::int64_t id = 0; id < 3000; ++id)
    rows[id] = {static_cast<double>(random() % 4), static_cast<double>(random() % 4),
                static_cast<double>(random() % 4)};
  Tree tree(rows, {.num_partitions = 6});
  ASSERT_TRUE(tree.now().exact_sums);
  ChangeMaker far = tree.batch();
  for (std::int64_t id = 5000; id < 5010; ++id)
    far.upsert(id, {0x1p45, -0x1p45, static_cast<double>(id % 3)});
  tree.apply_and_finish(far);
  ASSERT_TRUE(tree.now().exact_sums);
  ASSERT_EQ(tree.fault(), "");
  ChangeMaker fine = tree.batch();
  fine.upsert(6000, {static_cast<double>(0.1F), 1, 2});
  tree.apply_and_finish(fine);
  EXPECT_FALSE(tree.now().exact_sums);
  EXPECT_EQ(tree.fault(), "");
  for (const std::uint32_t n : tree.now().order().nodes) {  // unused codes stay zero
    const NodeRef node = tree.now().node(n);
    for (int row = 0; row < tree.now().layout.num_rows(); ++row)
      for (std::uint32_t c = node.header().num_children; c < kFanOut; ++c)
        ASSERT_EQ(node.bounds()[row].codes[c], 0);
  }
}

// An outlier in one attribute is inserted and erased again.
TEST(TreeWriter, KeepsBoundsOfALeafTightWhenAnExtremeIsErased) {
  Tree tree(random_rows(3000, 2, 20), {.num_attributes = 2, .num_partitions = 1});
  for (const ModelRow& far : {ModelRow{0.5, 1.75}, ModelRow{-0.5, 0.5}, ModelRow{1e9, 1e9}}) {
    for (const bool is_there : {true, false}) {
      ChangeMaker batch = tree.batch();
      is_there ? batch.upsert(9999, far) : batch.erase(9999);
      tree.apply_and_finish(batch);
    }
    ASSERT_EQ(tree.fault(), "");
    const Snapshot& s = tree.now();
    LeafBounds bounds(s.layout, s.units, s.exact_sums, s.leaf_rows);
    BoundRows wanted(static_cast<std::size_t>(s.layout.num_rows()));
    for (const std::uint32_t n : s.order().nodes) {
      if (s.node(n).header().level > 1) continue;
      for (std::uint32_t c = 0; c < s.node(n).header().num_children; ++c) {
        const std::uint32_t leaf = s.node(n).children()[c];
        bounds.compute(s.leaf_values<float>(leaf), static_cast<int>(s.leaf(leaf).num_rows), wanted);
        for (std::size_t row = 0; row < wanted.size(); ++row)  // all unit values are from 0 to 2
          EXPECT_LE(std::abs(s.node(n).bounds()[row][c] - wanted[row]), 0.125F) << row;
      }
    }
  }
}

// Nodes with one child each, above the root.
void make_tall(Snapshot& s, int height) {
  while (s.height < height) {
    const auto slot = static_cast<std::uint32_t>(s.num_nodes);
    s.arena->grow_nodes(slot + 1);
    const MutableNode above = s.arena->mutable_node(slot);
    const NodeRef below = s.node(s.root);
    above.header().num_children = 1;
    above.header().level = static_cast<std::uint32_t>(++s.height);
    above.header().min_id = above.min_ids()[0] = below.header().min_id;
    above.children()[0] = s.root;
    BoundRows rows(static_cast<std::size_t>(s.layout.num_rows()));
    aggregate_bounds(below.bounds(), below.header().num_children, rows);
    std::vector<float> bounds(rows.size() * kFanOut);
    for (std::size_t row = 0; row < rows.size(); ++row) bounds[row * kFanOut] = rows[row];
    encode_bounds(s.layout, bounds, 1, above.bounds());
    s.root = slot;
    s.node_slots = ++s.num_nodes;
  }
  write_node_zone_maps(s);
}

TEST(TreeWriter, RebuildsATreeThatIsAsTallAsMayBe) {
  Rows rows = random_rows(2000, 2, 21);
  const auto tall = std::const_pointer_cast<Snapshot>(load_tree(rows, {.num_attributes = 2}));
  make_tall(*tall, most_levels(tall->num_leaves));
  TreeWriter writer(tall);
  ChangeMaker batch(rows);
  batch.upsert(9999, {0.5, 0.5});
  writer.apply(batch.make(2, false));
  batch.apply_to(rows);
  const std::shared_ptr<const Snapshot> now = writer.finish_version(writer.current().version);
  EXPECT_EQ(fault_in(*now, rows), "");
  EXPECT_LE(now->height, 2);
}

// Referenced versions keep their slots. When none are free, the rows are reloaded into a new arena. With sums that
// round, fewer slots are reserved, so the batch itself must be counted.
TEST(TreeWriter, LoadsAnewWhenSlotsRunOut) {
  for (const double smallest : {0x1p-17, 0x1p-120}) {
    std::mt19937_64 random(13);
    Rows rows = random_rows(kSanitized ? 8000 : 20'000, 3, 14);
    rows[0][2] = smallest;
    Tree tree(rows, {});
    ASSERT_EQ(tree.now().exact_sums, smallest == 0x1p-17);
    const SlotArena* const first_arena = tree.now().arena.get();
    std::vector<std::pair<std::shared_ptr<const Snapshot>, Rows>> some;
    std::vector<std::shared_ptr<const Snapshot>> all;
    int batches = 0;
    for (; tree.now().arena.get() == first_arena && batches < 5000; ++batches) {
      ChangeMaker batch = tree.batch();
      for (int step = 0; step < 100; ++step) {
        const auto id = static_cast<std::int64_t>(1 + random() % 7999);
        batch.upsert(
            id, {static_cast<double>(random() % 1000) / 1024, 0.5, static_cast<double>(random() % 9) / 16});
      }
      tree.apply_and_finish(batch);
      all.push_back(tree.shared());
      if (batches % 64 == 0) some.push_back({tree.shared(), tree.rows()});
    }
    EXPECT_NE(tree.now().arena.get(), first_arena) << "no slot ran out in " << batches << " batches";
    EXPECT_EQ(tree.fault(), "");
    for (const auto& [version, old_rows] : some) ASSERT_EQ(fault_in(*version, old_rows), "");
  }
}

// No reader holds older versions: the same slots are reused.
TEST(TreeWriter, NeedsNoMoreSlotsWhenNobodyHoldsOldVersions) {
  std::mt19937_64 random(15);
  Tree tree(random_rows(5000, 3, 16), {});
  const SlotArena* const arena = tree.now().arena.get();
  std::size_t slots = 0;
  for (int b = 0; b < 150; ++b) {  // fewer rows than the index has, which would rebuild it
    ChangeMaker batch = tree.batch();
    for (int step = 0; step < 30; ++step)
      batch.upsert(static_cast<std::int64_t>(random() % 5000),
                   {0.25, static_cast<double>(random() % 1000) / 1024, 0.5});
    tree.apply_and_finish(batch);
    if (b == 75) slots = tree.now().leaf_slots;
  }
  EXPECT_EQ(tree.now().arena.get(), arena);
  EXPECT_LT(tree.now().leaf_slots, slots + slots / 4);
  EXPECT_EQ(tree.fault(), "");
}

TEST(TreeWriter, ComesBackFromItsFileAfterItsExtremesHaveGone) {
  Tree tree(random_rows(2000, 3, 17), {.num_partitions = 2});
  ChangeMaker in = tree.batch();
  in.upsert(5000, {0.125, 0.125, -7});
  in.upsert(5001, {0.125, 9, 0.125});
  tree.apply_and_finish(in);
  ChangeMaker out = tree.batch();
  out.erase(5000);
  out.erase(5001);
  tree.apply_and_finish(out);
  ASSERT_EQ(tree.fault(), "");
  EXPECT_LT(tree.now().stats[1].maximum, 1);
  EXPECT_GE(tree.now().stats[2].minimum, 0);
  storage::MemoryFileSystem system;
  storage::save(tree.now(), system, "index", false);
  EXPECT_EQ(fault_in(*storage::load(system, "index"), tree.rows()), "");
}

#if defined(__x86_64__)
TEST(TreeWriter, MindsNoFloatingPointRulesOfTheHost) {
  const TreeShape shape{.num_attributes = 5};
  Rows rows = random_rows(3000, 5, 18);
  TreeWriter writer(load_tree(rows, shape));
  std::mt19937_64 random(19);
  for (const unsigned rules : {0x2000u, 0x4000u, 0x6000u, 0x8040u}) {  // rounding; flush to zero
    ChangeMaker batch(rows);
    for (int step = 0; step < 200; ++step) {
      ModelRow row;
      for (int i = 0; i < 5; ++i)
        row.push_back(random() % 9 == 0 ? 0x1p-140 : static_cast<float>(random()) * 0x1p-64F);
      batch.upsert(static_cast<std::int64_t>(random() % 4000), row);
    }
    const Change change = change_of(batch, shape);
    batch.apply_to(rows);
    _mm_setcsr(0x1f80u | rules);
    writer.apply(change);
    const unsigned after = _mm_getcsr() & ~0x3fu;
    _mm_setcsr(0x1f80u);
    EXPECT_EQ(after, 0x1f80u | rules);
    ASSERT_EQ(fault_in(*writer.finish_version(writer.current().version), rows), "") << std::hex << rules;
  }
}
#endif

}  // namespace
}  // namespace culmen::test
