// Every change to a log is refused, or dropped and reported. The index has two logs, with batches 2 to 4 in the first
// and 5 to 7 in the second unless CULMEN_TEST_KIB asks for more.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>

#include "culmen/error.h"
#include "index/storage/store.h"
#include "tests/cases.h"
#include "tests/index/storage/crash_states.h"
#include "tests/index/storage/damage.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

Bytes body_of(std::uint64_t version) {
  return Bytes(version * 60, static_cast<std::byte>(version));
}

enum class End { closed, synced, unsynced };

Files files_without_room(const MemoryFileSystem& system) {
  Files files = system.files("index");
  for (const std::string name : {"WAL-1", "WAL-2"}) files[name] = without_room(files[name]);
  return files;
}

Files two_logs(End end, std::uint64_t batches_of_each = 3) {
  MemoryFileSystem system;
  save(*make_snapshot({.rows = 1, .attributes = 1, .labels = false}), system, "index", false);
  const auto store = Store::open(system, "index", true);
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  const auto append = [&](std::uint64_t version, bool sync) {
    const Bytes body = body_of(version);
    store->append(std::vector<LogRecord>{{version, body}});
    if (sync) store->sync();
  };
  std::uint64_t version = 2;
  while (version < 2 + batches_of_each) append(version++, true);
  store->begin_checkpoint();
  while (version < 2 + 2 * batches_of_each) append(version++, end != End::unsynced);
  if (end == End::closed) store->close();
  return files_without_room(system);
}

// Logs with a total size of CULMEN_TEST_KIB.
Files closed_logs() {
  std::uint64_t batches = 3;
  for (std::size_t bytes = 0; bytes < num_kib(0) << 10; ++batches)
    bytes += 2 * (body_of(batches).size() / kSectorBytes + 1) * kSectorBytes;
  return two_logs(End::closed, batches);
}

struct Outcome {
  std::string complaint;
  std::uint64_t last = 1;
  RecoveryInfo info;
};

Outcome open(const Files& files, bool writable = false) {
  MemoryFileSystem system;
  system.put("index", files);
  Outcome found;
  try {
    const auto store = Store::open(system, "index", writable);
    found.info = store->replay([&](std::uint64_t version, std::span<const std::byte> body) {
      EXPECT_EQ(version, ++found.last);
      const Bytes wanted = body_of(version);
      EXPECT_TRUE(std::equal(body.begin(), body.end(), wanted.begin(), wanted.end())) << version;
    });
  } catch (const FormatError& error) {
    found.complaint = error.what();
  }
  return found;
}

TEST(LogDamage, IsNoneWithoutAny) {
  for (End end : {End::closed, End::synced, End::unsynced}) {
    const Outcome found = open(two_logs(end));
    EXPECT_EQ(found.complaint, "");
    EXPECT_EQ(found.last, 7u);
    EXPECT_EQ(found.info.num_batches, 6u);
    EXPECT_EQ(found.info.dropped_bytes, 0u);
  }
}

// Of a log each byte is damaged, or each so many; odd, so that every bit of a byte has its turn.
constexpr std::size_t kStep = test::step_of_states(7);

// Calls f(damaged files, byte) with each bit of the file flipped, or with one bit of each byte, from many threads.
void for_each_flip(const Files& files, const std::string& name, bool all_bits,
                   const std::function<void(const Files&, std::size_t byte)>& f) {
  tbb::parallel_for(std::size_t{0}, files.at(name).size(), [&](std::size_t byte) {
    if (!is_ours(byte)) return;
    Files damaged = files;
    for (std::size_t bit = 0; bit < 8; ++bit) {
      if (all_bits ? !is_flipped(byte, bit) : byte % kStep != 0 || bit != byte % 8) continue;
      damaged[name][byte] ^= static_cast<std::byte>(1 << bit);
      f(damaged, byte);
      damaged[name][byte] ^= static_cast<std::byte>(1 << bit);
    }
  });
}

TEST(LogDamage, OfAClosedIndexIsRefusedForEveryFlippedBit) {
  const Files files = closed_logs();
  for (const std::string name : {"WAL-1", "WAL-2"})
    for_each_flip(files, name, true, [&](const Files& damaged, std::size_t byte) {
      const std::string text = open(damaged).complaint;
      EXPECT_NE(text.find("index/" + name + ", byte "), std::string::npos)
          << name << " byte " << byte << text;
    });
}

