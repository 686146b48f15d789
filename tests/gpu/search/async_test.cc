// Batches with weights and answers in device memory, against the CPU's answers to the same questions.
//
// CULMEN_TEST_CASES and CULMEN_TEST_SEED as in tests/cpu/engines_test.cc.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "gpu/cuda/buffer.h"
#include "gpu/search/pack_query.h"
#include "gpu/search/plan_queries.h"
#include "index/build/bulk_load.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Weights that are refused, most of the time.
std::vector<double> broken_weights(Random& random, std::size_t num_attributes) {
  if (random.chance(0.2)) return std::vector<double>(num_attributes, random.pick({0.0, -0.0}));
  std::vector<double> weights = random_weights(random, num_attributes);
  weights[random.below(num_attributes)] = random.pick(
      {kNan, kInfinity, -kInfinity, std::numeric_limits<double>::max(), -std::numeric_limits<double>::max()});
  return weights;
}

std::vector<std::vector<double>> random_weight_vectors(Random& random, std::size_t num_queries,
                                                       std::size_t num_attributes) {
  std::vector<std::vector<double>> weights;
  for (std::size_t q = 0; q < num_queries; ++q)
    weights.push_back(random.chance(0.1) ? broken_weights(random, num_attributes)
                                         : random_weights(random, num_attributes));
  return weights;
}

Batch random_batch(Random& random, const Index& index, const Oracle& oracle) {
  Batch batch;
  batch.k = random.pick<std::size_t>({1, 2, 5, 16, 31, 33, 100, 1000, 1024});
  batch.weights = random_weight_vectors(random, 1 + random.below(40), oracle.num_attributes());
  for (std::uint64_t ranges = random.chance(0.3) ? 1 + random.below(3) : 0; ranges > 0; --ranges)
    batch.where = batch.where && random_range(random, oracle);
  if (random.chance(0.3)) {
    const Expected without = expected_of(index, batch);  // an existing score is the hardest limit
    if (without[0] && !without[0]->empty()) batch.min_score = (*without[0])[without[0]->size() / 2].score;
  }
  return batch;
}

class AsyncBatches : public testing::TestWithParam<ValueClass> {};

