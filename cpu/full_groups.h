// FullGroups: the groups of a search that have all rows that they may have; the next search skips them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "cpu/topk.h"
#include "cpu/topk_per_group.h"
#include "index/snapshot.h"
#include "query/predicate.h"
#include "query/resolved_query.h"

namespace culmen {

class FullGroups {
 public:
  // earlier: rows on earlier pages.
  FullGroups(const Snapshot& snapshot, const ResolvedQuery& query, const GroupCounts& earlier)
      : snapshot_(snapshot), query_(query) {
    std::vector<GroupKey> groups;
    for (const auto& [group, count] : earlier)
      if (count >= query.groups->most) groups.push_back(group);
    skip(std::move(groups));
  }

  // Adds groups, with their rows in `best`. Returns false if a test for them would cost more than scoring their rows.
  bool add(const std::vector<GroupKey>& groups, const TopKPerGroup& best) {
    std::vector<GroupKey> all = groups_;
    all.insert(all.end(), groups.begin(), groups.end());
    if (groups.empty() || !skip(std::move(all))) return false;
    for (const GroupKey& group : groups) {
      const std::vector<Hit>& members = best.members(group);
      hits_.insert(hits_.end(), members.begin(), members.end());
    }
    return true;
  }

  // The query for the rows of other groups.
  ResolvedQuery for_others() const {
    ResolvedQuery rest = query_;
    rest.filter = both(query_.filter, others_);
    return rest;
  }
  // The answer, from that to for_others().
  std::vector<Hit> with(std::vector<Hit> of_others) const {
    of_others.insert(of_others.end(), hits_.begin(), hits_.end());
    std::ranges::sort(of_others, ranks_before);
    if (of_others.size() > query_.k) of_others.resize(query_.k);
    return of_others;
  }

 private:
  static constexpr std::size_t kMost =
      1 << 14;  // to compile a predicate of more groups is slower than most searches

  bool skip(std::vector<GroupKey> groups) {
    if (groups.size() > kMost) return false;
    Predicate others = in_none_of(groups, *query_.groups, snapshot_);
    if (std::max(others.keys.size(), others.values.size()) > kMostComparedIntervals) return false;
    others_ = std::move(others);
    groups_ = std::move(groups);
    return true;
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  std::vector<GroupKey> groups_;
  Predicate others_;
  std::vector<Hit> hits_;
};

}  // namespace culmen