TEST(LogDamage, OfAnOpenIndexIsRefusedForEveryByteThatIsKnownToBeDurable) {
  const Files files = two_logs(End::synced);
  const std::size_t last_frame = files.at("WAL-2").size() - kSectorBytes;
  std::atomic<std::size_t> num_dropped = 0;
  for (const std::string name : {"WAL-1", "WAL-2"})
    for_each_flip(files, name, false, [&](const Files& damaged, std::size_t byte) {
      const Outcome found = open(damaged);
      const bool may_be_torn = name == "WAL-2" && byte >= last_frame;
      if (!may_be_torn) {
        EXPECT_NE(found.complaint.find("index/" + name + ", byte "), std::string::npos) << name << byte;
        return;
      }
      EXPECT_EQ(found.complaint, "");
      EXPECT_EQ(found.last, 6u);
      EXPECT_EQ(found.info.dropped_bytes, kSectorBytes);
      EXPECT_EQ(found.info.dropped_from, "index/WAL-2");
      ++num_dropped;
    });
  EXPECT_GE(num_dropped, kSectorBytes / kStep);
}

// As after a process that wrote with durability os and was killed: of all batches but the last, a later one shows that they
// were reported as done.
TEST(LogDamage, OfWhatWasNeverSyncedIsRefusedBeforeALaterWrite) {
  const Files files = two_logs(End::unsynced);
  const std::size_t last_frame = files.at("WAL-2").size() - kSectorBytes;
  for_each_flip(files, "WAL-2", false, [&](const Files& damaged, std::size_t byte) {
    for (const bool writable : {false, true}) {
      const Outcome found = open(damaged, writable);
      EXPECT_EQ(found.complaint.empty(), byte >= last_frame) << byte << found.complaint;
      if (byte >= last_frame) {
        EXPECT_EQ(found.last, 6u);
        EXPECT_EQ(found.info.dropped_bytes, kSectorBytes);
      } else {
        EXPECT_NE(found.complaint.find("index/WAL-2, byte "), std::string::npos) << byte;
        EXPECT_EQ(found.complaint.find("durability os or batch") != std::string::npos, byte >= kSectorBytes)
            << found.complaint;
      }
    }
  });
}

// The writes of a group may reach the disk in any order, and none of them was reported as done before the sync.
TEST(LogDamage, OfWhatWasWrittenTogetherIsDroppedAndReported) {
  MemoryFileSystem system;
  system.put("index", two_logs(End::synced));
  const auto store = Store::open(system, "index", true);
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  std::vector<Bytes> bodies;
  std::vector<LogRecord> group;
  for (std::uint64_t version = 8; version <= 11; ++version) bodies.push_back(body_of(version));
  for (const Bytes& body : bodies) group.push_back({8 + group.size(), body});
  const std::size_t first_frame = without_room(system.files("index")["WAL-2"]).size();
  store->append(group);
  const Files files = files_without_room(system);
  for_each_flip(files, "WAL-2", false, [&](const Files& damaged, std::size_t byte) {
    if (byte < first_frame) return;
    const Outcome found = open(damaged);
    EXPECT_EQ(found.complaint, "");
    EXPECT_GE(found.last, 7u);
    EXPECT_LT(found.last, 11u);
    EXPECT_GE(found.info.dropped_bytes, kSectorBytes);
  });
}

TEST(LogDamage, OfAClosedIndexIsRefusedForEveryLength) {
  const Files files = closed_logs();
  for (const std::string name : {"WAL-1", "WAL-2"})
    tbb::parallel_for(std::size_t{0}, files.at(name).size(), [&](std::size_t size) {
      if (!is_ours(size) || size % kStep != 0) return;
      Files cut = files;
      cut[name].resize(size);
      const std::string text = open(cut).complaint;
      EXPECT_NE(text.find("index/" + name + ", byte "), std::string::npos) << name << " of " << size << text;
    });
}

TEST(LogDamage, OfAnOpenIndexIsRefusedForEveryLengthOfASealedLog) {
  const Files files = two_logs(End::synced);
  for (std::size_t size = 0; size < files.at("WAL-1").size(); size += kStep) {
    Files cut = files;
    cut["WAL-1"].resize(size);
    EXPECT_NE(open(cut).complaint.find("index/WAL-1, byte "), std::string::npos) << size;
  }
  // The rest of the last log is a prefix of whole batches. A cut between two of them looks like its end: nothing in the
  // files contradicts it until the index is closed.
  const std::size_t frame_5 = kSectorBytes, frame_6 = 2 * kSectorBytes, frame_7 = 3 * kSectorBytes;
  for (std::size_t size = kSectorBytes; size < files.at("WAL-2").size(); size += test::step_of_states(4)) {
    Files cut = files;
    cut["WAL-2"].resize(size);
    const Outcome found = open(cut);
    EXPECT_EQ(found.complaint, "");
    EXPECT_EQ(found.last, size < frame_6 ? 4u : size < frame_7 ? 5u : 6u);
    const bool between = size == frame_5 || size == frame_6 || size == frame_7;
    EXPECT_EQ(found.info.dropped_bytes == 0, between) << size;
  }
}

