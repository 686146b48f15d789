// Frontiers and sweeps against the oracle: batches over small tables whose walks hand over at once, with large and
// small buffers for rows and for items of the frontier.
#include "gpu/search/sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda/error.h"
#include "gpu/mirror/mirror.h"
#include "gpu/search/engines.h"
#include "gpu/search/pack_predicate.h"
#include "gpu/search/pack_query.h"
#include "index/build/bulk_load.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/field_queries.h"
#include "tests/field_tables.h"
#include "tests/generators.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr std::uint32_t kUnlimited = 1u << 30;

struct Room {
  std::size_t most;  // queries that may be handed over
  std::uint32_t capacity;
  std::uint32_t visits_alone;
  // Limits of the frontier's items, if lower than the usual ones: in its list, and per query before the sweep takes it.
  std::uint32_t most_items = kUnlimited;
  std::uint32_t most_of_query = kUnlimited;
};

struct Swept {
  std::vector<std::vector<Hit>> answers;
  std::size_t num_handed_over = 0;
  std::uint64_t num_repeats = 0;  // of a step, for a query whose rows did not fit
  std::size_t num_left = 0;       // to their walks
  std::size_t num_swept = 0;
};

Swept search(const gpu::MirrorView& view, const std::vector<Query>& queries, std::size_t k,
             const Room& room) {
  const Snapshot& snapshot = *view.snapshot;
  const gpu::MirrorRef& mirror = view.mirror->ref();
  const std::size_t stride = gpu::packed_stride(snapshot.num_attributes(), snapshot.num_attributes());
  std::vector<std::byte> packed(queries.size() * stride);
  for (std::size_t q = 0; q < queries.size(); ++q)
    gpu::pack_query(resolve(queries[q], snapshot), packed.data() + q * stride);
  std::vector<cuda::Buffer<std::byte>> predicates;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<std::byte> predicate = gpu::pack_predicate(resolve(queries[q], snapshot).filter);
    if (predicate.empty()) continue;
    predicates.push_back(to_device(predicate));
    gpu::set_parts(packed.data() + q * stride, predicates.back().data());
  }
  const cuda::Buffer<std::byte> on_device = to_device(packed);
  // Initialised: all of it is copied back below, and answers may be shorter than k.
  const cuda::Buffer<gpu::Candidate> hits = to_device(std::vector<gpu::Candidate>(queries.size() * k));
  const cuda::Buffer<gpu::ResultHeader> results(queries.size());
  const cuda::Buffer<gpu::BatchCounters> counters = to_device(std::vector<gpu::BatchCounters>(1));
  const cuda::Buffer<std::byte> memory(
      std::max<std::size_t>(1, room.most * gpu::sweep_bytes_each(mirror, k)));
  gpu::BatchRef batch = {on_device.data(),
                         hits.data(),
                         results.data(),
                         counters.data(),
                         static_cast<std::uint32_t>(queries.size()),
                         static_cast<std::uint32_t>(stride),
                         static_cast<std::uint32_t>(k),
                         gpu::make_sweep(mirror, memory.data(), room.most, k),
                         predicates.empty() ? gpu::QueryKind::plain : gpu::QueryKind::filtered,
                         nullptr};
  batch.sweep.capacity = std::min(batch.sweep.capacity, room.capacity);
  if (!gpu::begins_with_products(mirror)) batch.sweep.visits_alone = room.visits_alone;
  batch.sweep.most_items =  // at least the roots fit
      std::min(batch.sweep.most_items, std::max(room.most_items, static_cast<std::uint32_t>(room.most)));
  if (room.most_of_query < kUnlimited) {
    batch.sweep.most_of_query = batch.sweep.most_with_leaves = room.most_of_query;
    batch.sweep.most_beyond = 0;
  }
  visit_value_type(snapshot,
                   [&]<typename T>(T) { gpu::launch_batch<T>(mirror, batch, cuda::limits_of(0), nullptr); });
  cuda::check(cudaDeviceSynchronize());
  Swept swept;
  const gpu::BatchCounters counted = to_host(counters)[0];
  swept.num_handed_over = std::min<std::size_t>(counted.num_handed_over, room.most);
  swept.num_repeats = counted.num_repeats;
  swept.num_swept = counted.num_swept;
  std::vector<gpu::SweepQuery> handed_over(swept.num_handed_over);
  cuda::check(cudaMemcpy(handed_over.data(), batch.sweep.queries,
                         handed_over.size() * sizeof(gpu::SweepQuery), cudaMemcpyDefault));
  swept.num_left = static_cast<std::size_t>(
      std::ranges::count(handed_over, 1u, [](const gpu::SweepQuery& query) { return query.is_left; }));
  const std::vector<gpu::Candidate> rows = to_host(hits);
  const std::vector<gpu::ResultHeader> headers = to_host(results);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<Hit>& answer = swept.answers.emplace_back();
    for (std::size_t i = 0; i < headers[q].num_hits; ++i)
      answer.push_back({rows[q * k + i].id, rows[q * k + i].score, rows[q * k + i].row});
  }
  return swept;
}

