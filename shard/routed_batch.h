// RoutedBatch: a batch of changes, split into one batch for each shard.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/index.h"
#include "culmen/write.h"
#include "index/snapshot.h"

namespace culmen {

class RoutedBatch {
 public:
  // Arranges and checks the rows as an index does whose columns are those of `snapshot`, assigns ids from next_id on, and
  // copies each row to the part of its shard. Throws as Index::write, but for ids that are there already.
  RoutedBatch(const WriteBatch& batch, const WriteOptions& options, const Snapshot& snapshot,
              std::uint32_t num_shards, std::int64_t next_id);
  RoutedBatch(RoutedBatch&&) = default;

  bool has_part(std::uint32_t shard) const { return !parts_[shard].batch.steps().empty(); }
  const WriteBatch& part(std::uint32_t shard) const { return parts_[shard].batch; }
  // A row that an index refuses, of the given tables.
  struct Refusal {
    std::size_t step;
    std::uint64_t row;
    std::string problem;
  };
  // The first row that the shard's index refuses of its part. Throws what else it would throw.
  std::optional<Refusal> check(std::uint32_t shard, const Index& index, const WriteOptions& options) const;

  bool assigns_ids() const { return assigns_ids_; }
  std::int64_t first_id() const { return first_id_; }  // as in WriteResult
  std::int64_t next_id() const { return next_id_; }    // after the batch

 private:
  struct Part {
    WriteBatch batch;
    std::vector<std::size_t> steps;          // [steps] which of the given batch they are parts of
    std::vector<Array<std::uint64_t>> rows;  // [steps] which rows of the given table they are
  };

  void add_rows(std::size_t step, const TableView& table, bool replaces);
  // Id: a number or a text. `kept` has those of each part until the batch is written.
  template <typename Id>
  void add_erase(std::size_t step, std::span<const Id> ids, std::deque<std::vector<Id>>& kept);
  void add_erase_where(std::size_t step, const Filter& where);

  std::vector<Part> parts_;  // [num_shards]
  std::deque<Table> tables_;
  std::deque<std::vector<std::int64_t>> ids_;        // to erase
  std::deque<std::vector<std::string_view>> texts_;  // the same of IdType::text
  bool assigns_ids_ = false;
  std::int64_t first_id_ = -1;
  std::int64_t next_id_;
};

}  // namespace culmen
