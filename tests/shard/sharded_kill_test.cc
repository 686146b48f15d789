// Kills a process that writes batches to a sharded index, and lets one shard of a batch fail. Each shard has every
// acknowledged batch once, and its part of the one in flight whole or not at all; repeating that one completes it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "culmen/error.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/shard/shard_batches.h"

namespace culmen::test {
namespace {

// Writes from `batch` on, and is killed after `wait_for` batches and some time. Returns the number after the last batch
// that was acknowledged.
std::int64_t killed_writer(const std::filesystem::path& directory, std::int64_t batch, std::uint64_t wait_for,
                           std::chrono::microseconds time) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kill_shards_writer").string();
  const std::string path = directory.string(), number = std::to_string(batch);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t process = ::fork();
  if (process == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::execl(program.c_str(), program.c_str(), path.c_str(), number.c_str(), nullptr);
    ::_exit(EXIT_FAILURE);
  }
  ::close(pipe[1]);
  std::int64_t done = 0;
  const auto take_one = [&] {
    if (::read(pipe[0], &done, sizeof done) != sizeof done) return false;
    batch = done + 1;
    return true;
  };
  bool goes_on = true;
  for (std::uint64_t n = 0; n < wait_for && goes_on; ++n) goes_on = take_one();
  std::this_thread::sleep_for(time);
  ::kill(process, SIGKILL);
  while (take_one()) {
  }
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  EXPECT_TRUE(goes_on && WIFSIGNALED(status)) << "the writer has ended";
  return batch;
}

// Whether a shard holds exactly its rows after so many batches.
bool has_batches(const Index& shard, std::uint32_t shard_number, std::int64_t num_batches) {
  std::uint64_t expected = 0;
  for (std::int64_t number = std::max<std::int64_t>(0, num_batches - kErasedAfter); number < num_batches;
       ++number) {
    const ShardBatch batch(number);
    for (const std::int64_t id : batch.ids()) {
      if (shard_of(id, kShards) != shard_number) continue;
      const std::optional<Row> row = shard.get(id);
      if (!row || row->values[0] != static_cast<double>(number)) return false;
      ++expected;
    }
  }
  return shard.info().num_rows == expected;
}

// The number of shards that have their part of the batch in flight; -1: a shard holds anything else.
int shards_with(const ShardedIndex& index, std::int64_t num_acknowledged) {
  int ahead = 0;
  for (std::uint32_t s = 0; s < kShards; ++s) {
    if (has_batches(index.shard(s), s, num_acknowledged)) continue;
    if (!has_batches(index.shard(s), s, num_acknowledged + 1)) return -1;
    ++ahead;
  }
  return ahead;
}

TEST(ShardedKill, LosesNothingThatWasAcknowledgedAndRepeatingCompletesTheRest) {
  const TemporaryDirectory temporary;
  const std::filesystem::path path = temporary.path() / "s";
  ShardedIndex::build(ShardBatch(0).rows(), path, {.num_shards = kShards, .build = {.leaf_rows = 16}});
  std::mt19937_64 random(1);
  std::int64_t num_batches = 1;
  int num_partial = 0;
  for (std::uint64_t cycle = 0; cycle < num_cases(20); ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    num_batches = killed_writer(path, num_batches, random() % 40, std::chrono::microseconds(random() % 3000));
    ShardedIndex index = ShardedIndex::open(path, {.writable = random() % 2 == 0});
    const int ahead = shards_with(index, num_batches);
    ASSERT_GE(ahead, 0) << "a batch is lost, or a part of it half there";
    const std::vector<std::string> faults = index.verify();
    ASSERT_TRUE(faults.empty()) << faults.front();
    if (ahead == static_cast<int>(kShards)) ++num_batches;
    num_partial += ahead > 0 && ahead < static_cast<int>(kShards) ? 1 : 0;
    // The next writer begins with the batch that was not acknowledged.
  }
  RecordProperty("partial_batches", std::to_string(num_partial));
}

// Lets no file grow beyond a size.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, old_handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_ = {};
  sighandler_t old_handler_ = SIG_DFL;
};

TEST(ShardedFaults, AShardThatCannotWriteIsNamedAndTheRestIsCompletedLater) {
  constexpr std::int64_t kNumRows = 60;
  const TemporaryDirectory temporary;
  const std::filesystem::path path = temporary.path() / "s";
  std::vector<double> values(kNumRows, 1);
  std::vector<std::int64_t> ids, new_ids;
  Labels labels{{}, {0}}, new_labels{{}, {0}};
  for (std::int64_t id = 0; id < kNumRows; ++id) {
    ids.push_back(id);
    new_ids.push_back(kNumRows + id);
    labels.offsets.push_back(0);
    new_labels.bytes.resize(new_labels.bytes.size() + (shard_of(kNumRows + id, 3) == 2 ? 100'000 : 1), 'x');
    new_labels.offsets.push_back(new_labels.bytes.size());
  }
  TableView table;
  table.num_rows = kNumRows;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(values)};
  table.ids = ids;
  table.labels = labels.view();
  ShardedIndex::build(table, path, {.num_shards = 3});
  TableView rows = table;
  rows.ids = new_ids;
  rows.labels = new_labels.view();
  std::vector<std::uint64_t> before;
  {
    ShardedIndex index = ShardedIndex::open(path, {.writable = true});
    before = index.versions();
    const SmallFiles small(std::uint64_t{1} << 20);
    try {
      index.insert(rows);
      FAIL() << "the log of shard 2 is too long";
    } catch (const IoError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("shard 2 of "), std::string::npos) << text;
      EXPECT_NE(text.find("the batch is in the shards 0 1"), std::string::npos) << text;
    }
    EXPECT_EQ(index.versions(), before);
    EXPECT_EQ(index.search({.weights = {1}, .k = 1000}).hits.size(), static_cast<std::size_t>(kNumRows));
    EXPECT_THROW(index.erase(ids), IoError);
    EXPECT_THROW(static_cast<void>(index.reserve_ids(1)), IoError);
  }
  ShardedIndex index = ShardedIndex::open(path, {.writable = true});
  for (std::uint32_t s = 0; s < 3; ++s)
    for (const std::int64_t id : new_ids)
      EXPECT_EQ(index.shard(s).contains(id), s != 2 && shard_of(id, 3) == s) << id;
  EXPECT_FALSE(index.write_once(WriteBatch().insert(rows), before).repeated);
  EXPECT_EQ(index.info().num_rows, static_cast<std::uint64_t>(2 * kNumRows));
  EXPECT_TRUE(index.write_once(WriteBatch().insert(rows), before).repeated);
  EXPECT_EQ(index.verify(), std::vector<std::string>());
}

}  // namespace
}  // namespace culmen::test
