#include "index/write/partition_split.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/for_each.h"
#include "index/build/kd_halves.h"
#include "index/snapshot_fields.h"

namespace culmen {

PartitionSplit::PartitionSplit(const WorkingTree& tree, const LocatedChange& located,
                               std::span<const PageEdit> edits)
    : tree_(tree), located_(located) {
  const EditedPages pages(tree, located);
  for (const PageEdit& edit : edits)
    for (const Run& run : pages.runs(edit))
      for (std::uint32_t r = run.first; r < run.first + run.count; ++r) rows_.push_back({run.slot, r});
}

void PartitionSplit::run(std::size_t max_rows, std::size_t leaf_rows) {
  const Partitioner& partitioner = *tree_.next->partitioner;
  const auto value_of = [this](const Row& row, std::uint32_t column) { return value(row, column); };
  KdHalves<Row, decltype(value_of)> halves(partitioner, partitioner.cluster(), value_of);
  halves.run(std::span(rows_), max_rows);
  cuts_ = halves.cuts();
  std::vector<std::vector<Repack::Part>> parts(halves.parts().size());
  for_each(parts.size(), [&](std::size_t p) {
    parts[p] = leaves_of(halves.parts()[p].partition, halves.parts()[p].rows, leaf_rows);
  });
  for (std::vector<Repack::Part>& of_half : parts)
    std::move(of_half.begin(), of_half.end(), std::back_inserter(parts_));
}

std::vector<Repack::Part> PartitionSplit::leaves_of(std::uint32_t partition, std::span<const Row> rows,
                                                    std::size_t leaf_rows) const {
  struct Keyed {
    OrderKey order;
    std::int64_t id;
    Row row;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(rows.size());
  const Partitioner& partitioner = *tree_.next->partitioner;
  for (const Row& row : rows) {
    const auto attribute = [&](std::size_t i) { return value(row, static_cast<std::uint32_t>(i)); };
    keyed.push_back({partitioner.order_of(attribute) & kOrderMask, id(row), row});
  }
  std::ranges::sort(keyed, [](const Keyed& a, const Keyed& b) {
    return a.order != b.order ? a.order < b.order : a.id < b.id;
  });
  std::vector<Repack::Part> parts((keyed.size() + leaf_rows - 1) / leaf_rows);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    parts[p].partition = partition;
    for (std::size_t r = keyed.size() * p / parts.size(); r < keyed.size() * (p + 1) / parts.size(); ++r)
      append(parts[p].runs, {keyed[r].row.slot, keyed[r].row.position, 1});
  }
  return parts;
}

double PartitionSplit::value(const Row& row, std::uint32_t column) const {
  return row.slot == kOfBatch ? located_.rows().cut_value(row.position, column)
                              : cut_value(*tree_.next, row.slot, row.position, column);
}

std::int64_t PartitionSplit::id(const Row& row) const {
  return row.slot == kOfBatch ? located_.change().ids[row.position]
                              : tree_.next->leaf_ids(row.slot)[row.position];
}

}  // namespace culmen
