// What the tests of k-selection share: keys in orders that are hard for some method, and the rows that a sort
// finds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/select/columns.h"
#include "tests/generators.h"

namespace culmen::select {

using test::Random;

enum class Order { random, ascending, descending, equal, few, digits, special };
constexpr std::array kAllOrders = {Order::random, Order::ascending, Order::descending, Order::equal,
                                   Order::few,    Order::digits,    Order::special};

// Keys of one type as numbers of it, in the order that the test is about.
template <typename T>
std::vector<T> make_keys(Order order, std::size_t count, std::uint64_t seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Random random(seed);
  std::vector<T> keys(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = random.unit();
    switch (order) {
      case Order::random:
        keys[i] = static_cast<T>(std::is_signed_v<T> ? (unit - 0.5) * 2e9 : unit * 4e9);
        break;
      case Order::ascending:
        keys[i] = static_cast<T>(i);
        break;
      case Order::descending:
        keys[i] = static_cast<T>(count - i);
        break;
      case Order::equal:
        keys[i] = T{7};
        break;
      case Order::few:
        keys[i] = static_cast<T>(random.below(3));
        break;
      // One bit away from all others, in any digit.
      case Order::digits:
        keys[i] = std::bit_cast<T>(Bits{1} << random.below(8 * sizeof(T) - 2));
        break;
      case Order::special:
        keys[i] = std::numeric_limits<T>::max();
        if (random.below(4) == 0) keys[i] = std::numeric_limits<T>::lowest();
        if (random.below(4) == 0) keys[i] = T{0};
        if constexpr (std::is_floating_point_v<T>) {
          const T values[] = {std::numeric_limits<T>::quiet_NaN(),
                              -std::numeric_limits<T>::quiet_NaN(),
                              std::numeric_limits<T>::infinity(),
                              -std::numeric_limits<T>::infinity(),
                              T{-0.0},
                              std::numeric_limits<T>::denorm_min()};
          if (random.below(2) == 0) keys[i] = values[random.below(std::size(values))];
        }
        break;
    }
  }
  return keys;
}

// -1, 0, 1: `a` is worse, equal, better. NaN is better than all else.
template <typename T>
int compare(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return (std::isnan(a) ? 1 : 0) - (std::isnan(b) ? 1 : 0);
  }
  return a < b ? -1 : a > b ? 1 : 0;
}

// As a selection gives a key back.
template <typename T>
std::uint64_t returned_bits(T key) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(key)) return static_cast<Bits>(~Bits{0}) >> 1;
    if (key == 0) return 0;
  }
  return std::bit_cast<Bits>(key);
}

// Rows on the host: keys, and second keys or ids where there are any.
template <typename T>
struct Rows {
  KeyType type;
  std::vector<T> keys;
  std::vector<std::int32_t> second_keys;
  std::vector<std::int64_t> ids;

  std::int64_t id(std::uint32_t row) const { return ids.empty() ? row : ids[row]; }
  bool is_better(std::uint32_t a, std::uint32_t b) const {
    if (const int order = compare(keys[a], keys[b]); order != 0) return order > 0;
    if (!second_keys.empty() && second_keys[a] != second_keys[b]) return second_keys[a] > second_keys[b];
    return id(a) < id(b);
  }
  // All rows, best first.
  std::vector<SelectedRow> sorted() const {
    std::vector<std::uint32_t> rows(keys.size());
    std::iota(rows.begin(), rows.end(), 0u);
    std::sort(rows.begin(), rows.end(), [this](std::uint32_t a, std::uint32_t b) { return is_better(a, b); });
    std::vector<SelectedRow> sorted;
    for (const std::uint32_t row : rows)
      sorted.push_back({returned_bits(keys[row]),
                        second_keys.empty() ? 0 : static_cast<std::uint32_t>(second_keys[row]), id(row)});
    return sorted;
  }
};

// What is wrong with the answer, or "".
inline std::string fault_in(const std::vector<SelectedRow>& found, const std::vector<SelectedRow>& wanted) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SelectedRow none = {0, 0, kNoRow};
    const SelectedRow& row = i < wanted.size() ? wanted[i] : none;
    if (found[i].key == row.key && found[i].second_key == row.second_key && found[i].id == row.id) continue;
    return "place " + std::to_string(i) + ": key bits " + std::to_string(found[i].key) + ", " +
           std::to_string(found[i].second_key) + ", id " + std::to_string(found[i].id) + "; wanted " +
           std::to_string(row.key) + ", " + std::to_string(row.second_key) + ", id " + std::to_string(row.id);
  }
  return "";
}

// Three columns of numbers in [0, 1): two that are scored and one that decides who is taken.
struct ScoredTable {
  static constexpr double kWeights[] = {0.7, -0.2};
  std::vector<std::vector<float>> values;

  explicit ScoredTable(std::uint32_t num_rows) : values(3, std::vector<float>(num_rows)) {
    Random random(num_rows);
    for (std::vector<float>& column : values)
      for (float& value : column) value = static_cast<float>(random.unit());
  }

  // The selection from these three columns, wherever they are.
  static ScoredColumns columns(const float* a, const float* b, const float* filter, float highest,
                               std::uint32_t num_rows) {
    ScoredColumns columns;
    columns.num_columns = 2;
    columns.values[0] = a;
    columns.values[1] = b;
    std::copy(std::begin(kWeights), std::end(kWeights), columns.weights);
    columns.filter = filter;
    columns.highest = highest;
    columns.num_rows = num_rows;
    return columns;
  }

  // The rows that are taken, best first.
  std::vector<SelectedRow> sorted(float highest) const {
    Rows<double> rows{KeyType::float64, {}, {}, {}};
    for (std::uint32_t row = 0; row < values[0].size(); ++row) {
      if (values[2][row] > highest) continue;
      rows.keys.push_back(std::fma(kWeights[1], static_cast<double>(values[1][row]),
                                   std::fma(kWeights[0], static_cast<double>(values[0][row]), 0.0)));
      rows.ids.push_back(row);
    }
    return rows.sorted();
  }
};

}  // namespace culmen::select
