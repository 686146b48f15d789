#include "index/find_rows.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>

#include "base/ids.h"
#include "base/key_bits.h"
#include "index/read_session.h"

namespace culmen {

namespace {

std::uint64_t look_up_row(const Snapshot& s, std::int64_t id) {
  const ReadSession session(s);
  for (const std::uint32_t leaf : s.id_lookup->leaves_with(id)) {
    const std::int64_t* ids = s.leaf_ids(leaf);
    const std::int64_t* end = ids + s.leaf(leaf).num_rows;
    const std::int64_t* found = std::find(ids, end, id);
    if (found != end)
      return leaf * static_cast<std::uint64_t>(s.leaf_rows) + static_cast<std::uint64_t>(found - ids);
  }
  return kNowhere;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> look_up_rows(const Snapshot& snapshot,
                                                       std::span<const std::int64_t> ids) {
  if (snapshot.id_lookup == nullptr) return std::nullopt;
  std::vector<std::uint64_t> rows(ids.size());
  const auto look_up = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) rows[i] = look_up_row(snapshot, ids[i]);
  };
  constexpr std::size_t kGrain = 16;  // some hundred microseconds where they are on a disk
  if (ids.size() <= kGrain) {
    look_up(0, ids.size());
  } else {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, ids.size(), kGrain),
                      [&](const auto& range) { look_up(range.begin(), range.end()); });
  }
  return rows;
}

std::vector<std::uint64_t> find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids) {
  if (ids.empty()) return {};
  IdTable<std::uint64_t> found;  // has all wanted ids, so threads only write to existing entries
  for (const std::int64_t id : ids) found.emplace(id, kNowhere);
  KeyBits wanted_bits(ids.size());
  for (const std::int64_t id : ids) wanted_bits.add(id);
  const std::int64_t most = std::ranges::max(ids);
  const std::vector<std::uint32_t>& leaves = snapshot.order().leaves;
  constexpr std::size_t kGrain = 1024;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kGrain), [&](const auto& range) {
    const ReadSession session(snapshot);
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      const LeafHeader& leaf = snapshot.leaf(leaves[i]);
      if (leaf.min_id > most) continue;
      const std::int64_t* of_leaf = snapshot.leaf_ids(leaves[i]);
      for (std::uint32_t r = 0; r < leaf.num_rows; ++r) {
        if (!wanted_bits.may_contain(of_leaf[r])) continue;  // cheaper than a look-up
        const auto wanted = found.find(of_leaf[r]);
        if (wanted != found.end())
          wanted->second = leaves[i] * static_cast<std::uint64_t>(snapshot.leaf_rows) + r;
      }
    }
  });
  std::vector<std::uint64_t> rows;
  for (const std::int64_t id : ids) rows.push_back(found.at(id));
  return rows;
}

}  // namespace culmen
