// An open index directory: one writer, concurrent readers, checkpoints, and faults at every call.
#include "index/storage/store.h"

#include <gtest/gtest.h>

#include <set>

#include "culmen/error.h"
#include "tests/cases.h"
#include "tests/index/storage/crash_states.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

std::shared_ptr<Snapshot> snapshot_of(std::uint64_t version) {
  auto snapshot = make_snapshot({.rows = 3, .attributes = 2, .seed = version});
  snapshot->version = version;
  return snapshot;
}

Bytes body_of(std::uint64_t version) {
  return Bytes(version % 50 * 20, static_cast<std::byte>(version));
}

// A store and the last version seen in it.
struct Opened {
  std::unique_ptr<Store> store;
  std::shared_ptr<Snapshot> snapshot;
  std::uint64_t last = 0;
  RecoveryInfo info;

  Store::UseBatch checker() {
    return [this](std::uint64_t version, std::span<const std::byte> body) {
      EXPECT_EQ(version, last + 1);
      const Bytes wanted = body_of(version);
      EXPECT_TRUE(std::equal(body.begin(), body.end(), wanted.begin(), wanted.end())) << version;
      last = version;
    };
  }
};

std::unique_ptr<Opened> open(FileSystem& system, bool writable) {
  auto opened = std::make_unique<Opened>();
  opened->store = Store::open(system, "index", writable);
  opened->snapshot = opened->store->take_snapshot();
  opened->last = opened->snapshot->version;
  opened->info = opened->store->replay(opened->checker());
  return opened;
}

void append(Store& store, int count = 1) {
  std::vector<Bytes> bodies;
  std::vector<LogRecord> group;
  for (int i = 1; i <= count; ++i) bodies.push_back(body_of(store.last_version() + static_cast<unsigned>(i)));
  for (const Bytes& body : bodies) group.push_back({store.last_version() + 1 + group.size(), body});
  store.append(group);
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() { save(*snapshot_of(1), system_, "index", false); }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& [name, bytes] : system_.files("index")) names.insert(name);
    return names;
  }

  MemoryFileSystem system_;
};

TEST_F(StoreTest, StartsWithTheSnapshotAndNoBatches) {
  for (bool writable : {false, true}) {
    const auto opened = open(system_, writable);
    EXPECT_EQ(difference(*opened->snapshot, *snapshot_of(1)), "");
    EXPECT_EQ(opened->info.num_batches, 0u);
    EXPECT_FALSE(opened->info.superseded);
  }
}

TEST_F(StoreTest, KeepsWhatWasAppendedClosedOrNot) {
  for (bool close : {false, true, false}) {
    const auto writer = open(system_, true);
    append(*writer->store);
    append(*writer->store, 3);
    writer->store->sync();
    if (close) writer->store->close();
  }
  const auto reader = open(system_, false);
  EXPECT_EQ(reader->last, 13u);
  EXPECT_EQ(reader->info.num_batches, 12u);
}

TEST_F(StoreTest, LetsOneWriterInAtATime) {
  auto writer = open(system_, true);
  EXPECT_THROW(open(system_, true), IoError);
  EXPECT_THROW(save(*snapshot_of(1), system_, "index", true), IoError);
  EXPECT_NO_THROW(open(system_, false));
  writer->store->close();
  EXPECT_NO_THROW(open(system_, true));
}

TEST_F(StoreTest, MakesNoLockFileWhereNoIndexIs) {
  system_.put("empty", {});
  EXPECT_THROW(Store::open(system_, "empty", true), IoError);
  EXPECT_TRUE(system_.files("empty").empty());
}

TEST_F(StoreTest, RefreshGivesAReaderWhatCameSinceAlsoOverSealedLogs) {
  const auto writer = open(system_, true);
  const auto reader = open(system_, false);
  for (int round = 0; round < 3; ++round) {
    append(*writer->store, 2);
    writer->store->begin_checkpoint();
    append(*writer->store);
    EXPECT_EQ(reader->store->refresh(reader->checker()).num_batches, 3u);
    EXPECT_EQ(reader->last, writer->store->last_version());
  }
}

