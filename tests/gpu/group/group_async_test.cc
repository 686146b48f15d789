// Asynchronous batches over groups of devices, against the CPU's answers to the same questions.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
#include "gpu/group/merge_hits.h"
#include "gpu/group/part_answers.h"
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

struct GroupShape {
  std::size_t count;
  DeviceLayout layout;
};

std::vector<GroupShape> all_shapes() {
  std::vector<GroupShape> shapes;
  for (const DeviceLayout layout : {DeviceLayout::replicate, DeviceLayout::shard})
    for (const std::size_t count : {1, 2, 3, 8}) shapes.push_back({count, layout});
  return shapes;
}

class GroupAsync : public testing::TestWithParam<GroupShape> {
 protected:
  std::size_t count() const { return GetParam().count; }
  DeviceGroup group_of(const Index& index) const {
    return index.to_devices(devices_of(count()), {.layout = GetParam().layout});
  }

  Random random_{61};
  Table table_ = random_table(random_, ValueClass::uniform_f32, 20'000, kAttributes);
  Index index_ = Index::build(table_.view());
};

TEST_P(GroupAsync, AnswersAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  const DeviceGroup group = group_of(index_);
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
      batches.push_back(batch_for(count(), k, random_));
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
  const DeviceGroup group = group_of(index_);
  GroupContext context = group.make_context();
  for (int change = 0; change < 5; ++change) {
    const Table more = random_table(random_, ValueClass::uniform_f32, 100, kAttributes);
    TableView rows = more.view();
    rows.ids = {};
    rows.labels = {};
    index_.insert(rows);
    const Batch batch = batch_for(count(), 10, random_);
    const OnDevice on_device(batch);
    on_device.enqueue(group, context);
    context.synchronize();
    EXPECT_EQ(on_device.difference_to(expected_of(index_, batch)), "");
  }
}

TEST_P(GroupAsync, FailsAndGoesOnWhenMemoryRunsOut) {
  SKIP_WITHOUT_GPU();
  const DeviceGroup group = group_of(index_);
  const Batch batch = batch_for(count(), 20, random_);
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

// Parts of a few rows or of none, and rows with equal scores in several parts.
TEST_P(GroupAsync, AnswersOverTiesAndFewRows) {
  SKIP_WITHOUT_GPU();
  for (const std::size_t num_rows : {1, 3, 200, 3000}) {
    const Table table = random_table(random_, ValueClass::small_integers, num_rows, kAttributes);
    const Index index = Index::build(table.view());
    const DeviceGroup group = group_of(index);
    GroupContext context = group.make_context();
    for (const std::size_t k : {1, 2, 64, 1024}) {
      Batch batch = batch_for(1, k, random_);
      batch.weights.push_back(std::vector<double>(kAttributes, 1));
      if (k == 64) batch.where = col(0) >= 1;
      if (k == 2) batch.min_score = 3;
      const OnDevice on_device(batch);
      on_device.enqueue(group, context);
      context.synchronize();
      EXPECT_EQ(on_device.difference_to(expected_of(index, batch)), "") << num_rows << " rows, k=" << k;
    }
  }
}

// With little scratch memory a batch is answered in several runs.
TEST_P(GroupAsync, AnswersInRuns) {
  SKIP_WITHOUT_GPU();
  const DeviceGroup group = group_of(index_);
  GroupContext context = group.make_context({.scratch_bytes = 1 << 20});
  for (const std::size_t k : {1000, 7}) {
    const Batch batch = batch_for(count(), k, random_);
    const OnDevice on_device(batch);
    on_device.enqueue(group, context);
    context.synchronize();
    EXPECT_EQ(on_device.difference_to(expected_of(index_, batch)), "") << "k=" << k;
  }
}

// Most of these queries are handed over by their walks; parts then share their k-th score bounds.
TEST_P(GroupAsync, AnswersSlowQueries) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kWidth = 8;
  const Table table = random_table(random_, ValueClass::anticorrelated, 100'000, kWidth);
  const Index index = Index::build(table.view());
  const DeviceGroup group = group_of(index);
  GroupContext context = group.make_context();
  for (const std::size_t k : {1, 16, 200}) {
    Batch batch;
    batch.k = k;
    for (int q = 0; q < 300; ++q) batch.weights.push_back(random_weights(random_, kWidth));
    const OnDevice on_device(batch);
    for (int repeat = 0; repeat < 2; ++repeat) on_device.enqueue(group, context);
    context.synchronize();
    EXPECT_EQ(on_device.difference_to(expected_of(index, batch)), "") << "k=" << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GroupAsync, testing::ValuesIn(all_shapes()), [](const auto& suite) {
  return std::string(device_layout_name(suite.param.layout)) + std::to_string(suite.param.count);
});

// Of random answers: merge_hits() says what is right.
TEST(PartAnswers, AreMergedAsOnTheHost) {
  SKIP_WITHOUT_GPU();
  Random random(64);
  const cuda::Stream stream;
  gpu::PartAnswers parts;
  for (const std::size_t num_parts : {2, 3, 8}) {
    for (const std::size_t k : {1, 5, 1024}) {
      const std::size_t num_queries = 40;
      const std::size_t num_lists = num_parts * num_queries;
      std::vector<std::int64_t> ids(num_lists * k, -1);
      std::vector<double> scores(num_lists * k, -std::numeric_limits<double>::infinity());
      std::vector<std::uint32_t> counts(num_lists);
      const auto list_of = [&](std::size_t part, std::size_t q) { return part * num_queries + q; };
      for (std::size_t list = 0; list < num_lists; ++list) {
        counts[list] = static_cast<std::uint32_t>(random.chance(0.2) ? 0 : random.chance(0.5) ? k : k / 2);
        std::vector<Hit> hits(counts[list]);
        for (std::size_t h = 0; h < hits.size(); ++h) {
          // Ids of all parts differ, except that one is in all of them.
          hits[h].id = h == 0 ? 7 : static_cast<std::int64_t>((h + 1) * 1000 + list);
          hits[h].score = h == 0 ? 2 : std::floor(random.uniform(-4, 4));
        }
        std::ranges::sort(hits, [](const Hit& a, const Hit& b) {
          return a.score > b.score || (a.score == b.score && a.id < b.id);
        });
        for (std::size_t h = 0; h < hits.size(); ++h) {
          ids[list * k + h] = hits[h].id;
          scores[list * k + h] = hits[h].score;
        }
      }
      for (std::size_t part = 0; part < num_parts; ++part) counts[list_of(part, 5)] = kInvalidQuery;
      DeviceBatch batch;
      batch.num_queries = num_queries;
      batch.k = k;
      if (!parts.has_room(num_parts, batch)) parts.reserve(num_parts, batch);
      parts.start(num_parts, batch, stream.get());
      const DeviceAnswers first = parts.of_part(0);
      const auto put = [](auto* to, const auto& from) {
        cuda::check(cudaMemcpy(to, from.data(), from.size() * sizeof *to, cudaMemcpyHostToDevice));
      };
      put(first.ids, ids);
      put(first.scores, scores);
      put(first.counts, counts);
      const cuda::Buffer<std::int64_t> best(num_queries * k);
      const cuda::Buffer<double> best_scores(num_queries * k);
      const cuda::Buffer<std::uint32_t> num_best(num_queries);
      parts.merge({best.data(), best_scores.data(), num_best.data()}, stream.get());
      stream.synchronize();
      const std::vector<std::int64_t> found = to_host(best);
      const std::vector<double> found_scores = to_host(best_scores);
      const std::vector<std::uint32_t> found_counts = to_host(num_best);
      for (std::size_t q = 0; q < num_queries; ++q) {
        std::vector<std::size_t> sizes, next(num_parts);
        for (std::size_t part = 0; part < num_parts; ++part)
          sizes.push_back(q == 5 ? 0 : counts[list_of(part, q)]);
        std::size_t rank = 0;
        const auto place = [&](std::size_t part, std::size_t r) { return list_of(part, q) * k + r; };
        gpu::merge_hits(
            sizes, k, next, [&](std::size_t part, std::size_t r) { return scores[place(part, r)]; },
            [&](std::size_t part, std::size_t r) { return ids[place(part, r)]; },
            [&](std::size_t part, std::size_t r) {
              ASSERT_EQ(found[q * k + rank], ids[place(part, r)]) << num_parts << " parts, k=" << k;
              ASSERT_EQ(found_scores[q * k + rank++], scores[place(part, r)]);
            });
        EXPECT_EQ(found_counts[q], q == 5 ? kInvalidQuery : rank);
        for (; rank < k; ++rank) ASSERT_EQ(found[q * k + rank], -1);
      }
    }
  }
}

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
