// One log: what is written is read, and frames of other logs are refused.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "culmen/error.h"
#include "index/storage/store.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::storage {
namespace {

constexpr LogName kName = {1, Uuid{std::byte{7}}};

class LogTest : public testing::Test {
 protected:
  LogTest() {
    system_.put("log", {});
    directory_ = system_.open_directory("log");
  }

  Bytes& bytes() { return system_.directories["log"]->names["WAL-1"]->bytes; }

  // The bodies read, from version 5 on.
  std::vector<std::string> read(LogReader& reader) {
    std::vector<std::string> bodies;
    while (const auto batch = reader.next()) {
      EXPECT_EQ(batch->version, ++last_version_);
      bodies.emplace_back(reinterpret_cast<const char*>(batch->body.data()), batch->body.size());
    }
    return bodies;
  }
  LogReader reader(const LogBound& bound = {}) { return {*directory_, kName, 5, bound}; }
  LogWriter writer() { return LogWriter::create(*directory_, kName, 5, Uuid{}); }

  static void append(LogWriter& writer, const std::vector<std::string>& bodies) {
    std::vector<LogRecord> group;
    for (const std::string& body : bodies)
      group.push_back({writer.end().version + 1 + group.size(), std::as_bytes(std::span(body))});
    writer.append(group);
  }

  MemoryFileSystem system_;
  std::unique_ptr<Directory> directory_;
  std::uint64_t last_version_ = 5;
};

TEST_F(LogTest, ReadsBackWhatItWrote) {
  LogWriter log = writer();
  const std::vector<std::string> bodies = {
      "", "a", std::string(447, 'b'), std::string(448, 'c'), std::string(449, 'd'), std::string(3 << 20, 'e'),
      "f"};
  append(log, {bodies[0], bodies[1]});
  log.sync();
  append(log, {bodies.begin() + 2, bodies.end()});
  EXPECT_EQ(log.end().version, 12u);
  LogReader in = reader();
  EXPECT_EQ(read(in), bodies);
  EXPECT_EQ(in.end(), log.end());
  EXPECT_EQ(in.torn_bytes(), 0u);
  EXPECT_EQ(bytes().size() % kSectorBytes, 0u);
}

TEST_F(LogTest, WritesAGroupInOneCallAndSyncsOnlyWhatIsNew) {
  LogWriter log = writer();
  const std::uint64_t before = system_.num_calls;
  append(log, {"a", "b", "c"});
  EXPECT_EQ(system_.num_calls, before + 1);
  log.sync();
  log.sync();
  EXPECT_EQ(system_.num_calls, before + 2);
}

TEST_F(LogTest, WritesSmallFramesOverZerosThatAreThere) {
  LogWriter log = writer();
  std::set<std::size_t> sizes;
  for (int i = 0; i < 1000; ++i) {
    append(log, {"a"});
    log.sync();
    EXPECT_GE(bytes().size(), log.end().offset);
    EXPECT_EQ(without_room(bytes()).size(), log.end().offset);
    sizes.insert(bytes().size());
  }
  EXPECT_LT(sizes.size(), 20u);
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 1000u);
  EXPECT_EQ(in.torn_bytes(), 0u);
}

