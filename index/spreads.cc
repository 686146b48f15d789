#include "index/spreads.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/floating_point_scope.h"
#include "culmen/error.h"
#include "index/find_rows.h"
#include "index/logged_rows.h"
#include "index/read_session.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

using LeafRange = tbb::blocked_range<std::size_t>;

constexpr std::size_t kLeavesAtOnce = 64;

template <typename T>
void add_leaf(const Snapshot& s, std::uint32_t leaf, std::size_t attribute, Moments& moments) {
  const T* const values = s.leaf_values<T>(leaf) + attribute * static_cast<std::size_t>(s.leaf_rows);
  const LeafFields fields = s.leaf_fields(leaf);
  const bool has_gaps = fields.gaps_of(attribute) != nullptr;
  const Preference preference = s.attributes[attribute].preference;
  for (std::uint32_t row = 0; row < s.leaf(leaf).num_rows; ++row)
    if (!has_gaps || !fields.misses_attribute(attribute, row)) moments.add(oriented(values[row], preference));
}

Moments moments_of_attribute(const Snapshot& s, std::size_t attribute) {
  const std::vector<std::uint32_t>& leaves = s.order().ascending_leaves;
  const auto add_leaves = [&](const LeafRange& range, Moments moments) {
    const FloatingPointScope floating_point;
    const ReadSession session(s);
    visit_value_type(s, [&]<typename T>(T) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) add_leaf<T>(s, leaves[i], attribute, moments);
    });
    return moments;
  };
  const auto join = [](Moments a, const Moments& b) {
    a.add(b);
    return a;
  };
  return tbb::parallel_reduce(LeafRange(0, leaves.size(), kLeavesAtOnce), Moments(), add_leaves, join);
}

void remove_rows(const Snapshot& s, std::span<const std::uint64_t> rows, std::size_t attribute,
                 Moments& moments) {
  const auto stride = static_cast<std::uint64_t>(s.leaf_rows);
  for (const std::uint64_t row : rows) {
    const ReadSession session(s);
    if (!s.leaf_fields(row / stride).misses_attribute(attribute, row % stride))
      moments.remove(oriented(s.value(row, static_cast<int>(attribute)), s.attributes[attribute].preference));
  }
}

std::vector<Spread> spreads_beside(const LoggedRows& logged) {
  std::vector<Spread> spreads = logged.base->spreads();
  std::vector<std::uint64_t> erased;
  if (!logged.erased.empty()) erased = find_rows(*logged.base, logged.erased);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    Moments moments = moments_of(spreads[i]);
    remove_rows(*logged.base, erased, i, moments);
    moments.add(moments_of(logged.rows->spreads()[i]));
    spreads[i] = spread_of(moments);
  }
  return spreads;
}

}  // namespace

Spread spread_of(const Moments& moments) {
  const FloatingPointScope floating_point;
  return {.mean = moments.mean(), .deviation = moments.deviation(), .sums = moments.words()};
}

Moments moments_of(const Spread& spread) {
  std::optional<Moments> moments = Moments::of_words(spread.sums);
  if (!moments) throw FormatError("statistics have sums that no numbers have");
  return *std::move(moments);
}

std::vector<Spread> spreads_of(const Snapshot& s) {
  if (s.logged != nullptr) return spreads_beside(*s.logged);
  std::vector<Spread> spreads(s.attributes.size());
  if (s.num_rows == 0) return spreads;
  tbb::parallel_for(std::size_t{0}, spreads.size(),
                    [&](std::size_t i) { spreads[i] = spread_of(moments_of_attribute(s, i)); });
  return spreads;
}

}  // namespace culmen