TEST(LogDamage, OfASealedLogIsRefusedAlsoIfTheNextOneHasNoFrames) {
  Files files = two_logs(End::synced);
  files["WAL-2"].resize(kSectorBytes);
  for (std::size_t size = 0; size < files.at("WAL-1").size() - kSectorBytes; size += kStep) {
    Files cut = files;
    cut["WAL-1"].resize(size);
    EXPECT_NE(open(cut).complaint.find("index/WAL-1, byte "), std::string::npos) << size;
  }
}

TEST(LogDamage, OfASealBeforeALogWithoutFramesLosesNothing) {
  Files files = two_logs(End::synced);
  files["WAL-2"].resize(kSectorBytes);
  files["WAL-1"].back() ^= std::byte{1};
  const Outcome found = open(files);
  EXPECT_EQ(found.complaint, "");
  EXPECT_EQ(found.last, 4u);
  EXPECT_EQ(found.info.dropped_bytes, kSectorBytes);
}

TEST(LogDamage, OfASealBeforeALogWithoutFramesIsRefusedOnceTheIndexIsClosed) {
  Files files = two_logs(End::synced);
  files["WAL-2"].resize(kSectorBytes);
  MemoryFileSystem system;
  system.put("index", files);
  const auto store = Store::open(system, "index", true);
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  store->close();
  files = system.files("index");
  files["WAL-1"].back() ^= std::byte{1};
  EXPECT_NE(open(files).complaint.find("index/WAL-1, byte "), std::string::npos);
}

TEST(LogDamage, IsSeenIfALogIsMissing) {
  for (End end : {End::closed, End::synced}) {
    for (const char* name : {"WAL-1", "WAL-2"}) {
      Files files = two_logs(end);
      files.erase(name);
      MemoryFileSystem system;
      system.put("index", files);
      try {
        Store::open(system, "index", false)->replay([](std::uint64_t, std::span<const std::byte>) {});
        ADD_FAILURE() << name;
      } catch (const IoError& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
  }
}

TEST(LogDamage, IsSeenIfLogsWereSwapped) {
  Files files = two_logs(End::synced);
  std::swap(files["WAL-1"], files["WAL-2"]);
  EXPECT_NE(open(files).complaint.find("WAL-1, byte 0"), std::string::npos);
}

// The two logs, and batches 8 and 9 of a second writer.
Files with_second_life(std::byte filling, bool close) {
  MemoryFileSystem system;
  system.put("index", two_logs(End::synced));
  const auto store = Store::open(system, "index", true);
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  const Bytes body(10, filling);
  store->append(std::vector<LogRecord>{{8, body}, {9, body}});
  store->sync();
  if (close) store->close();
  return files_without_room(system);
}

TEST(LogDamage, IsSeenIfABatchIsPutBackToAnOlderOne) {
  // Frames of the same log, whole and at their offset, but written before the log was truncated.
  const Files older = with_second_life(std::byte{1}, false);
  Files mixed = with_second_life(std::byte{2}, false);
  ASSERT_EQ(older.at("CURRENT"), mixed.at("CURRENT"));
  const auto last_frame = static_cast<std::ptrdiff_t>(older.at("WAL-2").size() - kSectorBytes);
  std::copy(older.at("WAL-2").begin() + last_frame, older.at("WAL-2").end(),
            mixed["WAL-2"].begin() + last_frame);
  MemoryFileSystem system;
  system.put("index", mixed);
  std::uint64_t last = 0;
  const auto store = Store::open(system, "index", false);
  const auto info = store->replay([&](std::uint64_t version, std::span<const std::byte>) { last = version; });
  EXPECT_EQ(last, 8u);
  EXPECT_EQ(info.dropped_bytes, kSectorBytes);
}

TEST(LogDamage, IsSeenIfAClosedLogIsPutBackToAnOlderOneOfTheSameLength) {
  Files mixed = with_second_life(std::byte{2}, true);
  mixed["WAL-2"] = with_second_life(std::byte{1}, true).at("WAL-2");
  MemoryFileSystem system;
  system.put("index", mixed);
  EXPECT_THROW(Store::open(system, "index", false)->replay([](std::uint64_t, std::span<const std::byte>) {}),
               FormatError);
}

}  // namespace
}  // namespace culmen::storage