TEST_F(StoreTest, TellsAReaderToOpenAnewAfterACheckpoint) {
  const auto writer = open(system_, true);
  const auto early = Store::open(system_, "index", false);
  const auto reader = open(system_, false);
  append(*writer->store);
  writer->store->begin_checkpoint();
  const auto late = Store::open(system_, "index", false);
  append(*writer->store);
  writer->store->finish_checkpoint(*snapshot_of(2));
  EXPECT_TRUE(reader->store->refresh(reader->checker()).superseded);
  EXPECT_EQ(reader->last, 1u);
  const auto ignore = [](std::uint64_t, std::span<const std::byte>) {};
  EXPECT_EQ(early->replay(ignore).num_batches, 2u) << "the log that it holds open leads on to the next one";
  writer->store->begin_checkpoint();
  writer->store->finish_checkpoint(*snapshot_of(3));
  EXPECT_TRUE(late->replay(ignore).superseded) << "the next one is gone";
  const auto again = open(system_, false);
  EXPECT_EQ(again->snapshot->version, 3u);
  EXPECT_EQ(again->last, 3u);
}

TEST_F(StoreTest, ReaderIgnoresAnEndThatIsJustBeingWritten) {
  const auto writer = open(system_, true);
  append(*writer->store);
  const Bytes whole = without_room(system_.files("index").at("WAL-1"));
  Bytes& bytes = system_.directories["index"]->names["WAL-1"]->bytes;
  for (std::size_t size = kSectorBytes + 1; size < whole.size(); size += 50) {
    bytes.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto reader = open(system_, false);
    EXPECT_EQ(reader->info.dropped_bytes, size - kSectorBytes);
    bytes = whole;
    EXPECT_EQ(reader->store->refresh(reader->checker()).num_batches, 1u);
  }
}

TEST_F(StoreTest, CheckpointLeavesOneSnapshotAndOneLog) {
  const auto writer = open(system_, true);
  append(*writer->store, 2);
  writer->store->sync();
  writer->store->begin_checkpoint();
  EXPECT_EQ(names().count("WAL-1") + names().count("WAL-2"), 2u);
  append(*writer->store);
  const std::uint64_t bytes_in_both = writer->store->log_bytes();
  writer->store->finish_checkpoint(*snapshot_of(3));
  EXPECT_EQ(names(), (std::set<std::string>{"CURRENT", "LOCK", "MANIFEST-2", "SNAP-2-ids", "SNAP-2-labels",
                                            "SNAP-2-leaves", "SNAP-2-nodes", "SNAP-2-partitions", "WAL-2"}));
  EXPECT_LT(writer->store->log_bytes(), bytes_in_both);
  EXPECT_EQ(writer->store->log_bytes(), without_room(system_.files("index").at("WAL-2")).size());
  append(*writer->store);
  writer->store->close();
  const auto reader = open(system_, false);
  EXPECT_EQ(difference(*reader->snapshot, *snapshot_of(3)), "");
  EXPECT_EQ(reader->last, 5u);
}

TEST_F(StoreTest, SecondCheckpointMakesGoodForAnUnfinishedOne) {
  const auto writer = open(system_, true);
  append(*writer->store);
  writer->store->begin_checkpoint();
  append(*writer->store);
  writer->store->begin_checkpoint();
  append(*writer->store);
  EXPECT_EQ(open(system_, false)->last, 4u);
  writer->store->finish_checkpoint(*snapshot_of(3));
  EXPECT_EQ(names().count("WAL-1") + names().count("WAL-2"), 0u);
  EXPECT_EQ(open(system_, false)->last, 4u);
}

TEST_F(StoreTest, TidiesUpWhatCrashesLeft) {
  const std::set<std::string> before = names();
  Files files = system_.files("index");
  for (const char* name : {"WAL-7", "SNAP-3-leaves", "MANIFEST-9", "CURRENT-new"}) files[name] = Bytes(700);
  files["notes.txt"] = Bytes(3);
  system_.put("index", files);
  open(system_, false);
  EXPECT_EQ(system_.files("index"), files) << "a reader writes nothing";
  auto writer = open(system_, true);
  std::set<std::string> wanted = before;
  wanted.insert("notes.txt");
  EXPECT_EQ(names(), wanted);
  writer->store->begin_checkpoint();
  EXPECT_EQ(names().count("WAL-8"), 1u) << "no number is used twice";
}