TEST_F(LogTest, LeavesNoZerosBehindALargeFrame) {
  LogWriter log = writer();
  append(log, {std::string(100'000, 'a')});
  EXPECT_EQ(bytes().size(), log.end().offset);
}

TEST_F(LogTest, LeavesNoZerosBehindTheLastFrameOfAClosedLog) {
  LogWriter log = writer();
  append(log, {"a"});
  log.sync();
  EXPECT_GT(bytes().size(), log.end().offset);
  log.finish();
  EXPECT_EQ(bytes().size(), log.end().offset);
  EXPECT_TRUE(system_.directories["log"]->names["WAL-1"]->unsynced.empty());
}

TEST_F(LogTest, GoesOnInTheZerosThatItsLastWriterLeft) {
  LogWriter log = writer();
  append(log, {"a", "b"});
  log.sync();
  const std::size_t size = bytes().size();
  ASSERT_GT(size, log.end().offset);
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 2u);
  LogWriter again = LogWriter::resume(*directory_, kName, in.end(), in.file_bytes(), in.torn_bytes() > 0);
  append(again, {"c"});
  EXPECT_EQ(bytes().size(), size);
  in.refresh();
  EXPECT_EQ(read(in), std::vector<std::string>{"c"});
}

TEST_F(LogTest, TakesNoDamageInItsRoomForMoreThanATornEnd) {
  LogWriter log = writer();
  append(log, {"a", "b"});
  log.sync();
  ASSERT_GT(bytes().size(), log.end().offset);
  for (std::size_t byte = log.end().offset; byte < bytes().size(); ++byte) {
    bytes()[byte] ^= std::byte{64};
    LogReader in = reader();
    last_version_ = 5;
    EXPECT_EQ(read(in).size(), 2u);
    EXPECT_EQ(in.torn_bytes(), whole_sectors(byte + 1) - log.end().offset);
    bytes()[byte] ^= std::byte{64};
  }
}

TEST_F(LogTest, IsReadOnAsItGrows) {
  LogWriter log = writer();
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 0u);
  append(log, {"a"});
  EXPECT_EQ(read(in).size(), 0u) << "before a refresh";
  in.refresh();
  EXPECT_EQ(read(in), std::vector<std::string>{"a"});
  append(log, {"b", "c"});
  in.refresh();
  EXPECT_EQ(read(in), (std::vector<std::string>{"b", "c"}));
}

TEST_F(LogTest, MakesDurableWhatItGivesOut) {
  LogWriter log = writer();
  append(log, {"a"});
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 1u);
  EXPECT_TRUE(system_.directories["log"]->names["WAL-1"]->unsynced.empty());
}

TEST_F(LogTest, EndsWithASealThatNamesTheNextOne) {
  LogWriter log = writer();
  append(log, {"a"});
  log.sync();
  const LogName next{4, Uuid{std::byte{9}}};
  log.seal(next);
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 1u);
  EXPECT_EQ(in.successor(), next);
  EXPECT_EQ(in.end(), log.end());
}

TEST_F(LogTest, GoesOnBehindATornEndThatIsCutOff) {
  LogWriter log = writer();
  append(log, {"a"});
  log.sync();
  append(log, {"lost"});
  bytes() = without_room(bytes());
  bytes().resize(bytes().size() - 1);
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 1u);
  EXPECT_EQ(in.torn_bytes(), 511u);
  LogWriter again = LogWriter::resume(*directory_, kName, in.end(), in.file_bytes(), true);
  EXPECT_EQ(bytes().size(), in.end().offset);
  EXPECT_TRUE(system_.directories["log"]->names["WAL-1"]->unsynced.empty());
  append(again, {"b"});
  in.refresh();
  EXPECT_EQ(read(in), std::vector<std::string>{"b"});
}

// Three writes of two frames each.
TEST_F(LogTest, RefusesDamageBeforeALaterWriteOnly) {
  LogWriter log = writer();
  for (int i = 0; i < 3; ++i) append(log, {"a", "b"});
  const std::size_t num_frames = 6, last_write = 4;
  for (std::size_t frame = 0; frame < num_frames; ++frame) {
    bytes()[(1 + frame) * kSectorBytes + 20] ^= std::byte{1};
    LogReader in = reader();
    last_version_ = 5;
    if (frame < last_write) {
      EXPECT_THROW(read(in), FormatError) << frame;
    } else {
      EXPECT_EQ(read(in).size(), frame);
      EXPECT_GT(in.torn_bytes(), 0u);
    }
    EXPECT_EQ(last_version_, 5 + frame);
    bytes()[(1 + frame) * kSectorBytes + 20] ^= std::byte{1};
  }
}

TEST_F(LogTest, FindsWhatIsBehindDamage) {
  LogWriter log = writer();
  append(log, {"a", std::string(2000, 'b'), "c"});
  append(log, {"d"});
  bytes()[2 * kSectorBytes + 1000] ^= std::byte{1};  // in b
  bytes()[8 * kSectorBytes] ^= std::byte{1};         // the header of d
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 1u);
  LogReader behind = LogReader::behind_damage(*directory_, kName, in.end());
  const auto batch = behind.next_behind();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->version, 8u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(batch->body.data()), batch->body.size()), "c");
  EXPECT_FALSE(behind.next_behind());
  EXPECT_EQ(behind.newest_version(), 8u);
}

