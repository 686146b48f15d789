#include "culmen/sample.h"

#include <memory>
#include <random>

#include "api/read_row.h"
#include "index/read_session.h"
#include "index/snapshot.h"

namespace culmen {

std::shared_ptr<const Snapshot> snapshot_of(const Index& index);

std::vector<Row> sample_rows(const Index& index, std::size_t count, std::uint64_t seed) {
  const std::shared_ptr<const Snapshot> snapshot = snapshot_of(index);
  std::vector<Row> rows;
  if (snapshot->num_leaves == 0) return rows;
  const std::vector<std::uint32_t>& leaves = snapshot->order().leaves;
  const auto stride = static_cast<std::uint64_t>(snapshot->leaf_rows);
  std::mt19937_64 random(seed);
  while (rows.size() < count) {
    // Places of all leaves have the same chance; those that hold no row are drawn again. A leaf that is not empty has one.
    const std::uint64_t leaf = leaves[random() % leaves.size()];
    const std::uint64_t position = random() % stride;
    const ReadSession session(*snapshot);
    if (position < snapshot->leaf(leaf).num_rows)
      rows.push_back(read_row(*snapshot, leaf * stride + position));
  }
  return rows;
}

}  // namespace culmen
