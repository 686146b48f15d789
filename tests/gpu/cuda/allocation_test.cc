// Each allocation of a call fails in turn: the call throws OutOfDeviceMemory and leaks nothing, and the next call
// succeeds.
#include <gtest/gtest.h>

#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/cuda/allocation_fault.h"
#include "gpu/cuda/buffer.h"
#include "tests/generators.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// Calls call(prepare()) while its 1st, its 2nd, ... allocation fails, until it makes no more, and check() with the same
// argument after each failure. A call may leave `most_kept` allocations behind: complete arrays of the version serve
// the next search. Returns the number of failures.
template <typename Prepare, typename Call, typename Check>
int fail_each_allocation(Prepare&& prepare, Call&& call, Check&& check, int most_kept = 0) {
  for (int nth = 1;; ++nth) {
    auto prepared = prepare();
    const int before = cuda::num_allocations();
    try {
      const cuda::AllocationFault fault(nth);
      call(prepared);
      return nth - 1;
    } catch (const OutOfDeviceMemory&) {
      EXPECT_LE(cuda::num_allocations(), before + most_kept)
          << "allocation " << nth;  // fewer: scratch memory was released
    }
    check(prepared);
  }
}

// So many attributes that a packed query does not fit in a kernel parameter.
constexpr std::size_t kAttributes = 40;

class Allocation : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(); }
  void TearDown() override { EXPECT_EQ(cuda::num_allocations(), 0); }

  Random random_{31};
  Table table_ = random_table(random_, ValueClass::uniform_f32, 20'000, kAttributes);
  Index index_ = Index::build(table_.view());
  std::vector<double> weights_ = std::vector<double>(kAttributes, 0.7);
  Query query_ = {.weights = weights_, .k = 20};
  std::vector<Hit> expected_ = index_.search(query_).hits;
};

TEST_F(Allocation, OfACopyFails) {
  for (const DeviceMemory memory : {DeviceMemory::automatic, DeviceMemory::device, DeviceMemory::managed,
                                    DeviceMemory::host, DeviceMemory::compressed}) {
    const int num_failed = fail_each_allocation(
        [&] { return DeviceOptions{.memory = memory}; },
        [&](const DeviceOptions& options) { static_cast<void>(index_.to_device(options)); },
        [&](const DeviceOptions& options) {
          EXPECT_EQ(index_.to_device(options).search(query_).hits, expected_);
        });
    EXPECT_GT(num_failed, 8) << device_memory_name(memory);
  }
}

TEST_F(Allocation, OfTheFirstSearchFails) {
  for (const Engine engine : {Engine::bounded, Engine::scan, Engine::gta}) {
    const int num_failed = fail_each_allocation(
        [&] { return index_.to_device(); },
        [&](const DeviceIndex& on_gpu) { static_cast<void>(on_gpu.search(query_, {.engine = engine})); },
        [&](const DeviceIndex& on_gpu) {
          EXPECT_EQ(on_gpu.search(query_, {.engine = engine}).hits, expected_);
        },
        engine == Engine::gta ? 1 : 0);  // the thresholds, where the order of the leaves finds no memory
    EXPECT_GE(num_failed, 8) << engine_name(engine);
  }
}

TEST_F(Allocation, OfABatchFails) {
  const std::vector<Query> queries(100, query_);
  const int num_failed =
      fail_each_allocation([&] { return index_.to_device(); },
                           [&](const DeviceIndex& on_gpu) { static_cast<void>(on_gpu.search(queries)); },
                           [&](const DeviceIndex& on_gpu) {
                             for (const SearchResult& result : on_gpu.search(queries))
                               EXPECT_EQ(result.hits, expected_);
                           });
  EXPECT_GE(num_failed, 9);
}

TEST_F(Allocation, OfAFlatBatchFails) {
  std::vector<double> weights;
  for (int q = 0; q < 100; ++q) weights.insert(weights.end(), weights_.begin(), weights_.end());
  const QueryBatch batch = {.weights = weights, .k = 20, .where = {{0, 0.0, 2.0}}};
  const BatchAnswers expected = index_.search_batch(batch);
  const int num_failed =
      fail_each_allocation([&] { return index_.to_device(); },
                           [&](const DeviceIndex& on_gpu) { static_cast<void>(on_gpu.search_batch(batch)); },
                           [&](const DeviceIndex& on_gpu) {
                             const BatchAnswers found = on_gpu.search_batch(batch);
                             EXPECT_EQ(found.ids, expected.ids);
                             EXPECT_EQ(found.scores, expected.scores);
                           });
  EXPECT_GE(num_failed, 9);  // a stream, three events, four arrays and scratch memory
}

// After a search with the usual list.
TEST_F(Allocation, OfALargerCandidateListFails) {
  const Table table = random_table(random_, ValueClass::uniform_f32, 1'100'000, 2);
  const Index index = Index::build(table.view());
  const Query few = {.weights = {0.4, 0.6}, .k = 10}, many = {.weights = {0.4, 0.6}, .k = 1'060'000};
  const std::vector<Hit> expected = index.search(many).hits;
  const std::vector<Hit> best(expected.begin(), expected.begin() + 10);
  const int num_failed = fail_each_allocation(
      [&] {
        DeviceIndex on_gpu = index.to_device();
        EXPECT_EQ(on_gpu.search(few).hits, best);
        return on_gpu;
      },
      [&](const DeviceIndex& on_gpu) { static_cast<void>(on_gpu.search(many)); },
      [&](const DeviceIndex& on_gpu) {
        EXPECT_EQ(on_gpu.search(few).hits, best);
        EXPECT_EQ(on_gpu.search(many).hits, expected);
      });
  EXPECT_GE(num_failed, 2);
}

TEST_F(Allocation, OfANewContextFails) {
  const DeviceIndex on_gpu = index_.to_device();
  const Batch batch = {.weights = {weights_, weights_}, .k = 20};
  const int num_failed = fail_each_allocation([&] { return OnDevice(batch); },
                                              [&](const OnDevice& on_device) {
                                                DeviceContext context = on_gpu.make_context();
                                                on_device.enqueue(on_gpu, context);
                                              },
                                              [&](const OnDevice& on_device) {
                                                EXPECT_TRUE(on_device.is_untouched());
                                                EXPECT_EQ(fault(index_, on_gpu, batch), "");
                                              });
  EXPECT_EQ(num_failed, 3);  // its stream, its scratch memory, the event after the batch
}

TEST_F(Allocation, OfMoreScratchMemoryFails) {
  const DeviceIndex on_gpu = index_.to_device();
  const Batch small = {.weights = {weights_}, .k = 1};
  const Batch large = {.weights = std::vector(100, weights_), .k = 20};
  const OnDevice on_device(large);
  const auto answer = [&](const Batch& batch, DeviceContext& context) {
    const OnDevice fresh(batch);
    fresh.enqueue(on_gpu, context);
    context.synchronize();
    EXPECT_EQ(fresh.difference_to(expected_of(index_, batch)), "");
  };
  const int num_failed = fail_each_allocation(
      [&] {
        DeviceContext context = on_gpu.make_context();
        answer(small, context);
        return context;
      },
      [&](DeviceContext& context) { on_device.enqueue(on_gpu, context); },
      [&](DeviceContext& context) {
        EXPECT_TRUE(on_device.is_untouched());
        answer(small, context);
        answer(large, context);
      });
  EXPECT_EQ(num_failed, 2);  // the scratch memory, the event after the batch
}

}  // namespace
}  // namespace culmen::test