TEST_F(LogTest, DoesNotKnowThePlaceOfFramesBeyond16Bits) {
  LogWriter log = writer();
  append(log, std::vector<std::string>(65537, "a"));
  const auto place_of = [&](std::size_t frame) {
    LogFrameHeader header;
    std::memcpy(&header, bytes().data() + frame * kSectorBytes, sizeof header);
    return std::pair(header.place, appended_before(header));
  };
  using Place = std::pair<std::uint16_t, std::uint64_t>;
  EXPECT_EQ(place_of(1), Place(1, 5));
  EXPECT_EQ(place_of(65535), Place(65535, 5));
  EXPECT_EQ(place_of(65536), Place(0, 0));
  EXPECT_EQ(place_of(65537), Place(0, 0));
}

TEST_F(LogTest, TakesNoBytesInABodyForProof) {
  LogWriter log = writer();
  append(log, {"a"});
  log.sync();
  append(log, {"b"});
  log.sync();
  LogFrameHeader forged;  // by an attacker who knows everything but the uuid
  forged.durable_through = 1000;
  forged.checksum = checksum_of(forged, 0);
  std::string body(kSectorBytes - sizeof(LogFrameHeader),
                   ' ');  // the next frame starts a sector
  body.append(reinterpret_cast<const char*>(&forged), sizeof forged).resize(2 * kSectorBytes - sizeof forged);
  body.append(reinterpret_cast<const char*>(bytes().data()), bytes().size());  // a copy of the log as it is
  append(log, {body});
  const std::size_t frame = 3 * kSectorBytes;
  bytes()[frame + 100] ^= std::byte{1};
  LogReader in = reader();
  EXPECT_EQ(read(in).size(), 2u);
  EXPECT_EQ(in.torn_bytes(), without_room(bytes()).size() - frame);
}

TEST_F(LogTest, RefusesTheLogOfAnotherPlace) {
  writer();
  const auto refuses = [&](const LogName& name, std::uint64_t version) {
    EXPECT_THROW(LogReader(*directory_, name, version, {}), FormatError);
  };
  refuses({1, Uuid{}}, 5);
  refuses(kName, 4);
  system_.directories["log"]->names["WAL-2"] = system_.directories["log"]->names["WAL-1"];
  refuses({2, kName.uuid}, 5);
}

TEST_F(LogTest, RefusesAWholeFrameThatDoesNotFollow) {
  const auto refuses = [&](LogFrameKind kind, std::uint64_t version) {
    LogWriter log = writer();
    append(log, {"a"});
    LogFrameHeader header;
    header.kind = kind;
    header.version = version;
    header.body_bytes = sizeof(SealBody);
    header.previous = log.end().chain;
    Bytes frame(kSectorBytes);
    const SealBody body{2, {}};
    std::memcpy(frame.data() + sizeof header, &body, sizeof body);
    const std::uint64_t seed = frame_seed(kName.uuid);
    header.body_checksum = checksum_of(std::span<const std::byte>(frame).subspan(sizeof header), seed);
    header.checksum = checksum_of(header, seed);
    std::memcpy(frame.data(), &header, sizeof header);
    bytes() = without_room(bytes());
    bytes().insert(bytes().end(), frame.begin(), frame.end());
    LogReader in = reader();
    EXPECT_TRUE(in.next());
    bool refused = false;
    try {
      in.next();
    } catch (const FormatError&) {
      refused = true;
    }
    directory_->remove("WAL-1");
    return refused;
  };
  EXPECT_FALSE(refuses(LogFrameKind::batch, 7));
  EXPECT_FALSE(refuses(LogFrameKind::seal, 6));
  EXPECT_TRUE(refuses(LogFrameKind::batch, 6));
  EXPECT_TRUE(refuses(LogFrameKind::batch, 8));
  EXPECT_TRUE(refuses(LogFrameKind::seal, 7));
  EXPECT_TRUE(refuses(LogFrameKind{3}, 7));
}

}  // namespace
}  // namespace culmen::storage
