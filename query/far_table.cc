#include "query/far_table.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "cpu/leaf_visit.h"
#include "index/with_threads.h"
#include "query/machine_costs.h"

namespace culmen {

FarTable::FarTable(const Snapshot& like) {
  const BlockShape shape = like.block_shape();
  const std::size_t num_leaves = kReadSizes.back() / shape.leaf_bytes();
  table_.attributes = like.attributes;
  table_.layout = like.layout;
  table_.block_rows = like.block_rows;
  table_.blocks = std::make_shared<Blocks>(shape, table_.layout, num_leaves, 0);
  for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) {
    table_.blocks->leaf(leaf).num_rows = static_cast<std::uint32_t>(shape.block_rows);
    std::fill_n(reinterpret_cast<float*>(table_.blocks->values(leaf)),
                shape.num_attributes * shape.block_rows, 0.5F);
  }
  ascending_.resize(num_leaves);
  std::iota(ascending_.begin(), ascending_.end(), 0U);
  any_order_ = ascending_;
  std::shuffle(any_order_.begin(), any_order_.end(), std::mt19937_64(1));
}

void FarTable::visit(std::span<const std::uint32_t> leaves, std::size_t ahead,
                     const ResolvedQuery& query) const {
  SearchStats stats;
  TopK best(1, query.min_score);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (i + ahead < leaves.size()) prefetch_leaf<float>(table_, query, leaves[i + ahead]);
    visit_leaf<float>(table_, query, leaves[i], best, stats);
  }
}

void FarTable::visit_by_all_threads(std::span<const std::uint32_t> leaves, std::size_t ahead,
                                    const ResolvedQuery& query) const {
  constexpr std::size_t kGrain = 32;
  with_threads(0, [&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kGrain), [&](const auto& range) {
      visit(leaves.subspan(range.begin(), range.size()), ahead, query);
    });
  });
}

}  // namespace culmen
