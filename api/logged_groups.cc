#include "api/logged_groups.h"

#include <cstdint>

#include "api/rows_by_leaf.h"

namespace culmen {
namespace {

const Dictionary* texts_of(const Snapshot& tree, const ResolvedGroups& groups) {
  return groups.is_attribute ? nullptr : tree.dictionaries[static_cast<std::size_t>(groups.column)].get();
}

}  // namespace

LoggedGroups::LoggedGroups(const Snapshot& version, const ResolvedQuery& of_base,
                           const ResolvedQuery& of_rows)
    : version_(version),
      base_{*version.logged->base, *of_base.groups, texts_of(*version.logged->base, *of_base.groups)},
      rows_{*version.logged->rows, *of_rows.groups, texts_of(*version.logged->rows, *of_rows.groups)} {}

std::optional<GroupKey> LoggedGroups::key_in(const Tree& to, const Tree& from, GroupKey key) {
  if (key.is_missing || from.texts == nullptr) return key;
  const std::optional<std::uint32_t> code =
      to.texts->find((*from.texts)[static_cast<std::uint32_t>(key.value)]);
  return code ? std::optional(GroupKey{*code}) : std::nullopt;
}

void LoggedGroups::count(const GroupCounts& of_base, const GroupCounts& of_rows) {
  in_base_ = of_base;
  in_rows_ = of_rows;
  for (const auto& [group, count] : of_rows)
    if (const std::optional<GroupKey> key = key_in(base_, rows_, group)) in_base_[*key] += count;
  for (const auto& [group, count] : of_base)
    if (const std::optional<GroupKey> key = key_in(rows_, base_, group)) in_rows_[*key] += count;
}

std::size_t& LoggedGroups::count_at(const RowPlace& place) {
  if (&place.tree == &base_.snapshot) return in_base_[base_.groups.of(place.tree, place.row)];
  const GroupKey group = rows_.groups.of(place.tree, place.row);
  const std::optional<GroupKey> key = key_in(base_, rows_, group);
  return key ? in_base_[*key] : in_rows_[group];
}

std::vector<Hit> LoggedGroups::first_allowed(std::span<const Hit> hits, std::size_t k) {
  std::vector<RowPlace> places;
  for (const Hit& hit : hits) places.push_back(place_of(version_, hit.row));
  std::vector<std::size_t*> counts(hits.size());
  for_rows_by_leaf(places, [&](std::size_t i, const RowPlace& place) { counts[i] = &count_at(place); });
  std::vector<Hit> allowed;
  for (std::size_t i = 0; i < hits.size() && allowed.size() < k; ++i)
    if (++*counts[i] <= base_.groups.most) allowed.push_back(hits[i]);
  return allowed;
}

}  // namespace culmen
