#include <algorithm>
#include <numeric>
#include <string>

#include "api/read_row.h"
#include "api/rows_by_leaf.h"
#include "base/floating_point_scope.h"
#include "culmen/error.h"
#include "culmen/search.h"
#include "index/logged_rows.h"
#include "index/read_session.h"
#include "index/snapshot.h"
#include "query/resolve.h"

namespace culmen {
namespace {

const Snapshot& snapshot_of(const SearchResult& result) {
  if (result.snapshot == nullptr) throw InvalidArgument("this SearchResult is not the answer to a search");
  return *result.snapshot;
}

const Snapshot& snapshot_of(const SearchResult& result, std::size_t rank) {
  if (result.shard_snapshots.empty()) return snapshot_of(result);
  if (rank >= result.shards.size() || result.shards[rank] >= result.shard_snapshots.size())
    throw InvalidArgument("hit " + std::to_string(rank) + " is not of an index that was searched");
  return *result.shard_snapshots[result.shards[rank]];
}

[[noreturn]] void throw_foreign_hit(std::size_t rank) {
  throw InvalidArgument("hit " + std::to_string(rank) + " is not of the index that was searched");
}

// Checks the leaf, because callers may modify hits.
RowPlace leaf_of_hit(const SearchResult& result, std::size_t rank) {
  if (rank >= result.hits.size())
    throw InvalidArgument("there is no hit " + std::to_string(rank) + ": the answer has " +
                          std::to_string(result.hits.size()) + ", counted from 0");
  const RowPlace place = place_of(snapshot_of(result, rank), result.hits[rank].row);
  if (place.row / static_cast<std::uint64_t>(place.tree.leaf_rows) >= place.tree.leaf_slots)
    throw_foreign_hit(rank);
  return place;
}

// The same of the row.
void check_row(const RowPlace& place, std::size_t rank) {
  const ReadSession session(place.tree);
  const auto slots = static_cast<std::uint64_t>(place.tree.leaf_rows);
  if (place.row % slots >= place.tree.leaf(place.row / slots).num_rows) throw_foreign_hit(rank);
}

RowPlace place_of_hit(const SearchResult& result, std::size_t rank) {
  const RowPlace place = leaf_of_hit(result, rank);
  check_row(place, rank);
  return place;
}

// Calls use(i, place) for the hit at each rank, ranks[i].
template <typename Use>
void for_hits(const SearchResult& result, std::span<const std::size_t> ranks, const Use& use) {
  std::vector<RowPlace> places;
  places.reserve(ranks.size());
  for (const std::size_t rank : ranks) places.push_back(leaf_of_hit(result, rank));
  for_rows_by_leaf(places, [&](std::size_t i, const RowPlace& place) {
    check_row(place, ranks[i]);
    use(i, place);
  });
}

}  // namespace

std::uint64_t SearchResult::version() const {
  const std::vector<std::uint64_t> all = versions();
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

std::vector<std::uint64_t> SearchResult::versions() const {
  std::vector<std::uint64_t> versions;
  for (const std::shared_ptr<const Snapshot>& shard : shard_snapshots) versions.push_back(shard->version);
  if (versions.empty()) versions.push_back(snapshot_of(*this).version);
  return versions;
}

bool SearchResult::has_labels() const {
  return snapshot_of(*this).has_labels && snapshot_of(*this).id_type != IdType::text;
}

std::string SearchResult::id_text(std::size_t rank) const {
  const auto [s, row] = place_of_hit(*this, rank);
  return s.id_type == IdType::text ? label(rank) : culmen::id_text(hits[rank].id, s.id_type);
}

std::string id_text(const Row& row, IdType type) {
  return type == IdType::text ? row.label : id_text(row.id, type);
}

double SearchResult::attribute(std::size_t rank, const AttributeRef& attribute) const {
  const FloatingPointScope floating_point;
  const auto [s, row] = place_of_hit(*this, rank);
  const ReadSession session(s);
  return read_attribute(s, row, static_cast<std::size_t>(position_of(attribute, s)));
}

FieldValue SearchResult::field(std::size_t rank, std::string_view name) const {
  const auto [s, row] = place_of_hit(*this, rank);
  const auto found = std::ranges::find(s.fields, name, &Field::name);
  if (found == s.fields.end()) throw InvalidArgument("the index has no field \"" + std::string(name) + "\"");
  const auto stride = static_cast<std::uint64_t>(s.leaf_rows);
  const ReadSession session(s);
  return read_field_value(s, static_cast<std::size_t>(found - s.fields.begin()), row / stride, row % stride);
}

Row SearchResult::row(std::size_t rank) const {
  const FloatingPointScope floating_point;
  const auto [s, row] = place_of_hit(*this, rank);
  return read_row(s, row);
}

std::vector<Row> SearchResult::rows(std::span<const std::size_t> ranks) const {
  const FloatingPointScope floating_point;
  std::vector<Row> rows(ranks.size());
  for_hits(*this, ranks,
           [&](std::size_t i, const RowPlace& place) { rows[i] = read_row(place.tree, place.row); });
  return rows;
}

std::vector<std::string> SearchResult::labels() const {
  std::vector<std::size_t> ranks(hits.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::string> labels(ranks.size());
  for_hits(*this, ranks,
           [&](std::size_t i, const RowPlace& place) { labels[i] = place.tree.label(place.row); });
  return labels;
}

std::string SearchResult::label(std::size_t rank) const {
  const auto [s, row] = place_of_hit(*this, rank);
  const ReadSession session(s);
  return std::string(s.label(row));
}

}  // namespace culmen
