// Sources: where ranks come from, as kernels read them.
//
//   Rank                   Rank64 or Rank128
//   size()                 how many rows there are, below 2^32 - 1
//   rank(i)                of row i; 0: a filter leaves it out
//   kRun, run(i, ranks)    of rows i to i + kRun - 1, where i is a multiple of kRun
//   write(rank, row)       the row of such a rank, for who asked
//   has_ids()              whether ids are something else than places; on the host
#pragma once

#include <cstdint>
#include <variant>

#include "query/select/rank.h"
#include "query/select/select.h"

namespace culmen::select {

// 32-bit keys, aligned to 16 bytes, whose ids are their places.
struct Keys32 {
  using Rank = Rank64;
  static constexpr int kRun = 4;

  const std::uint32_t* keys;
  KeyOrder<std::uint32_t> order;
  std::uint32_t num_rows;

  static bool has_ids() { return false; }
  __device__ std::uint32_t size() const { return num_rows; }
  __device__ Rank rank(std::uint32_t i) const { return make_rank(order.ordered(__ldg(keys + i)), i); }
  __device__ void run(std::uint32_t i, Rank* ranks) const {
    const uint4 four = __ldcs(reinterpret_cast<const uint4*>(keys + i));
    ranks[0] = make_rank(order.ordered(four.x), i);
    ranks[1] = make_rank(order.ordered(four.y), i + 1);
    ranks[2] = make_rank(order.ordered(four.z), i + 2);
    ranks[3] = make_rank(order.ordered(four.w), i + 3);
  }
  __device__ void write(Rank rank, SelectedRow& row) const {
    row = {order.original(ordered_key(rank)), 0, id_of(rank)};
  }
};

template <typename Source>
__device__ void run_by_rank(const Source& source, std::uint32_t i, typename Source::Rank* ranks) {
  for (int j = 0; j < Source::kRun; ++j) ranks[j] = source.rank(i + j);
}

// 32-bit keys, then second ones if there are any, with ids or without.
struct Keys32Ids {
  using Rank = Rank128;
  static constexpr int kRun = 1;

  const std::uint32_t* keys;
  const std::uint32_t* second_keys;  // or null
  const std::int64_t* ids;           // or null
  KeyOrder<std::uint32_t> order, second_order;
  std::uint32_t num_rows;

  bool has_ids() const { return ids != nullptr; }
  __device__ std::uint32_t size() const { return num_rows; }
  __device__ Rank rank(std::uint32_t i) const {
    const std::uint64_t first = order.ordered(__ldg(keys + i));
    const std::uint32_t second = second_keys == nullptr ? 0 : second_order.ordered(__ldg(second_keys + i));
    return make_rank(first << 32 | second, ids == nullptr ? std::int64_t{i} : __ldg(ids + i));
  }
  __device__ void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
  __device__ void write(Rank rank, SelectedRow& row) const {
    const std::uint64_t both = ordered_key(rank);
    row.key = order.original(static_cast<std::uint32_t>(both >> 32));
    row.second_key = second_keys == nullptr ? 0 : second_order.original(static_cast<std::uint32_t>(both));
    row.id = id_of(rank);
  }
};

// 64-bit keys, with ids or without.
struct Keys64Ids {
  using Rank = Rank128;
  static constexpr int kRun = 1;

  const std::uint64_t* keys;
  const std::int64_t* ids;  // or null
  KeyOrder<std::uint64_t> order;
  std::uint32_t num_rows;

  bool has_ids() const { return ids != nullptr; }
  __device__ std::uint32_t size() const { return num_rows; }
  __device__ Rank rank(std::uint32_t i) const {
    return make_rank(order.ordered(__ldg(keys + i)), ids == nullptr ? std::int64_t{i} : __ldg(ids + i));
  }
  __device__ void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
  __device__ void write(Rank rank, SelectedRow& row) const {
    row = {order.original(ordered_key(rank)), 0, id_of(rank)};
  }
};

// Scores that are made on the fly: a weighted sum of columns, of the rows that a range of one column lets
// through.
struct Scores {
  using Rank = Rank128;
  static constexpr int kRun = 1;

  ScoredColumns columns;
  KeyOrder<std::uint64_t> order;

  static bool has_ids() { return false; }
  __device__ std::uint32_t size() const { return columns.num_rows; }
  __device__ Rank rank(std::uint32_t i) const {
    if (columns.filter != nullptr) {
      const float value = __ldg(columns.filter + i);
      if (!(value >= columns.lowest && value <= columns.highest)) return 0;
    }
    double score = 0;
    for (int c = 0; c < columns.num_columns; ++c)
      score = __fma_rn(columns.weights[c], static_cast<double>(__ldg(columns.values[c] + i)), score);
    return make_rank(order.ordered(static_cast<std::uint64_t>(__double_as_longlong(score))), std::int64_t{i});
  }
  __device__ void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
  __device__ void write(Rank rank, SelectedRow& row) const {
    row = {order.original(ordered_key(rank)), 0, id_of(rank)};
  }
};

using AnySource = std::variant<Keys32, Keys32Ids, Keys64Ids, Scores>;

// Ranks in memory; how many there are stands on the card.
template <typename R>
struct Ranks {
  using Rank = R;
  static constexpr int kRun = 1;

  const Rank* ranks;
  const std::uint32_t* num_ranks;

  __device__ std::uint32_t size() const {
    return *reinterpret_cast<const volatile std::uint32_t*>(num_ranks);
  }
  __device__ Rank rank(std::uint32_t i) const { return ranks[i]; }
  __device__ void run(std::uint32_t i, Rank* out) const { run_by_rank(*this, i, out); }
};

}  // namespace culmen::select
