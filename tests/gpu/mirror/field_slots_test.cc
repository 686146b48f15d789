// The fields of a mirror: none where nothing can read them, and memory that stays small however often leaves change.
#include "gpu/mirror/field_slots.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/index.h"
#include "gpu/mirror/mirror.h"
#include "index/build/bulk_load.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// Rows first_id, first_id + 1, ... of two attributes and a column "kind".
struct KindRows {
  std::vector<double> a, b;
  std::vector<std::int64_t> kinds, ids;

  KindRows(std::int64_t first_id, std::int64_t count, bool has_gaps) {
    for (std::int64_t id = first_id; id < first_id + count; ++id) {
      a.push_back(static_cast<double>(id * 7919 % 1009));
      b.push_back(has_gaps && id % 5 == 0 ? std::nan("") : static_cast<double>(id * 31 % 97));
      kinds.push_back(id % 13);
      ids.push_back(id);
    }
  }
  TableView view(bool with_kinds) const {
    TableView table;
    table.num_rows = ids.size();
    table.attributes = {{"a"}, {"b"}};
    table.columns = {ColumnView(a), ColumnView(b)};
    if (with_kinds) {
      table.fields = {{"kind", FieldRole::filter, {ColumnType::integer}}};
      table.field_views = {ColumnView(kinds)};
    }
    table.ids = ids;
    return table;
  }
};

void expect_equal(const Index& index, const DeviceIndex& on_gpu, bool with_kinds) {
  for (const Missing missing : {Missing::skip, Missing::fill}) {
    Query query = {.weights = {0.25, 1}, .k = 40, .missing = missing};
    EXPECT_EQ(on_gpu.search(query).hits, index.search(query).hits);
    if (!with_kinds) continue;
    query.where = col("kind").in({2, 3, 11}) || col("b").is_null();
    EXPECT_EQ(on_gpu.search(query).hits, index.search(query).hits);
  }
}

TEST(FieldSlots, TakeNoMemoryWithoutFieldsAndGaps) {
  SKIP_WITHOUT_GPU();
  const KindRows rows(0, 5000, false), gaps(0, 5000, true);
  const auto ref_of = [](const TableView& table) {
    gpu::Mirror mirror(std::make_shared<Published>(bulk_load(table, {})), {});
    return mirror.latest().mirror->ref();
  };
  EXPECT_EQ(ref_of(rows.view(false)).leaf_fields, nullptr);
  EXPECT_EQ(ref_of(rows.view(false)).child_zones, nullptr);
  EXPECT_NE(ref_of(rows.view(true)).leaf_fields, nullptr);
  EXPECT_NE(ref_of(gaps.view(false)).leaf_fields, nullptr);
}

TEST(FieldSlots, AppearWithTheFirstGap) {
  SKIP_WITHOUT_GPU();
  const KindRows rows(0, 5000, false), gaps(5000, 300, true);
  Index index = Index::build(rows.view(false));
  const DeviceIndex on_gpu = index.to_device();
  expect_equal(index, on_gpu, false);
  index.insert(gaps.view(false));
  expect_equal(index, on_gpu, false);
  index.erase(gaps.ids);
  expect_equal(index, on_gpu, false);
}

// Changes fill memory that is not in use any more, until the copy starts again.
TEST(FieldSlots, StaySmallHoweverOftenLeavesChange) {
  SKIP_WITHOUT_GPU();
  const KindRows rows(0, 200'000, true);
  Index index = Index::build(rows.view(true));
  for (const DeviceMemory memory : {DeviceMemory::device, DeviceMemory::host}) {
    const DeviceIndex on_gpu = index.to_device({.memory = memory});
    const std::size_t before = on_gpu.device_bytes();
    for (int round = 0; round < 40; ++round) {
      const KindRows changed(round * 4000, 4000, round % 2 == 0);
      index.upsert(changed.view(true));
      on_gpu.refresh();
      if (round % 8 == 0) expect_equal(index, on_gpu, true);
    }
    expect_equal(index, on_gpu, true);
    EXPECT_LT(on_gpu.device_bytes(), 3 * before + (64 << 20));
  }
}

}  // namespace
}  // namespace culmen::test
