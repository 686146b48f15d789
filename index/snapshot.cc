#include "index/snapshot.h"

#include "culmen/error.h"
#include "index/floating_point_scope.h"

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
  for (PartitionRange& range : ranges) {
    range.first_leaf = first;
    first += range.num_leaves;
  }
  return ranges;
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
  return order;
}

const Snapshot& snapshot_of(const SearchResult& result) {
  if (result.snapshot == nullptr) throw InvalidArgument("this SearchResult is not the answer to a search");
  return *result.snapshot;
}

// Hits are the caller's to change.
std::uint64_t row_of(const SearchResult& result, std::size_t rank) {
  if (rank >= result.hits.size())
    throw InvalidArgument("there is no hit " + std::to_string(rank) + ": the answer has " +
                          std::to_string(result.hits.size()) + ", counted from 0");
  const Snapshot& s = snapshot_of(result);
  const std::uint64_t row = result.hits[rank].row;
  const auto slots = static_cast<std::uint64_t>(s.block_rows);
  if (row / slots >= s.leaf_slots || row % slots >= s.leaf(row / slots).num_rows)
    throw InvalidArgument("hit " + std::to_string(rank) + " is not of the index that was searched");
  return row;
}

}  // namespace

double Snapshot::value(std::uint64_t row, int attribute) const {
  const auto slots = static_cast<std::uint64_t>(block_rows);
  const std::size_t position = static_cast<std::size_t>(attribute) * slots + row % slots;
  return visit_value_type(
      *this, [&]<typename T>(T) { return static_cast<double>(leaf_values<T>(row / slots)[position]); });
}

std::string_view Snapshot::label(std::uint64_t row) const {
  const auto slots = static_cast<std::uint64_t>(block_rows);
  return blocks->label(row / slots, row % slots);
}

const TreeOrder& Snapshot::order() const {
  std::call_once(order_once_, [this] { order_ = walk(*this); });
  return order_;
}

std::uint64_t SearchResult::version() const {
  return snapshot_of(*this).version;
}

double SearchResult::attribute(std::size_t rank, int attribute) const {
  const FloatingPointScope floating_point;
  const Snapshot& s = snapshot_of(*this);
  if (attribute < 0 || attribute >= s.num_attributes())
    throw InvalidArgument("there is no attribute " + std::to_string(attribute) + ": the index has " +
                          std::to_string(s.num_attributes()) + ", counted from 0");
  return oriented(s.value(row_of(*this, rank), attribute),
                  s.attributes[static_cast<std::size_t>(attribute)].preference);
}

std::string_view SearchResult::label(std::size_t rank) const {
  return snapshot_of(*this).label(row_of(*this, rank));
}

}  // namespace culmen
