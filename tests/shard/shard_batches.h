// Batches over all shards that follow from their number: kill_shards_writer writes them and sharded_kill_test expects
// them.
//
// Batch n upserts the rows n * kRows and on, with the value n, and erases those of batch n - kErasedAfter.
#pragma once

#include <cstdint>
#include <vector>

#include "culmen/sharded_index.h"

namespace culmen::test {

inline constexpr std::uint32_t kShards = 3;
inline constexpr std::int64_t kRows = 12, kErasedAfter = 30;

class ShardBatch {
 public:
  explicit ShardBatch(std::int64_t number) : values_(kRows, static_cast<double>(number)) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      ids_.push_back(number * kRows + row);
      if (number >= kErasedAfter) erased_.push_back((number - kErasedAfter) * kRows + row);
    }
  }

  TableView rows() const {
    TableView table;
    table.num_rows = ids_.size();
    table.attributes = {{"batch"}};
    table.columns = {ColumnView(values_)};
    table.ids = ids_;
    return table;
  }
  // Every other one erases the same rows by a filter.
  WriteBatch steps() const {
    if (erased_.empty() || erased_.front() / kRows % 2 == 0)
      return WriteBatch().upsert(rows()).erase(erased_);
    return WriteBatch().upsert(rows()).erase_where(id_col().between(erased_.front(), erased_.back()));
  }
  const std::vector<std::int64_t>& ids() const { return ids_; }

 private:
  std::vector<double> values_;
  std::vector<std::int64_t> ids_, erased_;
};

}  // namespace culmen::test
