#include "api/group_pages.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "index/read_session.h"
#include "query/resolve.h"

namespace culmen {
namespace {

constexpr std::size_t kFirstPage = 32, kLongestPage = 1024;  // rows

// The answer that grows by pages.
class Pages {
 public:
  Pages(const Query& query, const Snapshot& snapshot)
      : query_(query), snapshot_(snapshot), resolved_(resolve(query, snapshot)) {}

  SearchResult answer(const SearchPage& search) {
    Query page = query_;
    page.after.reset();  // rows before the cursor count
    const std::size_t longest = std::max(kLongestPage, resolved_.k);
    std::size_t rows = std::min(kFirstPage + 2 * resolved_.k, longest);
    SearchResult answer;
    for (;; rows = std::min(2 * rows, longest)) {
      if (query_.k) page.k = rows;
      SearchResult found = search(page, full_);
      take(found.hits);
      found.stats += answer.stats;
      const std::size_t num_found = found.hits.size();
      if (num_found > 0) page.after = Cursor{found.hits.back().score, found.hits.back().id, {}};
      answer = std::move(found);
      if (hits_.size() == resolved_.k || num_found < resolve_k(page, snapshot_)) break;
    }
    answer.hits = std::move(hits_);
    return answer;
  }

 private:
  void take(const std::vector<Hit>& found) {
    const ResolvedGroups& groups = *resolved_.groups;
    ReadSession session(snapshot_);
    for (const Hit& hit : found) {
      session.rest();
      if (hits_.size() == resolved_.k) break;
      const GroupKey group = groups.of(snapshot_, hit.row);
      const std::size_t count = ++counts_[group];
      if (count == groups.most) full_.push_back(group);
      if (count <= groups.most && !resolved_.is_on_earlier_page(hit.score, hit.id)) hits_.push_back(hit);
    }
    std::ranges::sort(full_);
  }

  const Query& query_;
  const Snapshot& snapshot_;
  const ResolvedQuery resolved_;
  std::vector<Hit> hits_;
  GroupCounts counts_;
  std::vector<GroupKey> full_;
};

}  // namespace

SearchResult search_by_pages(const Query& query, const Snapshot& snapshot, const SearchPage& search) {
  return Pages(query, snapshot).answer(search);
}

}  // namespace culmen
