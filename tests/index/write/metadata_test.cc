// The metadata of an index, from version to version.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "index/write/reload.h"
#include "index/write/tree_writer.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

class Metadata : public testing::Test {
 protected:
  Metadata() {
    for (std::int64_t id = 0; id < 500; ++id) rows_[id] = {static_cast<double>(id), 1};
    const auto loaded = load_tree(rows_, {.num_attributes = 2, .labels = true});
    before_ = std::make_shared<Snapshot>(loaded->metadata(), loaded->tree());
    std::fill(before_->index_uuid.begin(), before_->index_uuid.end(), std::byte{7});
    before_->version = 40;
    before_->rounded_values = 3;
    before_->attributes[1] = {"cost", Preference::low};
    ChangeMaker maker(rows_);
    maker.upsert(1000, {900, 1});
    change_ = maker.make(2, true);
    change_.rounded_values = 2;
    change_.next_id = 1200;
  }

  void expect_carried_on(const IndexMetadata& after, std::uint64_t version) const {
    EXPECT_EQ(after.version, version);
    EXPECT_EQ(after.index_uuid, before_->index_uuid);
    EXPECT_EQ(after.attributes, before_->attributes);
    EXPECT_EQ(after.has_labels, true);
    EXPECT_EQ(after.value_type, before_->value_type);
    EXPECT_EQ(after.leaf_rows, before_->leaf_rows);
    EXPECT_EQ(after.layout.num_rows(), before_->layout.num_rows());
    EXPECT_EQ(after.rounded_values, 5);
    EXPECT_EQ(after.next_id, 1200);
    EXPECT_EQ(after.num_rows, 501);
    EXPECT_EQ(after.stats[0].maximum, 900);
  }

  std::map<std::int64_t, ModelRow> rows_;
  std::shared_ptr<Snapshot> before_;
  Change change_;
};

TEST_F(Metadata, AreCarriedOnByAChange) {
  TreeWriter writer(before_);
  writer.apply(change_);
  expect_carried_on(*writer.finish_version(41), 41);
}

TEST_F(Metadata, AreCarriedOnByALoadButForThoseOfTheRows) {
  const std::shared_ptr<Snapshot> after = reload_rows(*before_, before_->order().leaves, change_);
  expect_carried_on(*after, 40);
  EXPECT_NE(after->partitioner, before_->partitioner);
}

}  // namespace
}  // namespace culmen::test
