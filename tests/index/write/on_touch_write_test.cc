// Writers of indexes that were opened on touch: they hold what a map holds, read little, and refuse a change that needs a
// damaged place before anything of it is logged.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/read_row.h"
#include "culmen/error.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "index/write/log_beside.h"
#include "index/write/tree_writer.h"
#include "tests/cases.h"
#include "tests/field_tables.h"
#include "tests/index/storage/damage.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using storage::Files;
using storage::MemoryFileSystem;

Files files_of(const Snapshot& snapshot) {
  MemoryFileSystem system;
  storage::save(snapshot, system, "index", false);
  Files files = system.files("index");
  files.erase("LOCK");
  return files;
}

// ---- The tree

using ModelRows = std::map<std::int64_t, ModelRow>;

struct TouchedCourse {
  std::string name;
  TreeShape shape = {};
  int first_rows = 6000;
  int most_rows = 6;     // of a batch
  int num_values = 700;  // that an attribute takes
  double inserts = 0.4;  // share of the steps
  double drift = 0;      // by how much values move a batch
};

void PrintTo(const TouchedCourse& course, std::ostream* out) {
  *out << course.name;
}

class TouchedTree : public testing::TestWithParam<TouchedCourse> {
 protected:
  void SetUp() override {
    for (; next_id_ < GetParam().first_rows; ++next_id_) rows_[next_id_] = random_row();
  }

  ModelRow random_row() {
    ModelRow row;
    for (int i = 0; i < GetParam().shape.num_attributes; ++i)
      row.push_back(static_cast<float>(
          offset_ +
          static_cast<double>(random_.below(static_cast<std::uint64_t>(GetParam().num_values))) / 1024));
    return row;
  }

  std::int64_t some_id() {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(next_id_) + 2));
  }

  void write_batch(TreeWriter& writer) {
    ChangeMaker batch(rows_);
    for (int step = random_.between(1, GetParam().most_rows); step > 0; --step) {
      if (random_.chance(GetParam().inserts)) {
        batch.upsert(next_id_++, random_row());
      } else if (random_.chance(0.3)) {
        batch.upsert(some_id(), random_row());
      } else {
        batch.erase(some_id());
      }
    }
    writer.apply(batch.make(GetParam().shape.num_attributes, GetParam().shape.labels));
    batch.apply_to(rows_);
    offset_ += GetParam().drift;
  }

  Random random_{7};
  ModelRows rows_;
  std::int64_t next_id_ = 0;
  double offset_ = 0;
};

// The tree goes from the files of one writer to the next, so nodes are not as a build leaves them. Nothing but the writer
// reads before its last batch: what it did not read must not matter.
TEST_P(TouchedTree, HoldsWhatAMapHolds) {
  std::shared_ptr<const Snapshot> version = load_tree(rows_, GetParam().shape);
  const std::uint64_t num_writers = num_cases(kSanitized ? 10 : 40);
  for (std::uint64_t w = 0; w < num_writers; ++w) {
    MemoryFileSystem system;
    system.put("index", files_of(*version));
    const std::shared_ptr<const Snapshot> first = storage::load(system, "index", Loading::on_touch);
    const ModelRows rows_before = rows_;
    TreeWriter writer(first);
    std::deque<std::pair<std::shared_ptr<const Snapshot>, ModelRows>> kept;
    for (int batches = random_.between(1, 25); batches > 0; --batches) {
      write_batch(writer);
      const std::int64_t id = some_id();
      ASSERT_EQ(writer.contains(id), rows_.count(id) > 0) << "writer " << w << ", id " << id;
      if (random_.chance(0.3)) continue;  // several batches in one version
      version = writer.finish_version(writer.current().version);
      if (random_.chance(0.2)) kept.emplace_back(version, rows_);
    }
    version = writer.finish_version(writer.current().version);
    for (const auto& [older, rows] : kept) ASSERT_EQ(fault_in(*older, rows), "") << "writer " << w;
    ASSERT_EQ(fault_in(*version, rows_), "") << "writer " << w;
    ASSERT_EQ(fault_in(*first, rows_before), "") << "writer " << w;
    for (std::int64_t id = 0; id < next_id_; id += 7)
      ASSERT_EQ(writer.contains(id), rows_.count(id) > 0) << id;
  }
}

