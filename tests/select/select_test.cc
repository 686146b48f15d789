// k-selection on the GPU: every method, on every type of key and in every order of the input, finds the rows
// that a sort on the host finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/select/select.h"
#include "culmen/error.h"
#include "gpu/cuda/buffer.h"
#include "gpu/cuda/limits.h"
#include "gpu/search/best_candidates.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/upload.h"
#include "tests/select/selected_rows.h"

namespace culmen::select {
namespace {

std::vector<SelectedRow> download(const SelectedRow* rows, std::size_t count, const cuda::Stream& stream) {
  std::vector<SelectedRow> host(count);
  stream.synchronize();
  cuda::check(cudaMemcpy(host.data(), rows, count * sizeof(SelectedRow), cudaMemcpyDefault));
  return host;
}

// These would take minutes: one heap for all rows, a pass over memory a step.
bool is_too_slow(Method method, std::size_t num_rows, std::uint32_t k) {
  return method == Method::heaps && num_rows > 10'000 && k > 512;
}

class Selections {
 public:
  Selections() = default;
  explicit Selections(unsigned most_blocks) { workspace_.most_blocks = most_blocks; }

  template <typename T>
  void check(const Rows<T>& rows, std::vector<std::uint32_t> ks, const std::string& what) {
    const cuda::Buffer<T> keys = test::to_device(rows.keys);
    const cuda::Buffer<std::int32_t> second_keys = test::to_device(rows.second_keys);
    const cuda::Buffer<std::int64_t> ids = test::to_device(rows.ids);
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

// The steps of every method, for racecheck, which would take hours over all the others (scripts/gpu_test.sh).
TEST(Select, TwoThreadBlocks) {
  SKIP_WITHOUT_GPU();
  Selections selections(2);
  const Rows<float> floats{KeyType::float32, make_keys<float>(Order::random, 3000, 1), {}, {}};
  selections.check(floats, {1, 3, 40, 600, 2500}, "float32");
  const Rows<double> doubles{KeyType::float64, make_keys<double>(Order::few, 3000, 2), {}, {}};
  selections.check(doubles, {1, 40, 600, 2500}, "float64");
  const Rows<float> sampled{KeyType::float32, make_keys<float>(Order::random, 1 << 18, 3), {}, {}};
  selections.check(sampled, {40}, "so many rows that a sample comes first");
}

// What an engine leaves of a search for more than it sorts itself, and again for racecheck.
TEST(Select, CandidatesOfTwoThreadBlocks) {
  SKIP_WITHOUT_GPU();
  const cuda::LimitCap cap({.num_multiprocessors = 2});
  const cuda::Stream stream;
  test::Random random(7);
  for (const std::size_t num_rows : {3000u, 1u << 18}) {
    std::vector<gpu::Candidate> rows;
    for (std::uint64_t row = 0; row < num_rows; ++row)
      rows.push_back(
          {0.25 * static_cast<double>(random.below(1000)), static_cast<std::int64_t>(row ^ 5), row});
    const cuda::Buffer<gpu::Candidate> candidates = test::to_device(rows);
    std::sort(rows.begin(), rows.end(), gpu::ranks_before);
    gpu::BestCandidates best;
    for (const std::size_t k : {1025, 2048, 2600}) {
      const gpu::Candidate* found = best.choose(candidates.data(), num_rows, k, stream.get());
      std::vector<gpu::Candidate> hits(k);
      stream.synchronize();
      cuda::check(cudaMemcpy(hits.data(), found, k * sizeof(gpu::Candidate), cudaMemcpyDefault));
      for (std::size_t i = 0; i < k; ++i) ASSERT_EQ(hits[i].row, rows[i].row) << k << " of " << num_rows;
    }
  }
}

// So many rows that a sample comes first.
TEST(Select, LargeInputs) {
  SKIP_WITHOUT_GPU();
  Selections selections;
  std::uint64_t seed = 100;
  for (const Order order : kAllOrders)
    for (const std::uint32_t n : {(1u << 18) - 1, 1u << 18, 700'001u}) {
      const Rows<float> rows{KeyType::float32, make_keys<float>(order, n, ++seed), {}, {}};
      selections.check(rows, {1, 10, 16, 64, 256, 512, 1024, 2048, 2049, 4096, 4097, 20'000, n / 8, n},
                       "order " + std::to_string(static_cast<int>(order)));
    }
  const std::uint32_t n = (1u << 21) + 17;
  const Rows<double> rows{KeyType::float64, make_keys<double>(Order::few, n, 5), {}, {}};
  selections.check(rows, {1 << 16, 1 << 20, n - 1}, "k up to 2^20");
}

// All keys of the best rows lie where the sample does not look: their k-th score bound is too high for half of them.
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
  const cuda::Buffer<float> keys = test::to_device(all.keys);
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
  for (const std::uint32_t n : {100u, 5000u, 600'000u}) {
    const ScoredTable table(n);
    const cuda::Buffer<float> a = test::to_device(table.values[0]), b = test::to_device(table.values[1]),
                              c = test::to_device(table.values[2]);
    for (const float highest : {0.0001f, 0.3f, 2.0f}) {
      const ScoredColumns columns = ScoredTable::columns(a.data(), b.data(), c.data(), highest, n);
      const std::vector<SelectedRow> wanted = table.sorted(highest);
      for (const Method method : kAllMethods)
        for (const std::uint32_t k : {1u, 50u, 400u, 3000u}) {
          if (is_too_slow(method, n, k)) continue;
          EXPECT_EQ(fault_in(selections.select(method, columns, k), wanted), "")
              << method_name(method) << ", k = " << k << ", " << wanted.size() << " of " << n;
        }
    }
  }
}

TEST(Select, KeysAndIdsOfStructs) {
  SKIP_WITHOUT_GPU();
  struct Row {
    double key;
    std::int64_t id, other;
  };
  Workspace workspace;
  cuda::Stream stream;
  Rows<double> rows{KeyType::float64, make_keys<double>(Order::few, 5000, 3), {}, {}};
  std::vector<Row> structs;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    rows.ids.push_back(9999 - std::int64_t{i});
    structs.push_back({rows.keys[i], rows.ids[i], -1});
  }
  const cuda::Buffer<Row> all = test::to_device(structs);
  const KeyColumns columns = {.type = KeyType::float64,
                              .keys = &all.data()->key,
                              .ids = &all.data()->id,
                              .num_rows = 5000,
                              .stride = 3};
  for (const Method method : kAllMethods)
    for (const std::uint32_t k : {10u, 4000u}) {
      const auto found = download(select_best(method, columns, k, workspace, stream.get()), k, stream);
      EXPECT_EQ(fault_in(found, rows.sorted()), "") << method_name(method);
    }
}

// That is not allowed; the answer may lack rows, but nothing else breaks.
TEST(Select, SurvivesIdsThatRepeat) {
  SKIP_WITHOUT_GPU();
  Workspace workspace;
  cuda::Stream stream;
  const std::uint32_t n = 300'000;
  const cuda::Buffer<float> keys = test::to_device(make_keys<float>(Order::few, n, 1));
  const cuda::Buffer<std::int64_t> ids = test::to_device(std::vector<std::int64_t>(n, 17));
  const KeyColumns columns = {.keys = keys.data(), .ids = ids.data(), .num_rows = n};
  for (const Method method : kAllMethods)
    for (const std::uint32_t k : {10u, 500u, 4000u}) {
      if (is_too_slow(method, n, k)) continue;
      const auto found = download(select_best(method, columns, k, workspace, stream.get()), k, stream);
      EXPECT_EQ(found.front().key, returned_bits(2.0f)) << method_name(method);
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
