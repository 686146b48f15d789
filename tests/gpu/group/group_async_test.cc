// Asynchronous batches over groups of devices, against the CPU's answers to the same questions.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/index_copy.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "gpu/cuda/allocation_fault.h"
#include "gpu/group/lane.h"
#include "gpu/group/load_balance.h"
#include "tests/generators.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/group/group_devices.h"

namespace culmen::test {
namespace {

constexpr std::size_t kAttributes = 5;

// Some of its weights are refused. Each of `count` devices gets a share.
Batch batch_for(std::size_t count, std::size_t k, Random& random) {
  Batch batch;
  batch.k = k;
  for (std::size_t q = 0; q < (count + 1) * gpu::LoadBalance::kLeastShare; ++q) {
    batch.weights.push_back(random_weights(random, kAttributes));
    if (q % 50 == 0) batch.weights.back()[q % kAttributes] = std::numeric_limits<double>::infinity();
  }
  return batch;
}

class GroupAsync : public testing::TestWithParam<std::size_t> {
 protected:
  Random random_{61};
  Table table_ = random_table(random_, ValueClass::uniform_f32, 20'000, kAttributes);
  Index index_ = Index::build(table_.view());
};

TEST_P(GroupAsync, AnswersAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  const DeviceGroup group = index_.to_devices(devices_of(GetParam()));
  for (int home = 0; home < num_devices(); ++home) {
    const cuda::DeviceScope scope(home);
    const cuda::Stream stream;
    GroupContext context = group.make_context({.device = home, .stream = stream.get()});
    EXPECT_EQ(context.device(), home);
    EXPECT_EQ(context.stream(), stream.get());
    // Without a wait in between.
    std::vector<Batch> batches;
    std::vector<OnDevice> calls;
    for (const std::size_t k : {1, 16, 1000, 3}) {
      batches.push_back(batch_for(GetParam(), k, random_));
      if (k == 16) batches.back().where = col(1) <= 0.75;
      calls.emplace_back(batches.back());
    }
    batches.push_back({.weights = {random_weights(random_, kAttributes)}, .k = 7});
    calls.emplace_back(batches.back());
    for (const OnDevice& call : calls) call.enqueue(group, context);
    stream.synchronize();  // not the context: the stream must have waited for all
    for (std::size_t c = 0; c < calls.size(); ++c)
      EXPECT_EQ(calls[c].difference_to(expected_of(index_, batches[c])), "")
          << "home " << home << ", call " << c;
  }
}

TEST_P(GroupAsync, FollowsTheIndex) {
  SKIP_WITHOUT_GPU();
  const DeviceGroup group = index_.to_devices(devices_of(GetParam()));
  GroupContext context = group.make_context();
  for (int change = 0; change < 5; ++change) {
    const Table more = random_table(random_, ValueClass::uniform_f32, 100, kAttributes);
    TableView rows = more.view();
    rows.ids = {};
    rows.labels = {};
    index_.insert(rows);
    const Batch batch = batch_for(GetParam(), 10, random_);
    const OnDevice on_device(batch);
    on_device.enqueue(group, context);
    context.synchronize();
    EXPECT_EQ(on_device.difference_to(expected_of(index_, batch)), "");
  }
}

TEST_P(GroupAsync, FailsAndGoesOnWhenMemoryRunsOut) {
  SKIP_WITHOUT_GPU();
  const DeviceGroup group = index_.to_devices(devices_of(GetParam()));
  const Batch batch = batch_for(GetParam(), 20, random_);
  const Expected expected = expected_of(index_, batch);
  int num_failed = 0;
  for (int nth = 1; nth < 100; ++nth) {
    GroupContext context = group.make_context();
    const OnDevice on_device(batch);
    try {
      const cuda::AllocationFault fault(nth);
      on_device.enqueue(group, context);
      break;
    } catch (const OutOfDeviceMemory& error) {
      EXPECT_GE(error.device(), 0);
      ++num_failed;
    }
    context.synchronize();
    on_device.enqueue(group, context);
    context.synchronize();
    EXPECT_EQ(on_device.difference_to(expected), "");
    group.refresh();
  }
  EXPECT_GE(num_failed, 2);  // scratch memory, and the event after the batch
}

INSTANTIATE_TEST_SUITE_P(Sizes, GroupAsync, testing::Values(1, 2, 3, 8));

// A lane that copies weights and answers, as to and from another device.
TEST(Lane, CopiesWhatItCannotReach) {
  SKIP_WITHOUT_GPU();
  Random random(62);
  const Table table = random_table(random, ValueClass::uniform_f32, 20'000, kAttributes);
  const Index index = Index::build(table.view());
  const IndexCopy copy(std::make_shared<Published>(snapshot_of(index)), {}, nullptr);
  gpu::Lane lane(0, 0, true, 0);
  const cuda::Stream stream;
  cuda::Event start;
  for (const std::size_t k : {30, 2, 100}) {
    const Batch batch = batch_for(2, k, random);
    const cuda::Buffer<double> weights = to_device(flat(batch.weights));
    const std::size_t num_queries = batch.weights.size();
    const cuda::Buffer<std::int64_t> ids(num_queries * k);
    const cuda::Buffer<double> scores(num_queries * k);
    const cuda::Buffer<std::uint32_t> counts(num_queries);
    const DeviceBatch share = {.weights = weights.data(), .num_queries = num_queries, .k = k};
    lane.reserve(share, kAttributes);
    start.record(stream.get());
    lane.enqueue(copy.async_search(), copy.latest(), share, {ids.data(), scores.data(), counts.data()},
                 start);
    cuda::check(cudaStreamWaitEvent(stream.get(), lane.end().get()));
    stream.synchronize();
    const Expected expected = expected_of(index, batch);
    const std::vector<std::int64_t> found = to_host(ids);
    const std::vector<std::uint32_t> num_hits = to_host(counts);
    for (std::size_t q = 0; q < num_queries; ++q) {
      ASSERT_EQ(num_hits[q], expected[q] ? expected[q]->size() : kInvalidQuery);
      for (std::size_t rank = 0; expected[q] && rank < expected[q]->size(); ++rank)
        ASSERT_EQ(found[q * k + rank], (*expected[q])[rank].id);
    }
  }
}

TEST(GroupContexts, RefuseWhatTheyCannotDo) {
  SKIP_WITHOUT_GPU();
  Random random(63);
  const Table table = random_table(random, ValueClass::uniform_f32, 5000, kAttributes);
  const Index index = Index::build(table.view());
  const DeviceGroup group = index.to_devices(devices_of(2)), other = index.to_devices(devices_of(3));
  GroupContext context = group.make_context();
  const OnDevice on_device(batch_for(1, 5, random));
  EXPECT_THROW(on_device.enqueue(other, context), InvalidArgument);
  EXPECT_THROW(group.search_async({.num_queries = 5, .k = 5}, {}, context), InvalidArgument);
  EXPECT_THROW(group.search_async({.num_queries = 0, .k = 5000}, {}, context), InvalidArgument);
  EXPECT_NO_THROW(group.search_async({.num_queries = 0, .k = 5}, {}, context));
  EXPECT_THROW(static_cast<void>(group.make_context({.device = 10'000})), CudaError);
  context.synchronize();
  EXPECT_TRUE(on_device.is_untouched());
  const GroupContext moved = std::move(context);
  EXPECT_THROW(on_device.enqueue(group, context), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
