// FarTable: leaves that do not fit a processor's caches, to be visited in a row or in any order, and what
// reading them is billed beside computing. Part of calibration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "index/resolved_query.h"
#include "index/snapshot.h"

namespace culmen {

class FarTable {
 public:
  // As an engine sees a table of float32 of the largest of kReadSizes, laid out as `like`. What stands in it
  // does not matter: no row satisfies the queries that it is visited for. Cost: 256 MiB.
  explicit FarTable(const Snapshot& like);

  enum class Order { ascending, any };
  std::span<const std::uint32_t> leaves(Order order) const {
    return order == Order::ascending ? ascending_ : any_order_;
  }
  std::size_t leaf_bytes() const { return table_.block_shape().leaf_bytes(); }
  std::size_t rows(std::size_t num_leaves) const { return num_leaves * table_.block_shape().block_rows; }

  // The leaf that comes `ahead` later is fetched meanwhile, as engines do it.
  void visit(std::span<const std::uint32_t> leaves, std::size_t ahead, const ResolvedQuery& query) const;
  void visit_by_all_threads(std::span<const std::uint32_t> leaves, std::size_t ahead,
                            const ResolvedQuery& query) const;

 private:
  Snapshot table_;
  std::vector<std::uint32_t> ascending_, any_order_;
};

}  // namespace culmen
