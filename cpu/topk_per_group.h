// TopKPerGroup: the k best hits so far of which no group, the rows that share a value of a column, has more than some.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/topk.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// Counts the rows that reach min_score and are on earlier pages. As TopK for searches, and never full.
class EarlierPages {
 public:
  EarlierPages(const Snapshot& snapshot, const ResolvedQuery& query) : snapshot_(snapshot), query_(query) {}

  bool full() const { return false; }
  double kth_bound() const { return query_.after->score; }
  bool excludes(double bound, std::int64_t /*min_id*/) const { return bound < kth_bound(); }
  void offer(const Hit& hit) {
    if (query_.is_on_earlier_page(hit.score, hit.id)) ++counts_[query_.groups->of(snapshot_, hit.row)];
  }
  GroupCounts take_counts() { return std::move(counts_); }

 private:
  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  GroupCounts counts_;
};

// As TopK. A hit that enters can push out one of its own group, or the worst of all; never one that another would have
// to replace. So the k-th score only rises.
class TopKPerGroup {
 public:
  // earlier: rows on earlier pages.
  TopKPerGroup(const Snapshot& snapshot, const ResolvedQuery& query, const GroupCounts& earlier)
      : snapshot_(snapshot), query_(query), earlier_(earlier) {}

  std::size_t size() const { return best_.size(); }
  bool full() const { return best_.size() == query_.k; }
  double kth_bound() const { return full() ? std::max(worst().score, query_.min_score) : query_.min_score; }
  bool excludes(double bound, std::int64_t min_id) const {
    return bound < kth_bound() || (full() && bound == worst().score && min_id >= worst().id);
  }

  void offer(const Hit& hit) {
    if (hit.score < query_.min_score || (full() && !ranks_before(hit, worst()))) return;
    const GroupKey key = query_.groups->of(snapshot_, hit.row);
    const std::size_t num_before = num_earlier(key);
    if (num_before >= query_.groups->most) return;
    std::vector<Hit>& members = members_[key];  // best first
    if (members.size() + num_before == query_.groups->most) {
      if (!ranks_before(hit, members.back())) return;
      best_.erase(members.back());
      members.pop_back();
    }
    members.insert(std::ranges::upper_bound(members, hit, ranks_before), hit);
    best_.insert(hit);
    if (best_.size() > query_.k) drop_worst();
  }

  std::vector<Hit> sorted() const { return {best_.begin(), best_.end()}; }

  // Groups that have all rows that they may have, and that no row with a score of up to `bound` can change.
  std::vector<GroupKey> settled(double bound) const {
    std::vector<GroupKey> groups;
    for (const auto& [key, members] : members_)
      if (members.size() + num_earlier(key) == query_.groups->most && members.back().score > bound)
        groups.push_back(key);
    return groups;
  }
  const std::vector<Hit>& members(const GroupKey& group) const { return members_.at(group); }

 private:
  struct RanksBefore {
    bool operator()(const Hit& a, const Hit& b) const { return ranks_before(a, b); }
  };

  std::size_t num_earlier(const GroupKey& group) const {
    const auto found = earlier_.find(group);
    return found == earlier_.end() ? 0 : found->second;
  }
  const Hit& worst() const { return *best_.rbegin(); }
  void drop_worst() {
    // It is the worst of its group, too.
    members_[query_.groups->of(snapshot_, worst().row)].pop_back();
    best_.erase(std::prev(best_.end()));
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  const GroupCounts& earlier_;
  std::set<Hit, RanksBefore> best_;
  std::unordered_map<GroupKey, std::vector<Hit>, GroupKeyHash> members_;
};

}  // namespace culmen
