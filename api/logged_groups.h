// LoggedGroups: Query::per of a version with LoggedRows (index/logged_rows.h), whose two trees number texts each in its own way.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "culmen/search.h"
#include "index/dictionary.h"
#include "index/logged_rows.h"
#include "query/resolved_query.h"
#include "query/row_groups.h"

namespace culmen {

class LoggedGroups {
 public:
  // version: with LoggedRows. The queries have groups.
  LoggedGroups(const Snapshot& version, const ResolvedQuery& of_base, const ResolvedQuery& of_rows);

  // Rows on earlier pages, of each tree.
  void count(const GroupCounts& of_base, const GroupCounts& of_rows);
  // The rows that were counted, of both trees together, by the keys of one.
  const GroupCounts& in_base() const { return in_base_; }
  const GroupCounts& in_rows() const { return in_rows_; }

  // The first k hits that the groups allow, of these, which are best first and have the version's numbers of rows. Counts them.
  std::vector<Hit> first_allowed(std::span<const Hit> hits, std::size_t k);

 private:
  struct Tree {
    const Snapshot& snapshot;
    const ResolvedGroups& groups;
    const Dictionary* texts;  // null: keys are the same in both trees
  };

  static std::optional<GroupKey> key_in(const Tree& to, const Tree& from, GroupKey key);
  std::size_t& count_at(const RowPlace& place);

  const Snapshot& version_;
  Tree base_, rows_;
  GroupCounts in_base_;
  GroupCounts in_rows_;  // while hits are counted, only of groups that the base has no key of
};

}  // namespace culmen
