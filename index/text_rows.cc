#include "index/text_rows.h"

#include <tbb/parallel_sort.h>

#include <iterator>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "index/logged_rows.h"
#include "index/read_session.h"

namespace culmen {
namespace {

using IdAndRow = std::pair<std::int64_t, std::uint64_t>;

// Without those with erased ids, which ascend. `first_row`: what the numbers of the rows begin with.
void add_rows(const Snapshot& tree, std::uint64_t first_row, std::span<const std::int64_t> erased,
              std::vector<IdAndRow>& rows) {
  if (tree.num_rows == 0) return;
  ReadSession session(tree);
  for (const std::uint32_t leaf : tree.order().leaves) {
    session.rest();
    const std::int64_t* ids = tree.leaf_ids(leaf);
    const std::uint64_t first = first_row + leaf * static_cast<std::uint64_t>(tree.leaf_rows);
    for (std::uint32_t r = 0; r < tree.leaf(leaf).num_rows; ++r)
      if (erased.empty() || !std::binary_search(erased.begin(), erased.end(), ids[r]))
        rows.emplace_back(ids[r], first + r);
  }
}

}  // namespace

void require_text_ids(const Snapshot& snapshot) {
  if (snapshot.id_type != IdType::text)
    throw InvalidArgument("the ids of the index are " + std::string(id_type_name(snapshot.id_type)) +
                          ", not texts: give numbers");
}

void require_erasable_numbers(const Snapshot& snapshot) {
  if (snapshot.id_type == IdType::text)
    throw InvalidArgument("the ids of the index are texts: erase by texts");
}

TextRows::TextRows(const Snapshot& version) : version_(version) {
  std::vector<IdAndRow> rows;
  rows.reserve(version.num_rows);
  if (version.logged == nullptr) {
    add_rows(version, 0, {}, rows);
  } else {
    add_rows(*version.logged->base, 0, version.logged->erased, rows);
    add_rows(*version.logged->rows, version.logged->first_row_beside(), {}, rows);
  }
  tbb::parallel_sort(rows.begin(), rows.end());
  rows_.reserve(rows.size());
  for (const IdAndRow& row : rows) rows_.push_back(row.second);
}

template <typename Passes>
TextPlace TextRows::last_that(std::string_view text, const Passes& passes) const {
  const auto end = std::partition_point(rows_.begin(), rows_.end(), [&](std::uint64_t row) {
    const RowPlace place = place_of(version_, row);
    const ReadSession session(place.tree);
    return passes(place.tree.label(place.row));
  });
  if (end == rows_.begin()) return {};
  const RowPlace last = place_of(version_, *std::prev(end));
  const ReadSession session(last.tree);
  return {last.tree.id(last.row), last.tree.label(last.row) == text};
}

TextPlace TextRows::find(std::string_view text) const {
  return last_that(text, [text](std::string_view of_row) { return of_row <= text; });
}

std::int64_t TextRows::before(std::string_view text) const {
  return last_that(text, [text](std::string_view of_row) { return of_row < text; }).id;
}

}  // namespace culmen