class Sweeps : public testing::TestWithParam<ValueClass> {};

TEST_P(Sweeps, ReturnTheOraclesRowsAndScoreBits) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 5000;
  constexpr int kQueries = 40;
  const std::uint64_t num_tables = num_cases(kDefaultCases) / (8 * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  std::size_t num_handed_over = 0, num_swept = 0, num_found = 0;
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 5'000'000'000 + t;
    Random random(seed);
    const Table table = random_table(random, GetParam(), 100 + random.below(6000),
                                     random.between(1, random.pick({6, 20, 64, 130})));
    const ValueType value_type = random_value_type(random, table.view());
    const Oracle oracle(table.view(), value_type == ValueType::float32);
    const std::size_t k = std::min(random.pick<std::size_t>({1, 2, 16, 33, 100, 1000}), table.num_rows);
    std::vector<Query> queries;
    for (int q = 0; q < kQueries; ++q) {
      Query query = random_query(random, oracle);
      query.k = k;
      if (!oracle.refuses(query)) queries.push_back(query);
    }
    if (queries.empty()) continue;
    const auto published = std::make_shared<Published>(bulk_load(
        table.view(), random_build_options(random, random.pick({Partitioning::kd, Partitioning::random}),
                                           value_type, table.columns.size())));
    gpu::Mirror mirror(published, {});
    const Room room = {.most = random.pick<std::size_t>({queries.size(), queries.size(), 7}),
                       .capacity = random.pick<std::uint32_t>({kUnlimited, kUnlimited, 20}),
                       .visits_alone = random.pick<std::uint32_t>({1, 4, 16}),
                       .most_items = random.pick<std::uint32_t>({kUnlimited, kUnlimited, 300}),
                       .most_of_query = random.pick<std::uint32_t>({kUnlimited, 0, 4, 16, 64})};
    const Swept swept = search(mirror.latest(), queries, k, room);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::vector<Answer> expected = oracle.search(queries[q]);
      num_found += expected.size();
      ASSERT_EQ(difference(swept.answers[q], expected), "")
          << table.num_rows << " rows, " << describe(queries[q]) << ", room for " << room.most
          << " queries and " << room.capacity << " rows, " << room.visits_alone
          << " visits alone, items: " << room.most_items << " in all, " << room.most_of_query << " a query\n"
          << rerun_command(seed, "sweep_test", "*/" + std::string(value_class_name(GetParam())));
    }
    num_handed_over += swept.num_handed_over;
    num_swept += swept.num_swept;
    if (only_seed() != 0) return;
  }
  if (!ran_all_cases(kDefaultCases)) return;  // all queries may prune a single table
  EXPECT_GT(num_handed_over, num_tables);
  EXPECT_GT(num_swept, 0u);
  EXPECT_GT(num_found, num_tables);
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, Sweeps, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

// Tables with fields and gaps: queries with any filter take part.
TEST(FieldSweeps, ReturnTheOraclesRowsAndScoreBits) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 2000;
  constexpr int kQueries = 40;
  const std::uint64_t num_tables = num_cases(kDefaultCases) / kQueries + 1;
  std::size_t num_handed_over = 0, num_swept = 0, num_found = 0;
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : 5'500'000'000 + t;
    Random random(seed);
    RowSource source(random, Precision::float64);
    const std::vector<Row> rows = source.draw_many(100 + random.below(5000));
    const RowTable table(random, source.schema(), rows);
    const FieldOracle oracle(source.schema(), rows,
                             stand_ins_of_rows(source.schema().attributes, rows, false));
    const std::size_t k = std::min(random.pick<std::size_t>({1, 2, 16, 33, 100}), rows.size());
    std::vector<Query> queries;
    for (int q = 0; q < kQueries; ++q) {
      Query query = random_field_query(random, oracle, random.chance(0.1));
      query.k = k;
      if (!oracle.refuses(query)) queries.push_back(query);
    }
    if (queries.empty()) continue;
    const auto published = std::make_shared<Published>(bulk_load(
        table.view(), random_build_options(random, random.pick({Partitioning::kd, Partitioning::random}),
                                           ValueType::float64, source.schema().attributes.size())));
    gpu::Mirror mirror(published, {});
    const Room room = {.most = random.pick<std::size_t>({queries.size(), queries.size(), 7}),
                       .capacity = random.pick<std::uint32_t>({kUnlimited, kUnlimited, 20}),
                       .visits_alone = random.pick<std::uint32_t>({1, 4, 16}),
                       .most_of_query = random.pick<std::uint32_t>({kUnlimited, 0, 4, 16, 64})};
    const Swept swept = search(mirror.latest(), queries, k, room);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::vector<Answer> expected = oracle.search(queries[q]);
      num_found += expected.size();
      ASSERT_EQ(difference(swept.answers[q], expected), "")
          << rows.size() << " rows, " << describe(queries[q]) << ", query " << q << "\n"
          << rerun_command(seed, "sweep_test", "FieldSweeps.*");
    }
    num_handed_over += swept.num_handed_over;
    num_swept += swept.num_swept;
    if (only_seed() != 0) return;
  }
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(num_handed_over, num_tables);
  EXPECT_GT(num_swept, 0u);
  EXPECT_GT(num_found, num_tables);
}