std::vector<TouchedCourse> touched_courses() {
  const TreeShape labelled = {.num_attributes = 2, .labels = true}, one_partition = {.num_partitions = 1},
                  random = {.partitioning = Partitioning::random}, kd = {.partitioning = Partitioning::kd},
                  wide = {.num_attributes = 9};
  return {{"mixed"},
          {.name = "one_row", .most_rows = 1},
          {.name = "labelled", .shape = labelled},
          {.name = "one_partition", .shape = one_partition, .most_rows = 20},
          {.name = "growing", .shape = kd, .most_rows = 40, .inserts = 0.95},
          {.name = "drifting", .shape = kd, .most_rows = 40, .inserts = 0.9, .drift = 0.02},
          {.name = "shrinking", .first_rows = 9000, .most_rows = 40, .inserts = 0.05},
          {.name = "ties", .shape = random, .num_values = 3},
          {.name = "wide", .shape = wide, .first_rows = 3000}};
}

INSTANTIATE_TEST_SUITE_P(All, TouchedTree, testing::ValuesIn(touched_courses()),
                         [](const auto& suite) { return suite.param.name; });

TEST(WriteOnTouch, ReadsLittle) {
  Random random(3);
  ModelRows rows;
  for (std::int64_t id = 0; id < 60'000; ++id)
    rows[id] = {static_cast<double>(random.below(1000)) / 1024,
                static_cast<double>(random.below(1000)) / 1024};
  MemoryFileSystem system;
  system.put("index", files_of(*load_tree(rows, {.num_attributes = 2})));
  const std::shared_ptr<const Snapshot> first = storage::load(system, "index", Loading::on_touch);
  TreeWriter writer(first);
  ChangeMaker batch(rows);
  batch.upsert(60'000, {0.25, 0.5});
  batch.erase(17);
  batch.upsert(30'000, {0.5, 0.75});
  writer.apply(batch.make(2, false));
  batch.apply_to(rows);
  const std::shared_ptr<const Snapshot> next = writer.finish_version(2);
  std::uint64_t num_leaves = 0, num_nodes = 0;
  for (std::size_t leaf = 0; leaf < first->num_leaves; ++leaf) num_leaves += first->arena->has_leaf(leaf);
  for (std::size_t node = 0; node < first->num_nodes; ++node) num_nodes += first->arena->has_node(node);
  EXPECT_GT(first->num_leaves, 3000u);
  EXPECT_LT(num_leaves, 200u);
  EXPECT_LT(num_nodes, first->num_nodes);
  EXPECT_EQ(fault_in(*next, rows), "");
}

// Erased rows with the extremes of the index are no reason to read all.
TEST(WriteOnTouch, FindsExtremesThatWereErasedByReadingLittle) {
  ModelRows rows;
  for (std::int64_t id = 0; id < 40'000; ++id)
    rows[id] = {static_cast<double>(id), -static_cast<double>(id % 977)};
  MemoryFileSystem system;
  system.put("index", files_of(*load_tree(rows, {.num_attributes = 2})));
  const std::shared_ptr<const Snapshot> first = storage::load(system, "index", Loading::on_touch);
  TreeWriter writer(first);
  ChangeMaker batch(rows);
  batch.erase(0);
  batch.erase(39'999);
  writer.apply(batch.make(2, false));
  batch.apply_to(rows);
  std::uint64_t num_leaves = 0;
  for (std::size_t leaf = 0; leaf < first->num_leaves; ++leaf) num_leaves += first->arena->has_leaf(leaf);
  EXPECT_LT(num_leaves, 200u);
  EXPECT_EQ(writer.current().stats[0].minimum, 1);
  EXPECT_EQ(writer.current().stats[0].maximum, 39'998);
  EXPECT_EQ(fault_in(*writer.finish_version(2), rows), "");
}

// ---- The index

Schema schema_of_all() {
  return {.attributes = {{"a"}, {"b", Preference::low}},
          .has_labels = true,
          .fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                     {"stock", FieldRole::filter, {ColumnType::integer}},
                     {"note", FieldRole::stored, {ColumnType::text}}}};
}

culmen::Row random_full_row(Random& random, std::int64_t id) {
  const auto value = [&] {
    return random.chance(0.1) ? std::numeric_limits<double>::quiet_NaN()
                              : static_cast<double>(random.below(2000)) / 1024;
  };
  const std::string text = "text " + std::to_string(random.below(30));
  return {id,
          {value(), value()},
          "row " + std::to_string(random.next() % 100),
          {random.chance(0.1) ? FieldValue() : FieldValue(text),
           random.chance(0.1) ? FieldValue() : FieldValue(static_cast<std::int64_t>(random.below(500))),
           FieldValue(text)}};
}

bool same(const culmen::Row& a, const culmen::Row& b) {
  const auto same_value = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return a.id == b.id && a.label == b.label && a.fields == b.fields &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_value);
}

using FullRows = std::map<std::int64_t, culmen::Row>;

// Batches of rows with labels, fields and gaps, and the rows that the index holds if it acknowledged a batch.
class FullModel {
 public:
  explicit FullModel(std::uint64_t seed) : random_(seed) {}

  FullRows rows;
  Random& random() { return random_; }

  Files build(std::int64_t num_rows) {
    std::vector<culmen::Row> all;
    for (; next_id_ < num_rows; ++next_id_) all.push_back(random_full_row(random_, next_id_));
    for (const culmen::Row& row : all) rows[row.id] = row;
    const RowTable table(random_, schema_of_all(), all);
    return files_of(*bulk_load(table.view(), {.leaf_rows = 16, .value_type = ValueType::float32}));
  }

  // Throws what the index throws, and then expects nothing of the batch.
  void write(LiveIndex& index, int most_rows) {
    FullRows expected = rows;
    std::vector<culmen::Row> given;
    std::vector<std::int64_t> erased;
    std::int64_t next_id = next_id_;
    for (int step = random_.between(1, most_rows); step > 0; --step) {
      const std::uint64_t some =
          random_.chance(0.2) ? random_.below(20) : random_.below(static_cast<std::uint64_t>(next_id));
      const std::int64_t some_id = next_id + 1 - static_cast<std::int64_t>(some);  // the log has the newest
      if (random_.chance(0.3)) {
        erased.push_back(some_id);
      } else {
        given.push_back(random_full_row(random_, random_.chance(0.6) ? next_id++ : some_id));
      }
    }
    for (const culmen::Row& row : given) expected[row.id] = row, next_id = std::max(next_id, row.id + 1);
    for (const std::int64_t id : erased) expected.erase(id);
    const RowTable table(random_, schema_of_all(), given);
    WriteBatch batch;
    batch.upsert(table.view());
    batch.erase(erased);
    index.write(batch, {});
    rows = std::move(expected);
    next_id_ = next_id;
  }

  // Empty if the snapshot holds exactly the rows.
  std::string fault(const Snapshot& s) const {
    const std::vector<std::string> faults = verify_snapshot(s, true);
    if (!faults.empty()) return faults.front();
    if (s.num_rows != rows.size()) return std::to_string(s.num_rows) + " rows";
    for (const std::uint32_t leaf : s.order().leaves)
      for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
        const culmen::Row row = read_row(s, leaf * static_cast<std::uint64_t>(s.leaf_rows) + r);
        const auto expected = rows.find(row.id);
        if (expected == rows.end() || !same(row, expected->second)) return "id " + std::to_string(row.id);
      }
    return "";
  }
  std::string fault_of_directory(MemoryFileSystem& system) const {
    const LiveIndex index(system, "index", {});
    return fault(*index.published()->get());
  }

 private:
  Random random_;
  std::int64_t next_id_ = 0;
};

const OpenOptions kOnTouch = {.writable = true, .num_threads = 1, .loading = Loading::on_touch};

// Within a limit, so that a batch may have to make one tree first.
OpenOptions on_touch_within(std::uint64_t most) {
  OpenOptions options = kOnTouch;
  options.max_memory = most;
  options.temp_directory = std::filesystem::temp_directory_path();
  return options;
}

TEST(WriteOnTouch, KeepsLabelsFieldsAndGapsThroughCheckpointsAndReopening) {
  FullModel model(5);
  MemoryFileSystem system;
  system.put("index", model.build(5000));
  const std::uint64_t num_lives = num_cases(kSanitized ? 8 : 40);
  for (std::uint64_t life = 0; life < num_lives; ++life) {
    {
      const std::uint64_t most = model.random().pick<std::uint64_t>({kUnlimitedMemory, 1, 30'000, 200'000});
      LiveIndex index(system, "index", on_touch_within(most));
      for (int batches = model.random().between(0, 10); batches > 0; --batches) model.write(index, 8);
      if (most == kUnlimitedMemory && model.random().chance(0.2)) {
        ASSERT_EQ(model.fault(*index.published()->get()), "") << "life " << life;
      }
      if (model.random().chance(0.3)) index.checkpoint();
      if (model.random().chance(0.05)) index.compact();
      for (int batches = model.random().between(0, 10); batches > 0; --batches) model.write(index, 8);
      if (model.random().chance(0.5)) index.close();
    }
    ASSERT_EQ(model.fault_of_directory(system), "") << "life " << life;
    // A reader on touch, which keeps a log beside the tree.
    LiveIndex reader(system, "index", {.loading = Loading::on_touch});
    const std::shared_ptr<const Snapshot> version = reader.published()->get();
    if (version->logged != nullptr) {
      ASSERT_EQ(model.fault(*fold_log(*version)), "") << "life " << life;
    }
    ASSERT_EQ(model.fault(*reader.fold()), "") << "life " << life;
  }
}

// Rows with a = b = id; those whose id is a multiple of `gap` miss a.
Files files_with_gaps(std::int64_t num_rows, std::int64_t gap) {
  std::vector<culmen::Row> rows;
  for (std::int64_t id = 1; id <= num_rows; ++id) {
    const auto value = static_cast<double>(id);
    rows.push_back({id, {id % gap == 0 ? std::numeric_limits<double>::quiet_NaN() : value, value}, "", {}});
  }
  Random random(1);
  const RowTable table(random, {.attributes = {{"a"}, {"b"}}}, rows);
  return files_of(*bulk_load(table.view(), {.leaf_rows = 16, .value_type = ValueType::float32}));
}

// Most leaves have none, and those that a change reads say nothing of others.
TEST(WriteOnTouch, KeepsGapsOfLeavesThatItDoesNotRead) {
  MemoryFileSystem system;
  system.put("index", files_with_gaps(5000, 1000));
  LiveIndex index(system, "index", kOnTouch);
  index.write(WriteBatch().erase(std::vector<std::int64_t>{1, 2345, 4999}), {});  // the root's zones change
  EXPECT_EQ(verify_snapshot(*index.published()->get(), true), std::vector<std::string>());
}

// The stand-in is the minimum, which no row has any more.
TEST(WriteOnTouch, FindsTheRangeOfTheRowsBesideStandIns) {
  MemoryFileSystem system;
  system.put("index", files_with_gaps(5000, 3));
  LiveIndex index(system, "index", kOnTouch);
  index.write(WriteBatch().erase(std::vector<std::int64_t>{1}), {});
  EXPECT_EQ(index.published()->get()->stats[0].minimum, 2);
  EXPECT_EQ(verify_snapshot(*index.published()->get(), true), std::vector<std::string>());
}

// Each batch is refused or acknowledged. Once the damage is undone, the directory holds exactly what was acknowledged.
TEST(WriteOnTouch, RefusesWhatNeedsADamagedPlaceAndLogsNothingOfIt) {
  FullModel built(9);
  const Files files = built.build(3000);
  std::atomic<int> num_refused = 0, num_acknowledged = 0, num_beside = 0;
  for (const auto& [name, bytes] : files) {
    if (name.rfind("SNAP-", 0) != 0) continue;
    const std::size_t num_flips = num_cases(kSanitized ? 10 : 60);
    tbb::parallel_for(std::size_t{0}, num_flips, [&, &name = name, &bytes = bytes](std::size_t flip) {
      FullModel model = built;
      model.random() = Random(flip + 1);
      MemoryFileSystem system;
      system.put("index", files);
      const auto file = system.directories["index"]->names[name];  // stays, if a checkpoint replaces it
      std::byte& damaged = file->bytes[model.random().below(bytes.size())];
      damaged ^= std::byte{4};
      const std::string where = name + ", flip " + std::to_string(flip);
      try {
        LiveIndex index(system, "index", on_touch_within(flip % 3 == 0 ? 30'000 : kUnlimitedMemory));
        bool was_refused = false;
        for (int batch = 0; batch < 12; ++batch) {
          const std::uint64_t version = index.published()->get()->version;
          try {
            model.write(index, batch < 6 ? 3 : 60);
            ++num_acknowledged;
            if (was_refused) ++num_beside;
          } catch (const FormatError& error) {
            EXPECT_NE(std::string(error.what()).find(name), std::string::npos)
                << where << ": " << error.what();
            EXPECT_EQ(index.published()->get()->version, version) << where;
            was_refused = true;
            ++num_refused;
          }
        }
        index.close();
      } catch (const FormatError& error) {  // what opening reads
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << where << ": " << error.what();
      }
      damaged ^= std::byte{4};
      EXPECT_EQ(model.fault_of_directory(system), "") << where;
    });
  }
  EXPECT_GT(num_refused, 0);
  EXPECT_GT(num_acknowledged, 0);
}

// A call of the file system fails: reads that a change needs, and writes of the log.
void check_that_a_failed_read_leaves_nothing(std::uint64_t most_memory, std::uint64_t every_call) {
  FullModel built(11);
  const Files files = built.build(most_memory == kUnlimitedMemory ? 3000 : 600);
  int num_refused = 0, num_repeated = 0;
  bool reached = true;
  for (std::uint64_t call = 0; reached; call += kSanitized ? 23 : every_call) {
    FullModel model = built;
    MemoryFileSystem system;
    system.put("index", files);
    {
      LiveIndex index(system, "index", on_touch_within(most_memory));
      system.num_calls = 0;
      system.plan = {storage::FaultKind::io_error, call, false};
      for (int batch = 0; batch < 3; ++batch) {
        const std::uint64_t version = index.published()->get()->version;
        FullModel retried = model;
        try {
          model.write(index, 3);
        } catch (const IoError&) {
          ++num_refused;
          EXPECT_EQ(index.published()->get()->version, version) << "call " << call;
          try {
            retried.write(index, 3);
            ++num_repeated;
            model = std::move(retried);
          } catch (const IoError& error) {  // a failed write or sync of the log: until it is opened again
            EXPECT_NE(std::string(error.what()).find("opened again"), std::string::npos) << error.what();
            break;
          }
        }
      }
      reached = system.num_calls > call;
      system.plan = {};
    }
    EXPECT_EQ(model.fault_of_directory(system), "") << "call " << call;
  }
  EXPECT_GT(num_refused, kSanitized ? 5 : 20);
  EXPECT_GT(num_repeated, kSanitized ? 2 : 10);
}

TEST(WriteOnTouch, ABatchWhoseReadFailsLeavesNothingAndSucceedsTheNextTime) {
  check_that_a_failed_read_leaves_nothing(kUnlimitedMemory, 1);
}

// Each batch but the first makes one tree before it begins.
TEST(WriteOnTouch, ABatchWhoseCheckpointFailsLeavesNothingAndSucceedsTheNextTime) {
  check_that_a_failed_read_leaves_nothing(1, 11);
}

}  // namespace
}  // namespace culmen::test
