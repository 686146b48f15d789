// Every allocation fails in turn: published versions stay unchanged, and a new writer continues from the last of them.
#include <gtest/gtest.h>

#include <new>
#include <random>

#include "base/with_threads.h"
#include "tests/cases.h"
#include "tests/index/write/failing_memory.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, ModelRow>;

class Faults : public testing::Test {
 protected:
  ModelRow row() {
    ModelRow values;
    for (int i = 0; i < 2; ++i) values.push_back(static_cast<double>(random_() % 500) / 64);
    return values;
  }
  void SetUp() override {
    for (std::int64_t id = 0; id < 700; ++id) rows_[id] = row();
  }
  // Splits, merges, an emptied partition, plain edits.
  ChangeMaker batch() {
    ChangeMaker change(rows_);
    for (std::int64_t id = 0; id < 700; id += 9) change.erase(id);
    for (std::int64_t id = 700; id < 760; ++id) change.upsert(id, row());
    for (std::int64_t id = 760; id < 800; ++id) change.upsert(id, {7, 7});
    return change;
  }

  std::mt19937_64 random_{9};
  Rows rows_;
  const TreeShape shape_{.num_attributes = 2, .num_partitions = 5, .labels = true};
};

// apply() and finish_version() fail at each of their allocations in turn.
TEST_F(Faults, LeaveThePublishedVersionsAsTheyAre) {
  const ChangeMaker made = batch();
  const Change change = made.make(2, true);
  Rows after = rows_;
  made.apply_to(after);
  std::shared_ptr<const Snapshot> base;
  std::int64_t num_failures = 0;
  const std::int64_t stride = kSanitized ? 7 : 2;
  for (std::int64_t n = 0;; n += stride) {
    if (n % (stride * 30) == 0) base = load_tree(rows_, shape_);  // failures use up slots
    TreeWriter writer(base);
    bool failed = false;
    std::shared_ptr<const Snapshot> next;
    allocations_left = n;
    try {
      writer.apply(change);
      next = writer.finish_version(2);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    ASSERT_EQ(fault_in(*base, rows_), "") << "at allocation " << n;
    if (!failed) {
      EXPECT_EQ(fault_in(*next, after), "");
      break;
    }
    if (++num_failures % 16 != 1) continue;
    TreeWriter again(base);
    again.apply(change);
    const std::shared_ptr<const Snapshot> second = again.finish_version(2);
    ASSERT_EQ(fault_in(*second, after), "") << "after a failure at allocation " << n;
    ASSERT_EQ(fault_in(*base, rows_), "");
  }
  EXPECT_GT(num_failures, 50);
}

TEST_F(Faults, InTheConstructorLeaveThePublishedVersionAsItIs) {
  const std::shared_ptr<const Snapshot> base = load_tree(rows_, shape_);
  for (std::int64_t n = 0;; ++n) {
    bool failed = false;
    allocations_left = n;
    try {
      // By this thread alone: oneTBB ends the process if an allocation for its workers fails.
      with_threads(1, [&] { const TreeWriter writer(base); });
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    ASSERT_EQ(fault_in(*base, rows_), "");
    if (!failed) break;
  }
}

// The next writer must not write to slots of older versions, although it did not make them.
TEST_F(Faults, AWriterThatTakesOverSparesOlderVersions) {
  const std::shared_ptr<const Snapshot> first = load_tree(rows_, shape_);
  const Rows first_rows = rows_;
  const auto change_some = [this](TreeWriter& writer) {
    ChangeMaker change(rows_);
    for (int i = 0; i < 40; ++i) change.upsert(static_cast<std::int64_t>(random_() % 700), row());
    writer.apply(change.make(2, true));
    change.apply_to(rows_);
    return writer.finish_version(writer.current().version);
  };
  std::shared_ptr<const Snapshot> newest;
  {
    TreeWriter writer(first);
    newest = change_some(writer);
  }
  TreeWriter writer(newest);
  for (int batch = 0; batch < 12; ++batch) {
    newest = change_some(writer);  // the previous writer is gone
    ASSERT_EQ(fault_in(*newest, rows_), "");
    ASSERT_EQ(fault_in(*first, first_rows), "") << "batch " << batch;
  }
}

}  // namespace
}  // namespace culmen::test
