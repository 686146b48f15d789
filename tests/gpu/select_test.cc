// k-selection on the GPU: every method, on every type of key and in every order of the input, finds the rows
// that a sort on the host finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "query/cuda/buffer.h"
#include "query/select/select.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::select {
namespace {

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

template <typename T>
cuda::Buffer<T> on_card(const std::vector<T>& values) {
  return cuda::upload(values.data(), values.size(), cuda::Memory::device);
}

std::vector<SelectedRow> download(const SelectedRow* rows, std::size_t count, const cuda::Stream& stream) {
  std::vector<SelectedRow> host(count);
  stream.synchronize();
  cuda::check(cudaMemcpy(host.data(), rows, count * sizeof(SelectedRow), cudaMemcpyDefault));
  return host;
}

// What is wrong with the answer, or "".
std::string fault_in(const std::vector<SelectedRow>& found, const std::vector<SelectedRow>& wanted) {
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

// These would take minutes: one heap for all rows, a pass over memory a step.
bool is_too_slow(Method method, std::size_t num_rows, std::uint32_t k) {
  return method == Method::heaps && num_rows > 10'000 && k > 512;
}

class Selections {
 public:
  template <typename T>
  void check(const Rows<T>& rows, std::vector<std::uint32_t> ks, const std::string& what) {
    const cuda::Buffer<T> keys = on_card(rows.keys);
    const cuda::Buffer<std::int32_t> second_keys = on_card(rows.second_keys);
    const cuda::Buffer<std::int64_t> ids = on_card(rows.ids);
    const KeyColumns columns = {.type = rows.type,
                                .keys = keys.data(),
                                .second_type = KeyType::int32,
                                .second_keys = second_keys.data(),
                                .ids = ids.data(),
                                .num_rows = static_cast<std::uint32_t>(rows.keys.size())};
    const std::vector<SelectedRow> wanted = rows.sorted();
    for (const Method method : kAllMethods)
      for (const std::uint32_t k : ks) {
        if (k == 0 || is_too_slow(method, rows.keys.size(), k)) continue;
        const auto found = download(select_best(method, columns, k, workspace_, stream_.get()), k, stream_);
        EXPECT_EQ(fault_in(found, wanted), "")
            << method_name(method) << ", k = " << k << ", " << rows.keys.size() << " rows, " << what;
      }
  }
  std::vector<SelectedRow> select(Method method, const ScoredColumns& columns, std::uint32_t k) {
    return download(select_best(method, columns, k, workspace_, stream_.get()), k, stream_);
  }

 private:
  Workspace workspace_;
  cuda::Stream stream_;
};

template <typename T>
void check_type(KeyType type) {
  Selections selections;
  std::uint64_t seed = 1;
  for (const Order order : kAllOrders)
    for (const std::uint32_t n : {1u, 2u, 31u, 1000u, 4097u, 20'001u}) {
      if (n > 128 * test::num_cases(400)) continue;  // a sanitizer has asked for few
      const std::string what = "order " + std::to_string(static_cast<int>(order));
      Rows<T> rows{type, make_keys<T>(order, n, ++seed), {}, {}};
      const std::vector<std::uint32_t> ks = {1, 2, 7, 32, 100, 256, 1000, 2048, 2049, n - 1, n, n + 1};
      selections.check(rows, ks, what);
      for (std::uint32_t row = 0; row < n; ++row)
        rows.ids.push_back((row % 2 == 0 ? 1 : -1) * static_cast<std::int64_t>(row * 3'000'000'019ull + 5));
      selections.check(rows, {1, 100, 2049, n}, what + ", with ids");
      if (is_64_bit(type)) continue;
      rows.second_keys = make_keys<std::int32_t>(Order::few, n, ++seed);
      selections.check(rows, {1, 100, 2049, n}, what + ", with second keys and ids");
    }
}

TEST(Select, Float32) {
  SKIP_WITHOUT_GPU();
  check_type<float>(KeyType::float32);
}
TEST(Select, Float64) {
  SKIP_WITHOUT_GPU();
  check_type<double>(KeyType::float64);
}
TEST(Select, Int32) {
  SKIP_WITHOUT_GPU();
  check_type<std::int32_t>(KeyType::int32);
}
TEST(Select, Uint32) {
  SKIP_WITHOUT_GPU();
  check_type<std::uint32_t>(KeyType::uint32);
}
TEST(Select, Int64) {
  SKIP_WITHOUT_GPU();
  check_type<std::int64_t>(KeyType::int64);
}

// So many rows that a sample comes first.
TEST(Select, LargeInputs) {
  SKIP_WITHOUT_GPU();
  Selections selections;
  std::uint64_t seed = 100;
  for (const Order order : kAllOrders)
    for (const std::uint32_t n : {(1u << 18) - 1, 1u << 18, 700'001u}) {
      const Rows<float> rows{KeyType::float32, make_keys<float>(order, n, ++seed), {}, {}};
      selections.check(rows, {1, 10, 256, 2048, 2049, 20'000, n / 8, n},
                       "order " + std::to_string(static_cast<int>(order)));
    }
  const std::uint32_t n = (1u << 21) + 17;
  const Rows<double> rows{KeyType::float64, make_keys<double>(Order::few, n, 5), {}, {}};
  selections.check(rows, {1 << 16, 1 << 20, n - 1}, "k up to 2^20");
}

// All keys of the best rows lie where the sample does not look: their floor is too high for half of them.
TEST(Select, FindsWhatTheSampleMissed) {
  SKIP_WITHOUT_GPU();
  Selections selections;
  const std::uint32_t n = 1 << 20;
  for (const std::uint32_t num_high : {3u, 300u, 3000u}) {
    Rows<std::int32_t> rows{KeyType::int32, std::vector<std::int32_t>(n, 0), {}, {}};
    for (std::uint32_t i = 0; i < num_high; ++i) rows.keys[n / 2 + i] = 1 + static_cast<std::int32_t>(i);
    selections.check(rows, {1, 2, 100, 1000, 5000},
                     std::to_string(num_high) + " high keys beside each other");
  }
}

TEST(Select, KeysThatAreNotAligned) {
  SKIP_WITHOUT_GPU();
  Workspace workspace;
  cuda::Stream stream;
  const Rows<float> all{KeyType::float32, make_keys<float>(Order::random, 300'001, 9), {}, {}};
  const cuda::Buffer<float> keys = on_card(all.keys);
  const Rows<float> rows{KeyType::float32, {all.keys.begin() + 1, all.keys.end()}, {}, {}};
  for (const Method method : kAllMethods) {
    const KeyColumns columns = {.keys = keys.data() + 1, .num_rows = 300'000};
    const auto found = download(select_best(method, columns, 77, workspace, stream.get()), 77, stream);
    EXPECT_EQ(fault_in(found, rows.sorted()), "") << method_name(method);
  }
}

TEST(Select, ScoresMadeOnTheFlyOfRowsThatAFilterTakes) {
  SKIP_WITHOUT_GPU();
  Selections selections;
  for (const std::uint32_t n : {100u, 5000u, 600'000u})
    for (const float highest : {0.0001f, 0.3f, 2.0f}) {
      Random random(n);
      std::vector<std::vector<float>> values(3, std::vector<float>(n));
      for (std::vector<float>& column : values)
        for (float& value : column) value = static_cast<float>(random.unit());
      const cuda::Buffer<float> a = on_card(values[0]), b = on_card(values[1]), c = on_card(values[2]);
      ScoredColumns columns;
      columns.num_columns = 2;
      columns.values[0] = a.data();
      columns.values[1] = b.data();
      columns.weights[0] = 0.7;
      columns.weights[1] = -0.2;
      columns.filter = c.data();
      columns.highest = highest;
      columns.num_rows = n;
      Rows<double> rows{KeyType::float64, {}, {}, {}};
      for (std::uint32_t row = 0; row < n; ++row) {
        if (values[2][row] > highest) continue;
        rows.keys.push_back(std::fma(-0.2, static_cast<double>(values[1][row]),
                                     std::fma(0.7, static_cast<double>(values[0][row]), 0.0)));
        rows.ids.push_back(row);
      }
      const std::vector<SelectedRow> wanted = rows.sorted();
      for (const Method method : kAllMethods)
        for (const std::uint32_t k : {1u, 50u, 400u, 3000u}) {
          if (is_too_slow(method, n, k)) continue;
          EXPECT_EQ(fault_in(selections.select(method, columns, k), wanted), "")
              << method_name(method) << ", k = " << k << ", " << wanted.size() << " of " << n;
        }
    }
}

TEST(Select, RefusesWhatMakesNoSense) {
  SKIP_WITHOUT_GPU();
  Workspace workspace;
  const cuda::Buffer<float> keys(10);
  EXPECT_THROW(select_best(Method::sample, {.keys = keys.data(), .num_rows = 10}, 0, workspace, nullptr),
               InvalidArgument);
  EXPECT_THROW(select_best(Method::sample, {.keys = keys.data(), .num_rows = 0}, 1, workspace, nullptr),
               InvalidArgument);
  EXPECT_THROW(select_best(Method::sample,
                           {.type = KeyType::float64,
                            .keys = keys.data(),
                            .second_type = KeyType::int32,
                            .second_keys = keys.data(),
                            .num_rows = 5},
                           1, workspace, nullptr),
               InvalidArgument);
}

}  // namespace
}  // namespace culmen::select
