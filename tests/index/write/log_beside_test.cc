// The log beside the tree: the versions that a reader makes hold what a map holds, read nothing of the files, and refuse a
// log that contradicts itself or, where it is looked up, the files.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/find_rows.h"
#include "index/spreads.h"
#include "index/storage/store.h"
#include "index/write/live_index.h"
#include "index/write/log_beside.h"
#include "tests/cases.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using storage::MemoryFileSystem;
using BesideRows = std::map<std::int64_t, ModelRow>;

ModelRow drawn_row(Random& random, int num_attributes) {
  ModelRow row;
  for (int i = 0; i < num_attributes; ++i)
    row.push_back(static_cast<double>(static_cast<float>(random.below(2000)) / 64));
  return row;
}

std::shared_ptr<const Snapshot> touched(MemoryFileSystem& system, const BesideRows& rows,
                                        const TreeShape& shape) {
  storage::save(*load_tree(rows, shape), system, "index", true);
  return storage::load(system, "index", Loading::on_touch);
}

std::vector<Spread> spreads_of_rows(const BesideRows& rows) {
  std::vector<Moments> moments(rows.begin()->second.size());
  for (const auto& [id, row] : rows)
    for (std::size_t i = 0; i < row.size(); ++i) moments[i].add(row[i]);
  std::vector<Spread> spreads;
  for (const Moments& of : moments) spreads.push_back(spread_of(of));
  return spreads;
}

std::size_t num_leaves_read(const Snapshot& tree) {
  std::size_t count = 0;
  for (std::size_t leaf = 0; leaf < tree.num_leaves; ++leaf) count += tree.arena->has_leaf(leaf) ? 1 : 0;
  return count;
}

