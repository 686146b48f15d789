// A tree that random batches change, for tests of what follows its versions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "index/write/tree_writer.h"
#include "tests/generators.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {

struct Writes {
  std::string name;
  TreeShape shape = {};
  int first_rows = 1000;
  int most_rows = 30;     // of a batch
  double inserts = 0.4;   // share among the steps; the others are upserts and erasures
  int num_values = 1000;  // that an attribute takes
  double drift = 0;       // by how much values move a batch

  friend void PrintTo(const Writes& writes, std::ostream* out) { *out << writes.name; }
};

// Splits and merges, of one partition or many; a tree that grows to many times its slots, one with late partition
// splits, one that is reloaded again and again, and one that becomes empty.
inline std::vector<Writes> all_writes() {
  const TreeShape one_partition = {.num_partitions = 1}, wide = {.num_attributes = 9},
                  random = {.partitioning = Partitioning::random}, kd = {.partitioning = Partitioning::kd},
                  large_leaves = {.leaf_rows = 96};
  return {
      {"mixed"},
      {.name = "one_row", .most_rows = 1},
      {.name = "growing", .shape = one_partition, .first_rows = 200, .most_rows = 100, .inserts = 0.95},
      {.name = "shrinking", .first_rows = 4000, .most_rows = 200, .inserts = 0.05},
      {.name = "to_nothing", .first_rows = 40, .most_rows = 10, .inserts = 0.2},
      {.name = "from_nothing", .first_rows = 0, .most_rows = 20, .inserts = 0.8},
      {.name = "drifting", .shape = kd, .first_rows = 12'000, .most_rows = 1200, .inserts = 0.9, .drift = 1},
      {.name = "large_batches", .first_rows = 3000, .most_rows = 1500, .inserts = 0.5},
      {.name = "ties", .shape = random, .num_values = 3},
      {.name = "wide", .shape = wide},
      {.name = "large_leaves", .shape = large_leaves, .first_rows = 8000, .most_rows = 300}};
}

class WrittenTree {
 public:
  WrittenTree(const Writes& writes, std::uint64_t seed) : writes_(writes), random_(seed) {
    for (; next_id_ < writes.first_rows; ++next_id_) rows_[next_id_] = random_row();
    version_ = load_tree(rows_, writes.shape);
    writer_ = std::make_unique<TreeWriter>(version_);
  }

  const std::shared_ptr<const Snapshot>& version() const { return version_; }
  const std::map<std::int64_t, ModelRow>& rows() const { return rows_; }
  Random& random() { return random_; }

  // The version after one more batch.
  const std::shared_ptr<const Snapshot>& write() {
    ChangeMaker batch(rows_);
    for (int step = random_.between(1, writes_.most_rows); step > 0; --step) {
      const auto some_id = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(next_id_) + 2));
      if (random_.chance(writes_.inserts)) {
        batch.upsert(next_id_++, random_row());
      } else if (random_.chance(0.3)) {
        batch.upsert(some_id, random_row());
      } else {
        batch.erase(some_id);
      }
    }
    writer_->apply(batch.make(writes_.shape.num_attributes, writes_.shape.labels));
    batch.apply_to(rows_);
    version_ = writer_->finish_version(version_->version + 1);
    offset_ += writes_.drift;
    return version_;
  }

 private:
  ModelRow random_row() {
    ModelRow row;
    for (int i = 0; i < writes_.shape.num_attributes; ++i)
      row.push_back(static_cast<float>(
          offset_ +
          static_cast<double>(random_.below(static_cast<std::uint64_t>(writes_.num_values))) / 1024));
    return row;
  }

  Writes writes_;
  Random random_;
  std::map<std::int64_t, ModelRow> rows_;
  std::int64_t next_id_ = 0;
  double offset_ = 0;
  std::shared_ptr<const Snapshot> version_;
  std::unique_ptr<TreeWriter> writer_;
};

}  // namespace culmen::test
