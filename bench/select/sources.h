// The sources that only tests and benchmarks select from (Keys64Ids is in select/source.h), and the choice of a source
// for given columns.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <variant>

#include "base/read_only.h"
#include "bench/select/columns.h"
#include "select/source.h"

namespace culmen::select {

CULMEN_HOST_DEVICE inline std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// 32-bit keys, aligned to 16 bytes, with row numbers as ids.
struct Keys32 {
  using Rank = Rank64;
  static constexpr int kRun = 4;

  const std::uint32_t* keys;
  KeyOrder<std::uint32_t> order;
  std::uint32_t num_rows;

  static bool has_ids() { return false; }
  CULMEN_HOST_DEVICE std::uint32_t size() const { return num_rows; }
  CULMEN_HOST_DEVICE Rank rank(std::uint32_t i) const {
    return make_rank(order.ordered(read_only(keys + i)), i);
  }
#ifdef __CUDACC__
  __device__ void run(std::uint32_t i, Rank* ranks) const {
    const uint4 four = __ldcs(reinterpret_cast<const uint4*>(keys + i));
    ranks[0] = make_rank(order.ordered(four.x), i);
    ranks[1] = make_rank(order.ordered(four.y), i + 1);
    ranks[2] = make_rank(order.ordered(four.z), i + 2);
    ranks[3] = make_rank(order.ordered(four.w), i + 3);
  }
#endif
  CULMEN_HOST_DEVICE void write(Rank rank, SelectedRow& row) const {
    row = {order.original(ordered_key(rank)), 0, id_of(rank)};
  }
};

// 32-bit keys, optionally with second keys and with ids.
struct Keys32Ids {
  using Rank = Rank128;
  static constexpr int kRun = 1;

  const std::uint32_t* keys;
  const std::uint32_t* second_keys;  // or null
  const std::int64_t* ids;           // or null
  KeyOrder<std::uint32_t> order, second_order;
  std::uint32_t num_rows, stride;

  bool has_ids() const { return ids != nullptr; }
  CULMEN_HOST_DEVICE std::uint32_t size() const { return num_rows; }
  CULMEN_HOST_DEVICE Rank rank(std::uint32_t i) const {
    const std::uint64_t at = std::uint64_t{i} * stride;
    const std::uint64_t first = order.ordered(read_only(keys + at));
    const std::uint32_t second =
        second_keys == nullptr ? 0 : second_order.ordered(read_only(second_keys + at));
    return make_rank(first << 32 | second, ids == nullptr ? std::int64_t{i} : read_only(ids + at));
  }
  CULMEN_HOST_DEVICE void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
  CULMEN_HOST_DEVICE void write(Rank rank, SelectedRow& row) const {
    const std::uint64_t both = ordered_key(rank);
    row.key = order.original(static_cast<std::uint32_t>(both >> 32));
    row.second_key = second_keys == nullptr ? 0 : second_order.original(static_cast<std::uint32_t>(both));
    row.id = id_of(rank);
  }
};

// Scores computed on the fly: a weighted sum of columns, for the rows in a range of one column.
struct Scores {
  using Rank = Rank128;
  static constexpr int kRun = 1;

  ScoredColumns columns;
  KeyOrder<std::uint64_t> order;

  static bool has_ids() { return false; }
  CULMEN_HOST_DEVICE std::uint32_t size() const { return columns.num_rows; }
  CULMEN_HOST_DEVICE Rank rank(std::uint32_t i) const {
    if (columns.filter != nullptr) {
      const float value = read_only(columns.filter + i);
      if (!(value >= columns.lowest && value <= columns.highest)) return 0;
    }
    double score = 0;
    for (int c = 0; c < columns.num_columns; ++c)
      score = fma(columns.weights[c], static_cast<double>(read_only(columns.values[c] + i)), score);
    return make_rank(order.ordered(bits_of(score)), std::int64_t{i});
  }
  CULMEN_HOST_DEVICE void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
  CULMEN_HOST_DEVICE void write(Rank rank, SelectedRow& row) const {
    row = {order.original(ordered_key(rank)), 0, id_of(rank)};
  }
};

using AnySource = std::variant<Keys32, Keys32Ids, Keys64Ids>;

// Throws InvalidArgument if there are second keys and either type has 64 bits.
AnySource source_of(const KeyColumns& columns);
Scores source_of(const ScoredColumns& columns);

// Throws InvalidArgument if either is 0.
void require_rows(std::uint32_t num_rows, std::uint32_t k);

}  // namespace culmen::select
