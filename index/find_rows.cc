#include "index/find_rows.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "base/ids.h"

namespace culmen {
namespace {

// Of ids that come up to thousands at once: a look-up only where an id lies between the smallest and the
// largest of them.
class Wanted {
 public:
  explicit Wanted(std::span<const std::int64_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) places_[ids[i]].push_back(i);
    const auto [least, most] = std::ranges::minmax(ids);
    least_ = least;
    most_ = most;
  }

  std::int64_t most() const { return most_; }
  // The places of an id among those that are wanted; null: it is not.
  const std::vector<std::size_t>* find(std::int64_t id) const {
    if (id < least_ || id > most_) return nullptr;
    if (least_ == most_) return &places_.begin()->second;
    const auto found = places_.find(id);
    return found == places_.end() ? nullptr : &found->second;
  }

 private:
  IdTable<std::vector<std::size_t>> places_;
  std::int64_t least_ = 0, most_ = 0;
};

}  // namespace

std::vector<std::uint64_t> find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids) {
  std::vector<std::uint64_t> rows(ids.size(), kNowhere);
  if (ids.empty()) return rows;
  const Wanted wanted(ids);
  const std::vector<std::uint32_t>& leaves = snapshot.order().leaves;
  constexpr std::size_t kGrain = 1024;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kGrain), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      const LeafHeader& leaf = snapshot.leaf(leaves[i]);
      if (leaf.min_id > wanted.most()) continue;
      const std::int64_t* of_leaf = snapshot.leaf_ids(leaves[i]);
      for (std::uint32_t r = 0; r < leaf.num_rows; ++r)
        if (const std::vector<std::size_t>* places = wanted.find(of_leaf[r]))
          for (const std::size_t place : *places)
            rows[place] = leaves[i] * static_cast<std::uint64_t>(snapshot.block_rows) + r;
    }
  });
  return rows;
}

}  // namespace culmen
