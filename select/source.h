// Sources: the rows that a selection chooses from, as ranks. A source has
//
//   Rank                   Rank64 or Rank128
//   size()                 the number of rows, below 2^32 - 1
//   rank(i)                of row i; 0 if a filter rejects the row
//   kRun, run(i, ranks)    of rows i to i + kRun - 1, where i is a multiple of kRun; on the card
//   write(rank, row)       the row of a rank, for the answer
//   has_ids()              false if a row's id is its number; on the host
#pragma once

#include <cstdint>

#include "base/read_only.h"
#include "select/rank.h"
#include "select/selected_row.h"

namespace culmen::select {

template <typename Source>
CULMEN_HOST_DEVICE void run_by_rank(const Source& source, std::uint32_t i, typename Source::Rank* ranks) {
  for (int j = 0; j < Source::kRun; ++j) ranks[j] = source.rank(i + j);
}

// 64-bit keys, with ids or without. Both may be members of structs.
struct Keys64Ids {
  using Rank = Rank128;
  static constexpr int kRun = 1;

  const std::uint64_t* keys;
  const std::int64_t* ids;  // all different, none the largest there is; null: a row's own number
  KeyOrder<std::uint64_t> order;
  std::uint32_t num_rows;
  std::uint32_t stride;  // from a row's key to the next row's, and from id to id

  bool has_ids() const { return ids != nullptr; }
  CULMEN_HOST_DEVICE std::uint32_t size() const { return num_rows; }
  CULMEN_HOST_DEVICE Rank rank(std::uint32_t i) const {
    const std::uint64_t at = std::uint64_t{i} * stride;
    return make_rank(order.ordered(read_only(keys + at)),
                     ids == nullptr ? std::int64_t{i} : read_only(ids + at));
  }
  CULMEN_HOST_DEVICE void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
  CULMEN_HOST_DEVICE void write(Rank rank, SelectedRow& row) const {
    row = {order.original(ordered_key(rank)), 0, id_of(rank)};
  }
};

}  // namespace culmen::select
