#include "index/storage/frame_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::storage {
namespace {

constexpr std::uint64_t kFrames = 2500, kMostBytes = 300;  // three frames of the directory
const SnapshotName kSnapshotName{{}, 1};

std::vector<std::byte> payload_of_frame(std::uint64_t number) {
  return std::vector<std::byte>(1 + number * 37 % kMostBytes, static_cast<std::byte>(number * 7));
}

class FrameDirectoryTest : public testing::Test {
 protected:
  FrameDirectoryTest() {
    system_.put("index", {});
    const auto directory = system_.open_directory("index");
    FrameFileWriter file(*directory, FileKind::leaves, kSnapshotName,
                         DirectoryFrames(kFrames).num_frames_with_directory());
    write_sized_frames(
        kFrames, kMostBytes,
        [](std::uint64_t number, std::vector<std::byte>& payload) { payload = payload_of_frame(number); },
        file);
    entry_ = file.finish();
    bytes_ = system_.files("index").at("SNAP-1-leaves");
  }

  // The error of the steps of a reader, if the file has these bytes.
  std::string error_with(const Bytes& bytes, std::uint64_t num_frames,
                         const std::function<void(FrameDirectory&, FrameFileReader&)>& use) {
    system_.put("index", {{"SNAP-1-leaves", bytes}});
    const auto directory = system_.open_directory("index");
    try {
      FrameFileReader file(*directory, FileKind::leaves, kSnapshotName, entry_);
      FrameDirectory frames(num_frames, kMostBytes, file);
      frames.start();
      use(frames, file);
      return "";
    } catch (const FormatError& error) {
      return error.what();
    }
  }

  // Of a directory whose part has a number of 4 or 8 bytes at `offset` of its payload changed, with good checksums.
  template <typename T>
  std::string error_of_lie(std::uint64_t part, std::size_t offset, T value, std::uint64_t frame) {
    Bytes bytes = bytes_;
    const std::vector<std::size_t> starts = frame_starts(bytes);
    std::memcpy(bytes.data() + starts[kFrames + 1 + part] + sizeof(FrameHeader) + offset, &value,
                sizeof value);
    entry_ = with_good_checksums(starts, bytes);
    std::string error = error_with(bytes, kFrames, [&](FrameDirectory& frames, FrameFileReader&) {
      static_cast<void>(frames.extent(frame));
    });
    EXPECT_NE(
        error_with(bytes, kFrames, [](FrameDirectory& frames, FrameFileReader&) { frames.check_all(); }), "");
    return error;
  }

  MemoryFileSystem system_;
  FileEntry entry_;
  Bytes bytes_;
};

TEST_F(FrameDirectoryTest, LeadsToEachFrame) {
  const auto check = [](FrameFileReader& file, std::uint64_t number, const FrameExtent& extent) {
    ASSERT_EQ(extent.payload_bytes, payload_of_frame(number).size());
    file.read_one(number, extent, [&](const std::byte* payload) {
      EXPECT_TRUE(std::equal(payload, payload + extent.payload_bytes, payload_of_frame(number).begin()));
    });
  };
  EXPECT_EQ(error_with(bytes_, kFrames,
                       [&](FrameDirectory& frames, FrameFileReader& file) {
                         for (std::uint64_t number = kFrames; number-- > 0;)
                           check(file, number, frames.extent(number));
                         frames.check_all();
                         file.check_digest();
                       }),
            "");
}

TEST_F(FrameDirectoryTest, OfAnotherNumberOfFramesIsRefused) {
  for (const std::uint64_t frames : {kFrames - 1, kFrames + 1, std::uint64_t{0}, std::uint64_t{1} << 40})
    EXPECT_NE(error_with(bytes_, frames, [](FrameDirectory&, FrameFileReader&) {}), "") << frames;
}

TEST_F(FrameDirectoryTest, ThatLeadsOutOfTheFileIsRefused) {
  const std::string wrong = "the directory of the file's frames is wrong";
  for (const std::uint64_t offset :
       {std::uint64_t{0}, std::uint64_t{64}, std::uint64_t{129}, std::uint64_t{1} << 40, ~std::uint64_t{63},
        std::uint64_t{bytes_.size()}})
    EXPECT_NE(error_of_lie(1, 0, offset, 1500).find(wrong), std::string::npos) << offset;
  for (const std::uint32_t length : {std::uint32_t{0}, std::uint32_t{kMostBytes + 1}, ~std::uint32_t{0}})
    EXPECT_NE(error_of_lie(2, 8 + 4 * 100, length, 2100).find(wrong), std::string::npos) << length;
}

// A gap between two frames, and frames that overlap, show only when all is read.
TEST_F(FrameDirectoryTest, WithoutOneFrameAfterTheOtherIsRefusedOnceAllIsRead) {
  const std::uint64_t here = frame_starts(bytes_)[1025];  // frame 1024, the first of part 1
  for (const std::uint64_t offset : {here - 64, here + 64})
    EXPECT_EQ(error_of_lie(1, 0, offset, 1500), "") << offset;
  const auto length = static_cast<std::uint32_t>(payload_of_frame(5).size());
  EXPECT_EQ(error_of_lie(0, 8 + 4 * 5, length + 64, 5), "");
}

TEST(FrameDirectory, OfNoFramesIsEmpty) {
  MemoryFileSystem system;
  system.put("index", {});
  const auto directory = system.open_directory("index");
  FrameFileWriter writer(*directory, FileKind::ids, kSnapshotName,
                         DirectoryFrames(0).num_frames_with_directory());
  write_sized_frames(
      0, 1, [](std::uint64_t, std::vector<std::byte>&) {}, writer);
  const FileEntry entry = writer.finish();
  EXPECT_EQ(entry.bytes, kFirstFrameOffset);
  FrameFileReader file(*directory, FileKind::ids, kSnapshotName, entry);
  FrameDirectory frames(0, 1, file);
  frames.start();
  EXPECT_NO_THROW(frames.check_all());
  EXPECT_NO_THROW(file.check_digest());
}

}  // namespace
}  // namespace culmen::storage