TEST_P(AsyncBatches, ReturnTheRowsAndScoreBitsOfTheCpu) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 5000;
  constexpr int kBatches = 4;
  const std::uint64_t num_tables = num_cases(kDefaultCases) / (20 * kBatches * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 3'000'000'000 + t;
    Random random(seed);
    const Table table = random_table(random, GetParam(), random_num_rows(random),
                                     random.between(1, random.pick({20, 64, 150})));
    const ValueType value_type = random_value_type(random, table.view());
    const Index index = Index::build(
        table.view(), random_build_options(random, Partitioning::angle, value_type, table.columns.size()));
    const DeviceIndex on_gpu = index.to_device();
    const Oracle oracle(table.view(), value_type == ValueType::float32);
    for (int b = 0; b < kBatches; ++b) {
      const Batch batch = random_batch(random, index, oracle);
      const ContextOptions options = {.scratch_bytes = random.pick<std::size_t>({0, 0, 64 << 10})};
      ASSERT_EQ(fault(index, on_gpu, batch, options), "")
          << table.num_rows << " rows, k=" << batch.k << ", " << batch.where.text() << "\n"
          << rerun_command(seed, "async_test", "*/" + std::string(value_class_name(GetParam())));
    }
    if (only_seed() != 0) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, AsyncBatches, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

// The bytes of packed queries, as the device writes them; zeros after a shorter query.
std::vector<std::byte> plan_on_device(const Snapshot& snapshot,
                                      const std::vector<std::vector<double>>& weights,
                                      const ResolvedQuery& common, std::size_t stride) {
  gpu::PlanOptions options = {.min_score = common.min_score,
                              .predicate = nullptr,
                              .ranked_predicate = nullptr,
                              .num_gap_words = 0,
                              .gaps = {},
                              .fills = false,
                              .num_ranges = 0,
                              .ranges = {}};
  for (const gpu::PackedRange& range : gpu::packed_ranges(common))
    options.ranges[options.num_ranges++] = range;
  const cuda::Buffer<std::byte> basis = to_device(gpu::make_plan_basis(snapshot));
  const cuda::Buffer<double> on_device = to_device(flat(weights));
  const cuda::Buffer<std::byte> queries = to_device(std::vector<std::byte>(weights.size() * stride));
  const cuda::Buffer<Term> terms = to_device(std::vector<Term>(weights.size() * snapshot.attributes.size()));
  const bool is_wide = snapshot.attributes.size() > gpu::kMaxSharedAttributes;
  gpu::launch_plan_queries({reinterpret_cast<const gpu::PlanBasis*>(basis.data()), on_device.data(),
                            is_wide ? terms.data() : nullptr, queries.data(),
                            static_cast<std::uint32_t>(weights.size()), static_cast<std::uint32_t>(stride)},
                           options, nullptr);
  return to_host(queries);
}

// Whether the bytes are those that the host packs for this query, or refuses to.
bool is_plan_of_host(const Query& query, const Snapshot& snapshot, const std::byte* planned,
                     std::size_t stride) {
  std::vector<std::byte> expected(stride);
  try {
    gpu::pack_query(resolve(query, snapshot), expected.data());
  } catch (const InvalidArgument&) {
    return gpu::QueryRef{planned}.header().is_refused == 1;
  }
  return std::memcmp(planned, expected.data(), stride) == 0;
}

TEST(AsyncPlans, AreThoseOfTheHostToTheBit) {
  SKIP_WITHOUT_GPU();
  for (const ValueClass value_class : all_value_classes())
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Random random(seed);
      const Table table = random_table(random, value_class, 1 + random.below(300),
                                       random.between(1, random.pick({20, 64, 300})));
      const std::shared_ptr<const Snapshot> snapshot = bulk_load(table.view(), {});
      const Oracle oracle(table.view(), false);
      Query query;
      query.min_score = random.uniform(-1, 1);
      for (int r = random.between(0, 3); r > 0; --r)
        query.where = query.where && random_range(random, oracle);
      query.weights = std::vector<double>(table.columns.size(), 1e-300);
      const ResolvedQuery common = resolve(query, *snapshot);
      const std::vector<std::vector<double>> weights =
          random_weight_vectors(random, 100, table.columns.size());
      const std::size_t stride = gpu::packed_stride(static_cast<int>(table.columns.size()),
                                                    static_cast<int>(gpu::max_ranges_of(query, false)));
      const std::vector<std::byte> planned = plan_on_device(*snapshot, weights, common, stride);
      for (std::size_t q = 0; q < weights.size(); ++q) {
        query.weights = weights[q];
        ASSERT_TRUE(is_plan_of_host(query, *snapshot, planned.data() + q * stride, stride))
            << value_class_name(value_class) << ", seed " << seed << ", " << describe(query);
      }
    }
}

TEST(Async, FlagsWeightsThatAreRefusedAndAnswersTheirNeighbours) {
  SKIP_WITHOUT_GPU();
  Random random(21);
  const Table table = random_table(random, ValueClass::uniform_f32, 2000, 3);
  const Index index = Index::build(table.view());
  const double huge = std::numeric_limits<double>::max();
  const Batch batch = {.weights = {{1, 2, 3},
                                   {1, kNan, 3},
                                   {-1, 2, 3},
                                   {0, -0.0, 0},
                                   {0, 1, 0},
                                   {kInfinity, 1, 1},
                                   {1, 1, -kInfinity},
                                   {0.5, -0.5, 0.25},
                                   {huge, huge, huge},
                                   {1e-320, 0, 0}}};
  const Expected expected = expected_of(index, batch);
  for (const std::size_t q : {1, 3, 5, 6, 8}) EXPECT_FALSE(expected[q].has_value()) << q;
  EXPECT_EQ(fault(index, index.to_device(), batch), "");
}