// A table of some 400 level-1 nodes, so that a sweep takes several steps.
struct TwoSteps {
  Table table;
  Oracle oracle;
  gpu::Mirror mirror;
  std::vector<Query> queries;

  TwoSteps(ValueClass value_class, std::size_t k)
      : table(make(value_class)),
        oracle(table.view(), false),
        mirror(std::make_shared<Published>(bulk_load(table.view(), {.leaf_rows = 16})), {}) {
    Random random(33);
    while (queries.size() < 60) {
      const Query query = {.weights = random_weights(random, table.columns.size()), .k = k};
      if (!oracle.refuses(query)) queries.push_back(query);
    }
  }

  static Table make(ValueClass value_class) {
    Random random(32);
    return random_table(random, value_class, 200'000, 5);
  }

  Swept expect_oracle(const Room& room) {
    const Swept swept = search(mirror.latest(), queries, *queries[0].k, room);
    for (std::size_t q = 0; q < queries.size(); ++q)
      EXPECT_EQ(difference(swept.answers[q], oracle.search(queries[q])), "") << describe(queries[q]);
    EXPECT_GE(swept.num_handed_over, std::min<std::size_t>(room.most, 50));
    return swept;
  }
};

TEST(Sweep, RepeatsAStepThatFindsTooManyRows) {
  SKIP_WITHOUT_GPU();
  TwoSteps steps(ValueClass::uniform_f32, 10);
  const auto num_repeats = [&](std::uint32_t capacity) {
    return steps.expect_oracle({.most = 60, .capacity = capacity, .visits_alone = 1}).num_repeats;
  };
  EXPECT_GT(num_repeats(24), num_repeats(1 << 20));
}

TEST(Sweep, LeavesAQueryToItsWalkWhereMoreRowsTieThanFindRoom) {
  SKIP_WITHOUT_GPU();
  TwoSteps steps(ValueClass::small_integers, 10);
  EXPECT_GT(steps.expect_oracle({.most = 60, .capacity = 24, .visits_alone = 1}).num_left, 0u);
}

TEST(Sweep, TakesAsManyQueriesAsFindRoom) {
  SKIP_WITHOUT_GPU();
  TwoSteps steps(ValueClass::uniform_f32, 1000);
  static_cast<void>(steps.expect_oracle({.most = 33, .capacity = 1 << 20, .visits_alone = 8}));
}

// The frontier leaves some queries after it has found rows for them, which the sweep finds again.
TEST(Sweep, TakesWhatTheFrontierLeavesAtAnyTime) {
  SKIP_WITHOUT_GPU();
  TwoSteps steps(ValueClass::uniform_f32, 10);
  std::size_t least = 60, most = 0;
  for (std::uint32_t items = 1; items <= 1 << 14; items *= 2) {
    const Swept swept =
        steps.expect_oracle({.most = 60, .capacity = 1 << 20, .visits_alone = 1, .most_of_query = items});
    least = std::min(least, swept.num_swept);
    most = std::max(most, swept.num_swept);
  }
  EXPECT_GE(most, 50u);
  EXPECT_LT(least, most);
}

TEST(Sweep, TakesQueriesThatFindNoRoomInTheFrontiersList) {
  SKIP_WITHOUT_GPU();
  TwoSteps steps(ValueClass::uniform_f32, 10);
  std::size_t most = 0;
  for (const std::uint32_t items : {60u, 500u, 2000u, 5000u, 10000u}) {
    const Swept swept =
        steps.expect_oracle({.most = 60, .capacity = 1 << 20, .visits_alone = 1, .most_items = items});
    most = std::max(most, swept.num_swept);
  }
  EXPECT_GE(most, 40u);
}

}  // namespace
}  // namespace culmen::test
