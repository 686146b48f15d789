// Each allocation of a call of the public API fails in turn: the call fails as a whole, the index stays usable, and its
// directory holds exactly what was acknowledged.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/index/write/failing_memory.h"

namespace culmen::test {
namespace {

namespace fs = std::filesystem;

using Hits = std::vector<std::pair<std::int64_t, double>>;

struct RowTable {
  std::vector<std::int64_t> ids;
  std::vector<float> values;

  explicit RowTable(std::int64_t first, std::int64_t count) {
    for (std::int64_t id = first; id < first + count; ++id) {
      ids.push_back(id);
      for (std::int64_t i = 0; i < 2; ++i)
        values.push_back(static_cast<float>((id * 37 + i * 11 + count) % 101));
    }
  }
  TableView view() const {
    static const std::vector<Attribute> attributes = {{"a"}, {"b"}};
    TableView table = row_major_table<float>(values, attributes);
    table.ids = ids;
    return table;
  }
};

// Every row, with a score that identifies its values.
Hits rows_of(const Index& index) {
  Hits hits;
  const std::vector<double> weights = {1, 0.37};
  for (const Hit& hit : index.search({.weights = weights, .k = 10'000}).hits)
    hits.emplace_back(hit.id, hit.score);
  return hits;
}

// The number of allocations that `call` makes.
std::int64_t count_allocations(const std::function<void()>& call) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  allocations_left = kNever;
  call();
  return kNever - allocations_left.exchange(-1);
}

// About CULMEN_TEST_CASES of `num` allocations, and one past the last.
std::vector<std::int64_t> some_of(std::int64_t num) {
  const auto stride = std::max<std::int64_t>(1, num / static_cast<std::int64_t>(num_cases(100)));
  std::vector<std::int64_t> some;
  for (std::int64_t n = 0; n < num; n += stride) some.push_back(n);
  some.push_back(num + 1000);
  return some;
}

// Whether the call failed with std::bad_alloc at its n-th allocation.
bool fails_at(std::int64_t n, const std::function<void()>& call) {
  allocations_left = n;
  try {
    call();
    allocations_left = -1;
    return false;
  } catch (const std::bad_alloc&) {
    allocations_left = -1;
    return true;
  }
}

class ApiFaults : public testing::Test {
 protected:
  ApiFaults() {
    std::string pattern = (fs::temp_directory_path() / "culmen-faults-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw IoError("no temporary folder");
    folder_ = pattern;
    Index::build(base_.view()).save(folder_ / "first");
    Index index = open(folder_ / "first");
    index.insert(RowTable(2'000, 20).view());  // something in the log
    before_ = rows_of(index);
  }
  ~ApiFaults() override { fs::remove_all(folder_); }

  static Index open(const fs::path& directory) {
    return Index::open(directory, {.writable = true, .num_threads = 1});
  }
  fs::path fresh_copy() const {
    fs::remove_all(folder_ / "index");
    fs::copy(folder_ / "first", folder_ / "index", fs::copy_options::recursive);
    return folder_ / "index";
  }

  // A change of an open index that fails, and its repetition.
  void sweep(const std::function<void(Index&)>& change, const OpenOptions& options = {}) {
    OpenOptions writable = options;
    writable.writable = true;
    writable.num_threads = 1;
    Hits after;
    std::int64_t num_allocations = 0;
    {
      Index index = Index::open(fresh_copy(), writable);
      num_allocations = count_allocations([&] { change(index); });
      after = rows_of(index);
    }
    std::int64_t num_failures = 0;
    for (const std::int64_t n : some_of(num_allocations)) {
      Index index = Index::open(fresh_copy(), writable);
      const bool failed = fails_at(n, [&] { change(index); });
      ASSERT_EQ(rows_of(index), failed ? before_ : after) << "allocation " << n;
      if (failed) change(index);
      ASSERT_EQ(rows_of(index), after) << "after a failure at allocation " << n;
      ASSERT_EQ(index.verify(), std::vector<std::string>{});
      if (n % 2 == 0) index.close();
      index = Index::build(RowTable(0, 1).view());  // lets go of the directory
      ASSERT_EQ(rows_of(Index::open(folder_ / "index")), after) << "opened anew, allocation " << n;
      num_failures += failed ? 1 : 0;
    }
    EXPECT_GT(num_failures, 10);
  }

  fs::path folder_;
  const RowTable base_{0, 500};
  Hits before_;
};

TEST_F(ApiFaults, InAnInsertLeaveNothingOfIt) {
  const RowTable few(3'000, 2), many(3'000, 400);
  sweep([&](Index& index) { index.insert(few.view()); });
  sweep([&](Index& index) { index.insert(many.view()); });
}

TEST_F(ApiFaults, InAnInsertThatTheLogHasInMemoryLeaveNothingOfIt) {
  const RowTable few(3'000, 2);
  const auto insert_and_flush = [&](Index& index) {
    index.insert(few.view());
    const std::int64_t left = allocations_left.exchange(-1);  // the insert is what may fail
    index.flush();
    allocations_left = left;
  };
  sweep(insert_and_flush, {.durability = Durability::batch});
}

TEST_F(ApiFaults, InAnUpsertOrAnEraseLeaveNothingOfIt) {
  const RowTable rows(450, 100);
  sweep([&](Index& index) { index.upsert(rows.view()); });
  sweep([&](Index& index) { index.erase(rows.ids); });
}

TEST_F(ApiFaults, InABatchOfAllStepsLeaveNothingOfIt) {
  const RowTable unnamed(0, 30), named(2'025, 10), replaced(450, 60);
  TableView without_ids = unnamed.view();
  without_ids.ids = {};
  const std::vector<std::int64_t> erased = {3, 2'010, 2'021, 2'022, 9'999};  // some that will be assigned
  WriteBatch batch;
  batch.erase(erased)
      .insert(without_ids)
      .upsert(named.view())
      .erase(erased)
      .upsert(replaced.view())
      .erase_where(id_col().between(490, 2'024) &&
                   col(0).is_not_null());  // old rows, replaced and assigned ones
  sweep([&](Index& index) { index.write(batch); });
}

TEST_F(ApiFaults, InACheckpointOrACompactionLoseNothing) {
  sweep([](Index& index) { index.checkpoint(); });
  sweep([](Index& index) { index.compact(); });
}

TEST_F(ApiFaults, InAnOpenLoseNothing) {
  for (const bool writable : {false, true}) {
    const fs::path path = fresh_copy();
    const auto open = [&] { static_cast<void>(Index::open(path, {.writable = writable, .num_threads = 1})); };
    const std::int64_t num_allocations = count_allocations(open);
    int num_failures = 0;
    for (const std::int64_t n : some_of(num_allocations)) {
      num_failures += fails_at(n, open) ? 1 : 0;
      ASSERT_EQ(rows_of(Index::open(path)), before_) << "allocation " << n;
    }
    EXPECT_GT(num_failures, 10);
  }
}

TEST_F(ApiFaults, InCloseLoseNothing) {
  const RowTable few(3'000, 2);
  const auto run = [&](const std::function<void(Index&)>& f) {
    Index index = Index::open(fresh_copy(), {.writable = true, .durability = Durability::batch});
    index.insert(few.view());
    const Hits after = rows_of(index);
    f(index);
    index = Index::build(RowTable(0, 1).view());  // lets go of the directory
    const Hits found = rows_of(Index::open(folder_ / "index"));
    ASSERT_TRUE(found == before_ || found == after);
  };
  std::int64_t num_allocations = 0;
  run([&](Index& index) { num_allocations = count_allocations([&] { index.close(); }); });
  for (const std::int64_t n : some_of(num_allocations))
    run([&](Index& index) { fails_at(n, [&] { index.close(); }); });
}

TEST_F(ApiFaults, InARefreshLeaveTheVersionThatIsSeen) {
  const RowTable rows(3'000, 40);
  const auto run = [&](const std::function<void(Index & reader, const Hits& after)>& f) {
    const fs::path path = fresh_copy();
    Index reader = Index::open(path, {.num_threads = 1});
    Index writer = open(path);
    writer.insert(rows.view());
    f(reader, rows_of(writer));
  };
  std::int64_t num_allocations = 0;
  run([&](Index& reader, const Hits&) { num_allocations = count_allocations([&] { reader.refresh(); }); });
  for (const std::int64_t n : some_of(num_allocations))
    run([&](Index& reader, const Hits& after) {
      const bool failed = fails_at(n, [&] { reader.refresh(); });
      ASSERT_EQ(rows_of(reader), failed ? before_ : after) << "allocation " << n;
      if (failed) reader.refresh();
      ASSERT_EQ(rows_of(reader), after) << "after a failure at allocation " << n;
    });
}

TEST_F(ApiFaults, InBuildAndSaveLeaveTheOldIndexOrTheNewOne) {
  const RowTable other(10, 300);
  Hits after;
  const auto build = [&] { Index::build(other.view()).save(folder_ / "index", {.overwrite = true}); };
  fresh_copy();
  const std::int64_t num_allocations = count_allocations(build);
  after = rows_of(Index::open(folder_ / "index"));
  for (const std::int64_t n : some_of(num_allocations)) {
    fresh_copy();
    const bool failed = fails_at(n, build);
    const Hits found = rows_of(Index::open(folder_ / "index"));
    ASSERT_TRUE(found == after || (failed && found == before_)) << "allocation " << n;
  }
}

TEST_F(ApiFaults, InASearchHarmNoOther) {
  const Index index = Index::open(fresh_copy());
  const std::vector<double> weights = {0.3, 1};
  const Query query{.weights = weights, .k = 50, .where = {{0, 10, 90}}};
  for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan, Engine::gta, Engine::ta}) {
    const auto search = [&] { return index.search(query, {.engine = engine}).hits; };
    const auto expected = search();
    const std::int64_t num_allocations = count_allocations(search);
    for (const std::int64_t n : some_of(num_allocations)) {
      fails_at(n, search);
      ASSERT_EQ(search(), expected) << engine_name(engine) << ", allocation " << n;
    }
  }
}

}  // namespace
}  // namespace culmen::test
