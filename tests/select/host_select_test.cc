// k-selection on the CPU: every method, on every type of key and in every order of the input, finds the rows
// that a sort finds.
#include <gtest/gtest.h>

#include "bench/select/host_select.h"
#include "culmen/error.h"
#include "tests/cases.h"
#include "tests/select/selected_rows.h"

namespace culmen::select {
namespace {

template <typename T>
KeyColumns columns_of(const Rows<T>& rows) {
  return {.type = rows.type,
          .keys = rows.keys.data(),
          .second_type = KeyType::int32,
          .second_keys = rows.second_keys.empty() ? nullptr : rows.second_keys.data(),
          .ids = rows.ids.empty() ? nullptr : rows.ids.data(),
          .num_rows = static_cast<std::uint32_t>(rows.keys.size())};
}

template <typename T>
void check(const Rows<T>& rows, const std::vector<std::uint32_t>& ks, const std::string& what) {
  const std::vector<SelectedRow> wanted = rows.sorted();
  for (const HostMethod method : kAllHostMethods)
    for (const std::uint32_t k : ks) {
      if (k == 0) continue;
      const std::vector<SelectedRow> found = select_best(method, columns_of(rows), k);
      EXPECT_EQ(found.size(), std::min<std::size_t>(k, wanted.size()));
      EXPECT_EQ(fault_in(found, wanted), "")
          << method_name(method) << ", k = " << k << ", " << rows.keys.size() << " rows, " << what;
    }
}

template <typename T>
void check_type(KeyType type) {
  std::uint64_t seed = 1;
  for (const Order order : kAllOrders)
    for (const std::uint32_t n : {1u, 2u, 31u, 1000u, 4097u, 200'001u}) {
      if (n > 100 * test::num_cases(2000)) continue;
      const std::string what = "order " + std::to_string(static_cast<int>(order));
      Rows<T> rows{type, make_keys<T>(order, n, ++seed), {}, {}};
      check(rows, {1, 2, 7, 100, 256, 1000, n - 1, n, n + 1}, what);
      for (std::uint32_t row = 0; row < n; ++row)
        rows.ids.push_back((row % 2 == 0 ? 1 : -1) * static_cast<std::int64_t>(row * 3'000'000'019ull + 5));
      check(rows, {1, 100, n}, what + ", with ids");
      if (is_64_bit(type)) continue;
      rows.second_keys = make_keys<std::int32_t>(Order::few, n, ++seed);
      check(rows, {1, 100, n}, what + ", with second keys and ids");
    }
}

TEST(HostSelect, Float32) {
  check_type<float>(KeyType::float32);
}
TEST(HostSelect, Float64) {
  check_type<double>(KeyType::float64);
}
TEST(HostSelect, Int32) {
  check_type<std::int32_t>(KeyType::int32);
}
TEST(HostSelect, Uint32) {
  check_type<std::uint32_t>(KeyType::uint32);
}
TEST(HostSelect, Int64) {
  check_type<std::int64_t>(KeyType::int64);
}

TEST(HostSelect, ScoresMadeOnTheFlyOfRowsThatAFilterTakes) {
  const std::uint32_t n = 5000;
  const ScoredTable table(n);
  for (const float highest : {-1.0f, 0.01f, 0.3f, 2.0f}) {
    const ScoredColumns columns = ScoredTable::columns(table.values[0].data(), table.values[1].data(),
                                                       table.values[2].data(), highest, n);
    const std::vector<SelectedRow> wanted = table.sorted(highest);
    for (const HostMethod method : kAllHostMethods)
      for (const std::uint32_t k : {1u, 50u, 3000u}) {
        const std::vector<SelectedRow> found = select_best(method, columns, k);
        EXPECT_EQ(found.size(), std::min<std::size_t>(k, wanted.size()));
        EXPECT_EQ(fault_in(found, wanted), "")
            << method_name(method) << ", k = " << k << ", of " << wanted.size();
      }
  }
}

TEST(HostSelect, RefusesWhatMakesNoSense) {
  const std::vector<double> keys(10);
  const KeyColumns columns = {.type = KeyType::float64, .keys = keys.data(), .num_rows = 10};
  EXPECT_THROW(select_best(HostMethod::heap, columns, 0), InvalidArgument);
  EXPECT_THROW(select_best(HostMethod::heap, KeyColumns{.keys = keys.data()}, 1), InvalidArgument);
  KeyColumns with_second = columns;
  with_second.second_keys = keys.data();
  EXPECT_THROW(select_best(HostMethod::heap, with_second, 1), InvalidArgument);
}

}  // namespace
}  // namespace culmen::select
