#include "index/snapshot.h"

#include <numeric>

#include "base/excerpt.h"
#include "base/lock_isolated.h"
#include "culmen/error.h"
#include "index/spreads.h"
#include "index/text_rows.h"
#include "index/thresholds.h"

namespace culmen {
namespace {

std::vector<std::uint32_t> children_of(const Snapshot& s, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> children;
  for (std::uint32_t slot : nodes) {
    const NodeRef node = s.node(slot);
    children.insert(children.end(), node.children(), node.children() + node.header().num_children);
  }
  return children;
}

std::vector<PartitionRange> ranges_of(const Snapshot& s, const std::vector<std::uint32_t>& leaves) {
  std::vector<PartitionRange> ranges(s.partitioner->num_partitions());
  for (std::uint32_t leaf : leaves) ++ranges[s.leaf(leaf).partition].num_leaves;
  std::uint32_t first = 0;
  for (const std::uint32_t partition : s.partitioner->order()) {
    ranges[partition].first_leaf = first;
    first += ranges[partition].num_leaves;
  }
  return ranges;
}

std::vector<std::uint32_t> ascending(const std::vector<std::uint32_t>& leaves, std::size_t num_slots) {
  std::vector<bool> is_used(num_slots);
  for (const std::uint32_t leaf : leaves)
    if (leaf < num_slots) is_used[leaf] = true;  // verify also sees damaged trees
  std::vector<std::uint32_t> ascending;
  ascending.reserve(leaves.size());
  for (std::uint32_t slot = 0; slot < num_slots; ++slot)
    if (is_used[slot]) ascending.push_back(slot);
  return ascending;
}

// Reads nothing.
TreeOrder order_in_files(const FiledTree& filed, const Snapshot& s) {
  TreeOrder order;
  order.leaves.resize(filed.num_leaves);
  std::iota(order.leaves.begin(), order.leaves.end(), std::uint32_t{0});
  order.nodes.resize(filed.num_nodes());
  std::iota(order.nodes.begin(), order.nodes.end(), std::uint32_t{0});
  order.ascending_leaves = order.leaves;
  order.partitions.resize(filed.leaves_of_partition.size());
  std::uint32_t first = 0;
  for (const std::uint32_t partition : s.partitioner->order()) {
    order.partitions[partition] = {first, filed.leaves_of_partition[partition]};
    first += filed.leaves_of_partition[partition];
  }
  return order;
}

TreeOrder walk(const Snapshot& s) {
  TreeOrder order;
  if (s.height > 0) order.leaves = {s.root};
  std::vector<std::vector<std::uint32_t>> levels;  // from the root down
  for (int level = s.height; level > 0; --level) {
    levels.push_back(std::move(order.leaves));
    order.leaves = children_of(s, levels.back());
  }
  for (std::size_t level = levels.size(); level-- > 0;)
    order.nodes.insert(order.nodes.end(), levels[level].begin(), levels[level].end());
  order.partitions = ranges_of(s, order.leaves);
  order.ascending_leaves = ascending(order.leaves, s.leaf_slots);
  return order;
}

}  // namespace

double Snapshot::value(std::uint64_t row, int attribute) const {
  const auto stride = static_cast<std::uint64_t>(leaf_rows);
  const std::size_t position = static_cast<std::size_t>(attribute) * stride + row % stride;
  return visit_value_type(
      *this, [&]<typename T>(T) { return static_cast<double>(leaf_values<T>(row / stride)[position]); });
}

std::string Snapshot::shown_id(std::uint64_t row) const {
  return id_type == IdType::text ? quote_excerpt(label(row)) : id_text(id(row), id_type);
}

std::string_view Snapshot::label(std::uint64_t row) const {
  const auto stride = static_cast<std::uint64_t>(leaf_rows);
  return arena->label(row / stride, row % stride);
}

const TreeOrder& Snapshot::order() const {
  const bool is_limited = has_memory_limit();
  if (!is_limited) require_all();  // not in call_once: it contains parallel loops
  std::call_once(order_once_,
                 [&] { order_ = is_limited ? order_in_files(*filed_tree, *this) : walk(*this); });
  return order_;
}

const Thresholds& Snapshot::thresholds() const {
  lock_isolated(thresholds_mutex_, [this] {
    if (thresholds_ == nullptr) thresholds_ = std::make_shared<const Thresholds>(*this);
  });
  return *thresholds_;
}

const Quantiles& Snapshot::known_quantiles() const {
  if (quantiles == nullptr)
    throw InvalidArgument(
        "the index has no quantiles, which Scale::rank needs: it was built without rows; build it again from "
        "its "
        "rows");
  return *quantiles;
}

const std::vector<Spread>& Snapshot::spreads() const {
  lock_isolated(spreads_mutex_, [this] {
    if (!spreads_) spreads_ = spreads_of(*this);
  });
  return *spreads_;
}

std::shared_ptr<const TextRows> Snapshot::made_text_rows() const {
  const std::unique_lock lock(text_rows_mutex_, std::try_to_lock);
  return lock ? text_rows_ : nullptr;
}

std::shared_ptr<const TextRows> Snapshot::shared_text_rows() const {
  lock_isolated(text_rows_mutex_, [this] {
    if (text_rows_ == nullptr) text_rows_ = std::make_shared<const TextRows>(*this);
  });
  return text_rows_;
}

}  // namespace culmen