TEST(Async, PadsBehindTheLastHit) {
  SKIP_WITHOUT_GPU();
  Random random(22);
  const Table table = random_table(random, ValueClass::small_integers, 50, 4);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  const std::vector<std::vector<double>> weights = random_weight_vectors(random, 20, 4);
  for (const std::size_t k : {49, 50, 51, 1024})
    EXPECT_EQ(fault(index, on_gpu, {.weights = weights, .k = k}), "");
  EXPECT_EQ(fault(index, on_gpu, {.weights = weights, .k = 10, .min_score = 1e300}), "");  // no hit at all
  EXPECT_EQ(fault(index, on_gpu, {.weights = weights, .k = 10, .where = {{.attribute = 1, .minimum = 1e9}}}),
            "");
}

TEST(Async, AnswersAnEmptyIndex) {
  SKIP_WITHOUT_GPU();
  TableView table;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(std::span<const float>())};
  const Index index = Index::build(table);
  EXPECT_EQ(fault(index, index.to_device(), {.weights = {{1}, {0}, {-2}}, .k = 3}), "");
}

TEST(Async, AnswersALargeBatchInOneOrManyParts) {
  SKIP_WITHOUT_GPU();
  Random random(23);
  const Table table = random_table(random, ValueClass::anticorrelated, 100'000, 8);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  const Batch batch = {.weights = random_weight_vectors(random, 3000, 8), .k = 16};
  const Expected expected = expected_of(index, batch);
  for (const std::size_t scratch_bytes : {0, 5000, 100'000, 1 << 20}) {
    DeviceContext context = on_gpu.make_context({.scratch_bytes = scratch_bytes});
    const OnDevice on_device(batch);
    on_device.enqueue(on_gpu, context);
    context.synchronize();
    EXPECT_EQ(on_device.difference_to(expected), "") << scratch_bytes;
  }
}

// Several calls in a row without waiting, each of another size: they share the scratch memory, which grows.
TEST(Async, TakesCallAfterCallOnOneContext) {
  SKIP_WITHOUT_GPU();
  Random random(24);
  const Table table = random_table(random, ValueClass::uniform_f64, 20'000, 5);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  DeviceContext context = on_gpu.make_context();
  std::vector<Batch> batches;
  std::vector<OnDevice> on_device;
  for (const std::size_t k : {16, 1, 1000, 3, 1024, 100}) {
    batches.push_back({.weights = random_weight_vectors(random, 1 + random.below(200), 5), .k = k});
    if (k == 3) batches.back().where = {{.attribute = 2, .minimum = 0.3, .maximum = 0.6}};
    on_device.emplace_back(batches.back());
  }
  for (const OnDevice& batch : on_device) batch.enqueue(on_gpu, context);
  context.synchronize();
  for (std::size_t b = 0; b < batches.size(); ++b)
    EXPECT_EQ(on_device[b].difference_to(expected_of(index, batches[b])), "") << b;
}

TEST(Async, TakesAContextForEachThread) {
  SKIP_WITHOUT_GPU();
  Random random(25);
  const Table table = random_table(random, ValueClass::correlated, 50'000, 6);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<Batch> batches;
  std::vector<Expected> expected;
  for (const std::size_t k : {10, 200}) {
    batches.push_back({.weights = random_weight_vectors(random, 300, 6), .k = k});
    expected.push_back(expected_of(index, batches.back()));
  }
  constexpr std::size_t kRounds = 10;
  std::vector<std::vector<OnDevice>> on_device(2);  // by thread
  for (std::size_t t = 0; t < on_device.size(); ++t)
    for (std::size_t round = 0; round < kRounds; ++round)
      on_device[t].emplace_back(batches[(round + t) % batches.size()]);
  std::vector<std::string> faults(on_device.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < faults.size(); ++t)
      threads.emplace_back([&, t] {
        DeviceContext context = on_gpu.make_context({.scratch_bytes = 1 << 19});
        for (const OnDevice& batch : on_device[t]) batch.enqueue(on_gpu, context);
        context.synchronize();
        for (std::size_t round = 0; round < kRounds; ++round)
          faults[t] += on_device[t][round].difference_to(expected[(round + t) % batches.size()]);
      });
  }
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
}

// Copies on the caller's stream bring the weights and fetch the answers, without a wait in between.
TEST(Async, KeepsTheOrderOfTheCallersStream) {
  SKIP_WITHOUT_GPU();
  Random random(26);
  const Table table = random_table(random, ValueClass::uniform_f32, 30'000, 4);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  constexpr std::size_t kQueries = 500, kBest = 10;
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  {
    DeviceContext context = on_gpu.make_context({.stream = stream});
    EXPECT_EQ(context.stream(), stream);
    const cuda::Buffer<double> weights(kQueries * 4, cuda::Memory::pinned), d_weights(kQueries * 4);
    const cuda::Buffer<std::int64_t> ids(kQueries * kBest, cuda::Memory::pinned), d_ids(kQueries * kBest);
    const cuda::Buffer<double> d_scores(kQueries * kBest);
    const cuda::Buffer<std::uint32_t> d_counts(kQueries);
    for (std::size_t i = 0; i < weights.size(); ++i) weights.data()[i] = random.uniform(-1, 1);
    cuda::check(cudaMemcpyAsync(d_weights.data(), weights.data(), weights.size_bytes(),
                                cudaMemcpyHostToDevice, stream));
    on_gpu.search_async({.weights = d_weights.data(), .num_queries = kQueries, .k = kBest},
                        {d_ids.data(), d_scores.data(), d_counts.data()}, context);
    cuda::check(cudaMemcpyAsync(ids.data(), d_ids.data(), ids.size_bytes(), cudaMemcpyDeviceToHost, stream));
    cuda::check(cudaStreamSynchronize(stream));
    for (std::size_t q = 0; q < kQueries; ++q) {
      const double* first = weights.data() + q * 4;
      const std::vector<Hit> hits = index.search({.weights = {first, first + 4}, .k = kBest}).hits;
      for (std::size_t rank = 0; rank < kBest; ++rank) ASSERT_EQ(ids.data()[q * kBest + rank], hits[rank].id);
    }
  }
  cuda::check(cudaStreamDestroy(stream));
}

TEST(Async, LetsTheCallersStreamGoBeforeTheContext) {
  SKIP_WITHOUT_GPU();
  Random random(27);
  const Table table = random_table(random, ValueClass::uniform_f32, 30'000, 4);
  const DeviceIndex on_gpu = Index::build(table.view()).to_device();
  constexpr std::size_t kQueries = 2000, kBest = 10;
  const cuda::Buffer<double> weights(kQueries * 4), scores(kQueries * kBest);
  const cuda::Buffer<std::int64_t> ids(kQueries * kBest);
  const cuda::Buffer<std::uint32_t> counts(kQueries);
  cuda::check(cudaMemset(weights.data(), 0, weights.size_bytes()));
  std::vector<DeviceContext> contexts;
  for (int i = 0; i < 8; ++i) {
    cudaStream_t stream = nullptr;
    cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    contexts.push_back(on_gpu.make_context({.stream = stream}));
    on_gpu.search_async({.weights = weights.data(), .num_queries = kQueries, .k = kBest},
                        {ids.data(), scores.data(), counts.data()}, contexts.back());
    cuda::check(cudaStreamDestroy(stream));  // while it works
  }
  contexts.clear();
  cuda::check(cudaDeviceSynchronize());
}

// Several parts, which go straight to the caller's arrays if these are pinned; with fewer rows than k they cannot.
TEST(PinnedArrays, AreWrittenByTheDevice) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kQueries = 20'000;
  Random random(28);
  const Table table = random_table(random, ValueClass::uniform_f32, 3000, 2);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  const cuda::Buffer<double> weights(2 * kQueries, cuda::Memory::pinned);
  for (std::size_t q = 0; q < kQueries; ++q)
    std::ranges::copy(random_weights(random, 2), weights.data() + 2 * q);
  for (const std::size_t k : {std::size_t{3}, table.num_rows + 5}) {
    const std::size_t num_queries = k == 3 ? kQueries : 20;
    const QueryBatch batch = {.weights = {weights.data(), 2 * num_queries}, .k = k};
    const cuda::Buffer<std::int64_t> ids(num_queries * k, cuda::Memory::pinned);
    const cuda::Buffer<double> scores(num_queries * k, cuda::Memory::pinned);
    std::vector<double> pageable_scores(num_queries * k);
    std::vector<std::uint32_t> counts(num_queries);
    const BatchAnswers expected = index.search_batch(batch);
    const auto expect_answers = [&](std::span<double> found) {
      std::fill_n(ids.data(), ids.size(), 77);
      std::ranges::fill(counts, 7);
      on_gpu.search_batch(batch, AnswerArrays{{ids.data(), ids.size()}, found, counts});
      EXPECT_EQ(counts, expected.counts);
      for (std::size_t q = 0; q < num_queries; ++q)
        for (std::size_t rank = 0; rank < k; ++rank) {
          const bool is_hit = rank < expected.counts[q];
          ASSERT_EQ(ids.data()[q * k + rank], is_hit ? expected.ids[q * expected.k + rank] : -1);
          ASSERT_EQ(found[q * k + rank], is_hit ? expected.scores[q * expected.k + rank] : -kInfinity);
        }
    };
    expect_answers({scores.data(), scores.size()});
    expect_answers(pageable_scores);
  }
}

TEST(Async, RefusesWhatTheHostCanSee) {
  SKIP_WITHOUT_GPU();
  Random random(27);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 2);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  DeviceContext context = on_gpu.make_context();
  const cuda::Buffer<double> weights = to_device(std::vector<double>{1, 2}), scores(10);
  const cuda::Buffer<std::int64_t> ids(10);
  const cuda::Buffer<std::uint32_t> counts(1);
  const DeviceBatch good = {.weights = weights.data(), .num_queries = 1};
  const DeviceAnswers answers = {ids.data(), scores.data(), counts.data()};
  const auto refuses = [&](const DeviceBatch& batch, const DeviceAnswers& to) {
    EXPECT_THROW(on_gpu.search_async(batch, to, context), InvalidArgument);
  };
  DeviceBatch bad = good;
  bad.k = 0;
  refuses(bad, answers);
  bad.k = kMaxDeviceK + 1;
  refuses(bad, answers);
  bad = good;
  bad.where = {{.attribute = 2}};
  refuses(bad, answers);
  bad.where = {{.attribute = 0, .minimum = kNan}};
  refuses(bad, answers);
  bad = good;
  bad.min_score = kNan;
  refuses(bad, answers);
  bad = good;
  bad.weights = nullptr;
  refuses(bad, answers);
  refuses(good, {nullptr, scores.data(), counts.data()});
  refuses(good, {ids.data(), nullptr, counts.data()});
  refuses(good, {ids.data(), scores.data(), nullptr});
  DeviceContext small = on_gpu.make_context({.scratch_bytes = 100});
  EXPECT_THROW(on_gpu.search_async(good, answers, small), InvalidArgument);

  on_gpu.search_async({}, {}, context);  // no query: nothing to do
  on_gpu.search_async(good, answers, context);
  context.synchronize();
  EXPECT_EQ(to_host(counts)[0], 10u);  // and stays usable
}

}  // namespace
}  // namespace culmen::test