TEST_F(StoreTest, ReaderBearsWithALeftoverThatIsRemovedMeanwhile) {
  open(system_, true)->store->begin_checkpoint();
  Files files = system_.files("index");
  files["WAL-7"] = files.at("WAL-2");
  bool reached = true;
  for (std::uint64_t call = 0; reached; ++call) {
    system_.put("index", files);
    const std::uint64_t first = system_.num_calls;
    system_.before_call = [&] {
      if (system_.num_calls == first + call) system_.directories["index"]->names.erase("WAL-7");
    };
    EXPECT_EQ(open(system_, false)->last, 1u);
    reached = system_.num_calls > first + call;
  }
  system_.before_call = nullptr;
}

TEST_F(StoreTest, SaveOverLogsLeavesNoneOfThem) {
  auto writer = open(system_, true);
  append(*writer->store);
  writer->store->begin_checkpoint();
  append(*writer->store);
  writer->store->close();
  save(*snapshot_of(1), system_, "index", true);
  EXPECT_EQ(names().count("WAL-1") + names().count("WAL-2"), 0u);
  EXPECT_EQ(open(system_, false)->last, 1u);
}

TEST_F(StoreTest, SizesCountWhatReplayReads) {
  const auto writer = open(system_, true);
  EXPECT_EQ(writer->store->log_bytes(), kSectorBytes);
  append(*writer->store);
  writer->store->begin_checkpoint();
  std::uint64_t logs = 0, snapshot = 0;
  for (const auto& [name, bytes] : system_.files("index"))
    (name.starts_with("WAL") ? logs : snapshot) +=
        name == "CURRENT" || name.starts_with("MAN") ? 0 : bytes.size();
  EXPECT_EQ(writer->store->log_bytes(), logs);
  EXPECT_EQ(writer->store->snapshot_bytes(), snapshot);
}

// --- Faults: a script of writers, with a fault at each call.

struct Life {
  std::uint64_t acknowledged = 1;
  std::uint64_t attempted = 1;
  bool failed = false;
};

void step(Life& life, bool& stopped, const std::function<void()>& f) {
  if (stopped) return;
  try {
    f();
  } catch (const IoError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.find("index") != std::string::npos || text.find("random numbers") != std::string::npos)
        << text;
    stopped = life.failed = true;
  }
}

// Each writer stops at its first error. What it has acknowledged is never lost.
void live(MemoryFileSystem& system, Life& life) {
  const auto write = [&](Store& store, int count) {
    life.attempted = store.last_version() + static_cast<std::uint64_t>(count);
    append(store, count);
    store.sync();
    life.acknowledged = life.attempted;
  };
  for (int round = 0; round < 2; ++round) {
    bool stopped = false;
    std::unique_ptr<Opened> writer;
    step(life, stopped, [&] { writer = open(system, true); });
    step(life, stopped, [&] { write(*writer->store, 1); });
    step(life, stopped, [&] { write(*writer->store, 2); });
    std::uint64_t version = 0;
    step(life, stopped, [&] {
      version = writer->store->last_version();
      writer->store->begin_checkpoint();
    });
    step(life, stopped, [&] { write(*writer->store, 1); });
    step(life, stopped, [&] { writer->store->finish_checkpoint(*snapshot_of(version)); });
    step(life, stopped, [&] { write(*writer->store, 1); });
    step(life, stopped, [&] { writer->store->close(); });
  }
}

class FaultyStore : public testing::TestWithParam<std::tuple<FaultKind, bool>> {};

TEST_P(FaultyStore, KeepsWhatItAcknowledgedWhereverItFails) {
  const auto [kind, persistent] = GetParam();
  Files before;
  {
    MemoryFileSystem system;
    save(*snapshot_of(1), system, "index", false);
    before = system.files("index");
  }
  std::mt19937 random(1);
  int num_failures = 0;
  bool reached = true;
  for (std::uint64_t call = 0; reached; ++call) {
    for (bool keeps_cache : {false, true}) {
      // If the file can no longer be written or truncated, bytes lost by a sync stay readable.
      if (keeps_cache && persistent) continue;
      MemoryFileSystem system;
      system.put("index", before);
      system.plan = {kind, call, persistent};
      system.failed_sync_keeps_cache = keeps_cache;
      Life life;
      live(system, life);
      reached = system.num_calls > call;
      num_failures += life.failed;
      system.plan = {};
      // If only one call failed, nothing of its write is there; else it may be.
      const auto check = [&](const std::optional<Files>& files, std::uint64_t most) {
        MemoryFileSystem after;
        after.put("index", *files);
        const auto found = open(after, true);
        EXPECT_GE(found->last, life.acknowledged) << "call " << call;
        EXPECT_LE(found->last, most) << "call " << call;
        append(*found->store);
        found->store->close();
        EXPECT_EQ(open(after, false)->last, found->last + 1);
      };
      check(system.files("index"), persistent ? life.attempted : life.acknowledged);
      if (call % (test::kSanitized ? 30 : 3) == 0)
        for_each_crash_state(system, "index", random,
                             [&](const std::optional<Files>& files) { check(files, life.attempted); });
    }
  }
  EXPECT_GT(num_failures, 20);
}

