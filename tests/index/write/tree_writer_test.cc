// TreeWriter against a std::map.
#include "index/write/tree_writer.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "tests/cases.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, ModelRow>;

struct Course {
  std::string name;
  TreeShape shape;
  int first_rows;
  int num_batches;
  int most_rows;     // of a batch
  int num_values;    // that an attribute takes; few: many ties
  double inserts;    // share of inserts among the steps
  double drift = 0;  // by how much values move a batch
};

void PrintTo(const Course& course, std::ostream* out) {
  *out << course.name;
}

class TreeWriterCourse : public testing::TestWithParam<Course> {};

TEST_P(TreeWriterCourse, HoldsWhatAMapHolds) {
  const Course& course = GetParam();
  std::mt19937_64 random(course.name.size() * 1000 + 7);
  double offset = 0;
  const auto row = [&] {
    ModelRow values;
    for (int i = 0; i < course.shape.num_attributes; ++i)
      values.push_back(static_cast<float>(offset + static_cast<double>(random() % course.num_values) / 1024));
    return values;
  };
  Rows rows;
  std::int64_t next_id = 0;
  for (int r = 0; r < course.first_rows; ++r) rows[next_id++] = row();
  TreeWriter writer(load_tree(rows, course.shape));
  std::deque<std::pair<std::shared_ptr<const Snapshot>, Rows>> kept;  // older versions with readers
  const int num_batches = kSanitized ? course.num_batches / 4 : course.num_batches;
  for (int b = 0; b < num_batches; ++b) {
    ChangeMaker batch(rows);
    const int steps = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(course.most_rows));
    for (int step = 0; step < steps; ++step) {
      const auto some_id = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(next_id + 2));
      const double dice = static_cast<double>(random() % 1000) / 1000;
      if (dice < course.inserts) {
        batch.upsert(next_id++, row());
      } else if (random() % 3 == 0) {
        batch.upsert(some_id, row());
      } else {
        batch.erase(some_id);
      }
    }
    offset += course.drift;
    writer.apply(batch.make(course.shape.num_attributes, course.shape.labels));
    batch.apply_to(rows);
    if (random() % 4 == 0) continue;  // several batches in one version
    const std::shared_ptr<const Snapshot> version = writer.finish_version(static_cast<std::uint64_t>(b) + 2);
    ASSERT_EQ(fault_in(*version, rows), "") << "batch " << b;
    kept.push_back({version, rows});
    if (kept.size() > 5) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % 5));
    const auto& [old_version, old_rows] = kept[random() % kept.size()];
    ASSERT_EQ(fault_in(*old_version, old_rows), "") << "an older version, at batch " << b;
  }
}

std::vector<Course> courses() {
  const TreeShape few = {.num_partitions = 1}, random = {.partitioning = Partitioning::random},
                  labelled = {.num_attributes = 2, .labels = true}, wide = {.num_attributes = 9};
  return {
      {"mixed", {}, 2000, 300, 40, 1000, 0.4},
      {"one_row_batches", {}, 500, 500, 1, 1000, 0.5},
      {"large_batches", {}, 3000, 40, 1500, 1000, 0.5},
      {"shrinking", {}, 4000, 200, 60, 1000, 0.05},
      {"to_nothing_and_back", {}, 40, 400, 10, 1000, 0.2},
      {"growing", few, 200, 200, 60, 100000, 0.95},
      {"one_partition", few, 3000, 200, 60, 1000, 0.4},
      {"random_partitions", random, 2000, 200, 60, 1000, 0.4},
      {"ties", {}, 2000, 200, 60, 3, 0.4},
      {"all_equal", {}, 1000, 100, 60, 1, 0.4},
      {"drifting", {}, 1000, 200, 30, 1000, 0.6, 3.7},
      {"labels", labelled, 800, 150, 40, 1000, 0.4},
      {"two_groups", wide, 800, 100, 40, 1000, 0.4},
      {"from_empty", {}, 0, 200, 20, 1000, 0.9},
  };
}

INSTANTIATE_TEST_SUITE_P(All, TreeWriterCourse, testing::ValuesIn(courses()),
                         [](const auto& suite) { return suite.param.name; });

}  // namespace
}  // namespace culmen::test