TEST(LogBeside, HoldsWhatAMapHolds) {
  for (std::uint64_t seed = 1; seed <= num_cases(kSanitized ? 10 : 40); ++seed) {
    Random random(seed);
    const TreeShape shape = {.num_attributes = random.pick({1, 2, 9, 9, 70}),
                             .partitioning = random.pick({Partitioning::angle, Partitioning::kd}),
                             .labels = random.chance(0.5)};
    BesideRows rows;
    std::int64_t next_id = 0;
    while (next_id < random.pick({20, 300, 3000})) rows[next_id++] = drawn_row(random, shape.num_attributes);
    MemoryFileSystem system;
    const std::shared_ptr<const Snapshot> base = touched(system, rows, shape);
    LogBeside beside(base, random.pick({0u, 10'000u, 5u << 20}));
    std::vector<std::pair<std::shared_ptr<const Snapshot>, BesideRows>> versions;
    std::uint64_t number = base->version;
    for (int batches = random.between(1, 30); batches > 0; --batches) {
      ChangeMaker batch(rows);
      for (int step = random.between(1, 40); step > 0; --step) {
        const auto old = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(next_id) + 2));
        if (random.chance(0.3)) {
          batch.erase(old);
        } else {
          batch.upsert(random.chance(0.5) ? old : next_id++, drawn_row(random, shape.num_attributes));
        }
      }
      beside.add(batch.make(shape.num_attributes, shape.labels));
      batch.apply_to(rows);
      ++number;
      if (random.chance(0.4)) versions.emplace_back(beside.version(number), rows);
    }
    versions.emplace_back(beside.version(number), rows);
    EXPECT_EQ(num_leaves_read(*base), 0u);
    for (const auto& [version, expected] : versions) {
      ASSERT_EQ(version->num_rows, expected.size()) << "seed " << seed;
      ASSERT_EQ(fault_in(*load_anew(*version), expected), "") << "seed " << seed;
      ASSERT_EQ(fault_in(*fold_log(*version), expected), "") << "seed " << seed;
      const std::shared_ptr<const Snapshot> arranged = for_searches(version, 1000);
      ASSERT_EQ(arranged, for_searches(version, 1));
      ASSERT_TRUE(arranged->logged->is_arranged || arranged->logged->rows->num_rows == 0);
      ASSERT_EQ(fault_in(*load_anew(*arranged), expected), "") << "seed " << seed;
    }
  }
}

// Some users limit the addresses of a process.
TEST(LogBeside, ReservesNoRoomForRowsThatItDoesNotChange) {
  BesideRows rows;
  for (std::int64_t id = 0; id < 100; ++id) rows[id] = {1.0, 2.0};
  MemoryFileSystem system;
  const std::shared_ptr<const Snapshot> base = touched(system, rows, {.num_attributes = 2});
  LogBeside beside(base, 1000);
  ChangeMaker batch(rows);
  batch.upsert(100, {3.0, 4.0});
  beside.add(batch.make(2, false));
  const std::shared_ptr<const Snapshot> version = beside.version(base->version + 1);
  ASSERT_FALSE(version->logged->is_arranged);
  EXPECT_EQ(version->logged->rows->arena->leaf_capacity(), version->logged->rows->num_leaves);
  EXPECT_EQ(version->logged->rows->arena->node_capacity(), version->logged->rows->num_nodes);
}

class LogThatContradicts : public testing::Test {
 protected:
  LogThatContradicts() {
    for (std::int64_t id = 0; id < 100; ++id) rows_[id] = {static_cast<double>(id)};
    base_ = touched(system_, rows_, {.num_attributes = 1});
  }

  static Change change(std::vector<std::int64_t> removed, std::vector<std::int64_t> added) {
    Change change;
    change.removed = std::move(removed);
    change.ids = std::move(added);
    const std::vector<float> values(change.ids.size(), 1.0F);
    const auto bytes = std::as_bytes(std::span(values));
    change.values.assign(bytes.begin(), bytes.end());
    change.next_id = ChangeMaker::kNextId;
    return change;
  }

  // The version after these batches, each of which makes one.
  std::shared_ptr<const Snapshot> after(const std::vector<Change>& changes) const {
    LogBeside beside(base_, 0);
    std::shared_ptr<const Snapshot> version;
    for (const Change& one : changes) {
      beside.add(one);
      version = beside.version(version == nullptr ? base_->version + 1 : version->version + 1);
    }
    return version;
  }

  MemoryFileSystem system_;
  BesideRows rows_;
  std::shared_ptr<const Snapshot> base_;
};

TEST_F(LogThatContradicts, ItselfIsRefused) {
  EXPECT_THROW(after({change({}, {200, 200})}), FormatError);
  EXPECT_THROW(after({change({}, {200}), change({}, {200})}), FormatError);
  EXPECT_THROW(after({change({}, {200}), change({}, {201}), change({}, {201})}), FormatError);
  EXPECT_THROW(after({change({5, 5}, {})}), FormatError);
  EXPECT_THROW(after({change({5}, {}), change({5}, {})}), FormatError);
  EXPECT_NO_THROW(after({change({5}, {5}), change({5}, {}), change({}, {5})}));
  std::vector<std::int64_t> many;
  for (std::int64_t id = 0; id < 101; ++id) many.push_back(id);
  EXPECT_THROW(after({change(many, {})}), FormatError);
}

TEST_F(LogThatContradicts, TheFilesIsRefusedWhereTheyAreLookedUp) {
  for (const auto& version : {after({change({}, {200, 7})}), after({change({150}, {200})})}) {
    EXPECT_THROW(static_cast<void>(fold_log(*version)), FormatError);
  }
  EXPECT_NO_THROW(static_cast<void>(fold_log(*after({change({7}, {200, 7})}))));
}

// A reader whose writer was killed, or goes on.
TEST(LogBeside, ReadersFollowTheirWriter) {
  Random random(11);
  BesideRows rows;
  std::int64_t next_id = 0;
  while (next_id < 5000) rows[next_id++] = drawn_row(random, 2);
  MemoryFileSystem system;
  storage::save(*load_tree(rows, {.num_attributes = 2}), system, "index", false);
  LiveIndex writer(system, "index", {.writable = true});
  LiveIndex early(system, "index", {.loading = Loading::on_touch});
  const auto write_some = [&] {
    std::vector<double> a, b;
    std::vector<std::int64_t> ids, erased;
    for (int i = 0; i < 50; ++i) {
      const auto id = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(next_id) + 50));
      if (rows.count(id) > 0 && random.chance(0.3)) {
        erased.push_back(id);
        continue;
      }
      next_id = std::max(next_id, id + 1);
      ids.push_back(id);
      a.push_back(drawn_row(random, 1)[0]);
      b.push_back(drawn_row(random, 1)[0]);
    }
    TableView table;
    table.num_rows = ids.size();
    table.attributes = {{"a0"}, {"a1"}};
    table.columns = {ColumnView(a), ColumnView(b)};
    table.ids = ids;
    writer.write(WriteBatch().upsert(table).erase(erased), {});
    for (std::size_t i = 0; i < ids.size(); ++i) rows[ids[i]] = {a[i], b[i]};
    for (const std::int64_t id : erased) rows.erase(id);
  };
  const auto fault = [&](LiveIndex& reader) {
    const std::shared_ptr<const Snapshot> version = reader.published()->get();
    if (version->logged == nullptr) return std::string("no log beside");
    if (version->spreads() != spreads_of_rows(rows)) return std::string("the deviations");
    return fault_in(*load_anew(*version), rows);
  };
  for (int step = 0; step < 6; ++step) {
    write_some();
    EXPECT_EQ(early.refresh(), Refreshed::advanced);
    ASSERT_EQ(fault(early), "") << step;
    LiveIndex late(system, "index", {.loading = Loading::on_touch});
    ASSERT_EQ(fault(late), "") << step;
    if (step == 3) writer.checkpoint();
  }
  EXPECT_EQ(early.refresh(), Refreshed::unchanged);
  // From here on it has trees.
  const std::shared_ptr<const Snapshot> folded = early.fold();
  ASSERT_EQ(fault_in(*folded, rows), "");
  EXPECT_EQ(early.published()->get(), folded);
  write_some();
  EXPECT_EQ(early.refresh(), Refreshed::advanced);
  ASSERT_EQ(fault_in(*early.published()->get(), rows), "");
  writer.checkpoint();
  write_some();
  EXPECT_EQ(early.refresh(), Refreshed::advanced);
  ASSERT_EQ(fault_in(*early.published()->get(), rows), "");
}

}  // namespace
}  // namespace culmen::test