TEST_P(FaultyStore, WriterThatFailedRefusesAllThatFollows) {
  const auto [kind, persistent] = GetParam();
  for (const char* what : {"write", "sync"}) {
    MemoryFileSystem system;
    save(*snapshot_of(1), system, "index", false);
    const auto writer = open(system, true);
    append(*writer->store);
    const bool at_write = std::string(what) == "write";
    if (!at_write && (kind == FaultKind::short_write || kind == FaultKind::last_byte)) continue;
    system.plan = {kind, system.num_calls, persistent};
    std::string first;
    try {
      if (at_write) append(*writer->store);
      writer->store->sync();
      ADD_FAILURE() << what;
    } catch (const IoError& error) {
      first = error.what();
    }
    system.plan = {};
    const std::size_t num_syncs = system.syncs.size();
    const std::function<void()> calls[] = {[&] { append(*writer->store); }, [&] { writer->store->sync(); },
                                           [&] { writer->store->begin_checkpoint(); },
                                           [&] { writer->store->close(); }};
    for (const auto& call : calls) {
      try {
        call();
        ADD_FAILURE() << "a failed writer went on";
      } catch (const IoError& error) {
        EXPECT_NE(std::string(error.what()).find("index/WAL-1 stopped"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(first), std::string::npos) << error.what();
      }
    }
    EXPECT_EQ(system.syncs.size(), num_syncs) << "a failed sync was tried again";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultyStore,
                         testing::Combine(testing::Values(FaultKind::io_error, FaultKind::no_space,
                                                          FaultKind::short_write, FaultKind::last_byte),
                                          testing::Bool()));

TEST_F(StoreTest, WhatAFailedSyncLostIsNotBuiltUpon) {
  // The system still returns a whole frame that it will never write. If the next writer appended after it, a power cut
  // would leave a hole before acknowledged batches.
  system_.failed_sync_keeps_cache = true;
  auto writer = open(system_, true);
  append(*writer->store);
  writer->store->sync();
  append(*writer->store);
  system_.plan = {FaultKind::io_error, system_.num_calls, false};
  EXPECT_THROW(writer->store->sync(), IoError);
  writer.reset();
  writer = open(system_, true);
  append(*writer->store);
  writer->store->sync();
  std::mt19937 random(1);
  for_each_crash_state(system_, "index", random, [&](const std::optional<Files>& files) {
    MemoryFileSystem after;
    after.put("index", *files);
    EXPECT_EQ(open(after, true)->last, writer->store->last_version());
  });
}

TEST_F(StoreTest, AppendGoesOnAfterACheckpointThatCouldNotBegin) {
  const auto writer = open(system_, true);
  append(*writer->store);
  writer->store->sync();
  for (std::uint64_t call = 0; call < 4; ++call) {  // random numbers; create, write and sync the next log
    system_.plan = {FaultKind::no_space, system_.num_calls + call, false};
    EXPECT_THROW(writer->store->begin_checkpoint(), IoError);
    system_.plan = {};
    append(*writer->store);
    writer->store->sync();
  }
  EXPECT_EQ(names().count("WAL-1"), 1u);
  EXPECT_EQ(open(system_, false)->last, 6u);
  writer->store->begin_checkpoint();
  append(*writer->store);
  EXPECT_EQ(open(system_, false)->last, 7u);
}

TEST_F(StoreTest, ReaderThatCannotSyncGivesNothingOut) {
  const auto writer = open(system_, true);
  append(*writer->store);
  for (std::uint64_t call = 0; call < 40; ++call) {
    MemoryFileSystem system;
    system.put("index", system_.files("index"));
    system.plan = {FaultKind::io_error, call, false};
    bool failed = false;
    try {
      open(system, false);
    } catch (const IoError&) {
      failed = true;
    }
    EXPECT_EQ(failed, system.num_calls > call) << call;
  }
}

}  // namespace
}  // namespace culmen::storage
