// Kills a process whose threads write batches, again and again. Every batch that it reported as acknowledged is there,
// every other one is there whole or not at all, and the lock is released.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/index/write/kill_batches.h"

namespace culmen::test::kill {
namespace {

using NumBatches = std::array<std::uint64_t, kWriters>;

// The writing process. The destructor kills it.
class Writer {
 public:
  Writer(const std::filesystem::path& directory, Durability durability, const NumBatches& written)
      : acknowledged_(written) {
    // In the folder of the test program.
    const std::string program =
        (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kill_writer").string();
    std::vector<std::string> arguments = {program, directory.string(),
                                          std::string(durability_name(durability))};
    for (const std::uint64_t batches : written) arguments.push_back(std::to_string(batches));
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    const int error = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    pipe_ = pipe[0];
    if (error != 0) throw std::runtime_error("cannot start " + program);
  }
  ~Writer() {
    if (process_ > 0) kill();
    ::close(pipe_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Waits for this many acknowledgements. Returns false if the process ends first.
  bool wait_for(std::uint64_t count) {
    while (count > 0) {
      if (!take_one()) return false;
      --count;
    }
    return true;
  }

  // What it has printed can still be read. Returns whether it ran until it was killed.
  bool kill() {
    ::kill(process_, SIGKILL);
    while (take_one()) {
    }
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

  const NumBatches& acknowledged() const { return acknowledged_; }

 private:
  bool take_one() {
    Acknowledged done;
    if (::read(pipe_, &done, sizeof done) != sizeof done) return false;
    acknowledged_.at(done.writer) = done.num_batches;
    return true;
  }

  pid_t process_ = 0;
  int pipe_ = -1;
  NumBatches acknowledged_;
};

struct Found {
  std::array<Rows, kWriters> named;
  std::multiset<std::string> unnamed;  // labels
};

Found rows_in(const Index& index) {
  Found found;
  const SearchResult all = index.search({.weights = {1, 1, 0}, .k = index.info().num_rows + 1});
  for (std::size_t rank = 0; rank < all.hits.size(); ++rank) {
    const std::int64_t id = all.hits[rank].id;
    const std::string label(all.label(rank));
    if (id >= kFirstAssigned) {
      found.unnamed.insert(label);
    } else if (id != kFirstAssigned - 1) {
      Row row = {{all.attribute(rank, 0), all.attribute(rank, 1)}, label};
      if (const double gap = all.attribute(rank, 2); !std::isnan(gap)) row.fields[0] = gap;
      row.fields[1] = all.field(rank, "brand");
      row.fields[2] = all.field(rank, "note");
      row.fields[3] = all.field(rank, "count");
      found.named.at(static_cast<std::size_t>(id / kIdsOfWriter))[id] = row;
    }
  }
  return found;
}

// Whether filters find the rows of every brand.
bool brands_are_found(const Index& index, const Found& found) {
  std::map<FieldValue, std::size_t> counts;
  for (const Rows& rows : found.named)
    for (const auto& [id, row] : rows) ++counts[row.fields[1]];
  return std::ranges::all_of(counts, [&](const auto& brand) {
    const std::string* text = std::get_if<std::string>(&brand.first);
    const Filter where = text == nullptr ? col("brand").is_null() : col("brand") == *text;
    const Query query = {.weights = {1, 1, 0}, .k = 1 << 20, .where = where && id_col() < kFirstAssigned - 1};
    return index.search(query).hits.size() == brand.second;
  });
}

std::multiset<std::string> unnamed_after(const NumBatches& batches) {
  std::multiset<std::string> labels;
  for (std::uint64_t writer = 0; writer < kWriters; ++writer)
    for (std::uint64_t batch = 0; batch < batches[writer]; ++batch)
      labels.insert(unnamed_row(writer, batch).label);
  return labels;
}

// How many batches of each writer the index holds: the acknowledged ones, and perhaps the one in flight. Nothing if it
// holds anything else.
std::optional<NumBatches> batches_in(const Index& index, const NumBatches& acknowledged) {
  const Found rows = rows_in(index);
  NumBatches found = acknowledged;
  for (std::uint64_t writer = 0; writer < kWriters; ++writer) {
    if (rows.named[writer] == rows_after(writer, found[writer])) continue;
    if (rows.named[writer] != rows_after(writer, ++found[writer])) return std::nullopt;
  }
  if (rows.unnamed != unnamed_after(found) || !brands_are_found(index, rows)) return std::nullopt;
  return found;
}

// CULMEN_TEST_CASES=1000000 kills 1,000 times.
TEST(Kill, LosesNothingThatWasAcknowledgedAndLeavesNoHalves) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder.path() / "index";
  Step first;
  first.add(kFirstAssigned - 1, {{0, 0}, "so that ids are assigned from here on"});
  Index::build(first.view(), {.leaf_rows = 16, .value_type = ValueType::float32}).save(path);
  std::mt19937_64 random(1);
  NumBatches written = {};
  std::uint64_t num_acknowledged = 0, num_unacknowledged = 0, num_replayed = 0, num_torn = 0;
  for (std::uint64_t cycle = 0; cycle < num_cases(20'000) / 1000; ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    const NumBatches before = written;
    Writer writer(path, static_cast<Durability>(random() % 3), written);
    const bool at_once = random() % 8 == 0;  // while it opens the index
    ASSERT_TRUE(writer.wait_for(at_once ? 0 : 1 + random() % 100)) << "the writer has ended";
    if (cycle % 16 == 1 && !at_once) {
      EXPECT_THROW(static_cast<void>(Index::open(path, {.writable = true})), IoError);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % (at_once ? 20'000 : 2000)));
    ASSERT_TRUE(writer.kill()) << "the writer has ended";

    // A reader leaves the torn end of a log to the next writer.
    Index index = Index::open(path, {.writable = random() % 2 == 0});
    num_replayed += index.recovery().num_batches;
    num_torn += index.recovery().dropped_bytes > 0 ? 1 : 0;
    const std::optional<NumBatches> found = batches_in(index, writer.acknowledged());
    ASSERT_TRUE(found.has_value()) << "a batch is lost, or half there";
    written = *found;
    for (std::size_t w = 0; w < kWriters; ++w) {
      num_acknowledged += writer.acknowledged()[w] - before[w];
      num_unacknowledged += written[w] - writer.acknowledged()[w];
    }
    const std::vector<std::string> faults = index.verify();
    ASSERT_TRUE(faults.empty()) << faults.front();
  }
  RecordProperty("acknowledged_batches", std::to_string(num_acknowledged));
  RecordProperty("unacknowledged_batches_found", std::to_string(num_unacknowledged));
  RecordProperty("replayed_batches", std::to_string(num_replayed));
  RecordProperty("torn_logs", std::to_string(num_torn));
}

}  // namespace
}  // namespace culmen::test::kill
