// A random table with fields and gaps, and its tree, for tests of what kernels do with the bytes of a mirror.
#pragma once

#include <memory>
#include <vector>

#include "index/build/bulk_load.h"
#include "index/snapshot.h"
#include "tests/field_tables.h"
#include "tests/generators.h"

namespace culmen::test {

struct RandomSnapshot {
  explicit RandomSnapshot(Random& random)
      : is_float32(random.chance(0.5)),
        source(random, is_float32 ? Precision::float32 : Precision::float64),
        rows(source.draw_many(1 + random.below(random.chance(0.1) ? 9000 : 1500))),
        snapshot(bulk_load(RowTable(random, source.schema(), rows).view(),
                           {.leaf_rows = random.pick({16, 16, 48, 96}),
                            .value_type = is_float32 ? ValueType::float32 : ValueType::float64})) {}

  bool is_float32;
  RowSource source;
  std::vector<Row> rows;
  std::shared_ptr<Snapshot> snapshot;
};

}  // namespace culmen::test
