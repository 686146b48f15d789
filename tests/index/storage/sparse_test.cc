// Files that claim to be long and are not: neither the bytes read nor the memory used grow with the claimed length.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/storage/directory_files.h"
#include "index/storage/salvage.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/store.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestRead = std::uint64_t{8} << 20;

// Bytes followed by zeros. A reader allocates the memory for each read, so no read may be large.
class LongFile : public ReadableFile {
 public:
  LongFile(const Bytes& bytes, std::uint64_t size, std::string path)
      : bytes_(bytes), size_(size), path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return size_; }
  void refresh() override {}
  void sync() override {}
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    EXPECT_LE(out.size(), kLargestRead) << path_;
    ASSERT_LE(out.size(), size_ - offset);
    std::fill(out.begin(), out.end(), std::byte{0});
    if (offset >= bytes_.size()) return;
    const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
  }

 private:
  const Bytes& bytes_;
  const std::uint64_t size_;
  const std::string path_;
};

// The files of an index, one of which is long.
class LongDirectory : public Directory {
 public:
  std::map<std::string, Bytes> files;
  std::map<std::string, std::uint64_t> sizes;  // of the long one

  const std::string& path() const override { return path_; }
  std::unique_ptr<ReadableFile> open(const std::string& name) const override {
    const Bytes& bytes = files.at(name);
    const auto found = sizes.find(name);
    return std::make_unique<LongFile>(bytes, found == sizes.end() ? bytes.size() : found->second, name);
  }
  std::unique_ptr<WritableFile> create(const std::string&) override { return nullptr; }
  std::unique_ptr<WritableFile> open_to_write(const std::string&) override { return nullptr; }
  std::unique_ptr<DirectoryLock> lock(const std::string&) override { return nullptr; }
  void rename(const std::string&, const std::string&) override {}
  void remove(const std::string&) override {}
  std::vector<std::string> list() const override { return {}; }
  void sync() override {}
  void sync_parent() override {}

 private:
  std::string path_ = "index";
};

constexpr std::uint64_t kLong = std::uint64_t{256} << 20;

template <typename T>
void put(Bytes& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

class SparseTest : public testing::Test {
 protected:
  explicit SparseTest(const Shape& shape = {.rows = 100, .attributes = 2, .partitions = 1}) {
    MemoryFileSystem system;
    save(*make_snapshot(shape), system, "index", false);
    directory_.files = system.files("index");
    const Bytes& text = directory_.files.at("MANIFEST-1");
    manifest_ = parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, "");
  }

  Bytes& file(FileKind kind) { return directory_.files.at(file_name(kind, 1)); }
  void lengthen(FileKind kind, std::uint64_t size) {
    directory_.sizes[file_name(kind, 1)] = manifest_.file(kind).bytes = size;
  }
  // Recomputes a frame's own checksum after its payload was changed.
  static void make_checksum_good(Bytes& bytes, std::size_t at, std::size_t size) {
    put(bytes, at, checksum_of(std::span<const std::byte>(bytes).subspan(at + 8, size - 8)));
  }
  std::vector<LeafRows> leaves() { return read_leaf_rows(manifest_, file(FileKind::leaves)); }
  void put_leaves(const std::vector<LeafRows>& leaves) {
    file(FileKind::leaves) = write_leaf_rows(manifest_, leaves);
  }
  void expect_refused(const std::string& why) {
    try {
      read_snapshot(directory_, manifest_);
      ADD_FAILURE();
    } catch (const FormatError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  LongDirectory directory_;
  Manifest manifest_;
};

TEST_F(SparseTest, ALogWhoseFrameSaysThatItIsLongIsReadInPieces) {
  Bytes& log = directory_.files.at("WAL-1");
  LogHeader first;
  std::memcpy(&first, log.data(), sizeof first);
  LogFrameHeader frame;
  frame.version = first.version + 1;
  frame.body_bytes = kLong;
  frame.previous = first.checksum;
  frame.checksum = checksum_of(frame, frame_seed(first.uuid));
  log.resize(sizeof first + sizeof frame);
  put(log, sizeof first, frame);
  directory_.sizes["WAL-1"] = kLong + 4 * kSectorBytes;
  LogReader reader(directory_, {first.number, first.uuid}, first.version, {});
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_EQ(reader.torn_bytes(), kSectorBytes);
}

TEST_F(SparseTest, AFrameOfLabelsThatClaimsToBeLongIsReadInPieces) {
  std::vector<LeafRows> changed = leaves();
  LeafRecord& record = changed.back().record;
  const std::uint64_t payload_bytes = manifest_.leaf_shape().label_end_bytes() + kLong;
  record.labels.bytes = payload_bytes;
  put_leaves(changed);
  lengthen(FileKind::labels, record.labels.offset + aligned(sizeof(FrameHeader) + payload_bytes));
  expect_refused("belongs to another index");  // its header contains the length, too
  FrameHeader header;
  Bytes& labels = file(FileKind::labels);
  std::memcpy(&header, labels.data() + record.labels.offset, sizeof header);
  header.payload_bytes = payload_bytes;
  put(labels, record.labels.offset, header);
  expect_refused("checksum of this frame");
}

class SparseFields : public SparseTest {
 protected:
  SparseFields() : SparseTest({.rows = 100, .attributes = 2, .partitions = 1, .fields = 3}) {}
};

TEST_F(SparseFields, DictionariesThatClaimToBeLongAreReadInPieces) {
  for (const DictionarySize& size :
       {DictionarySize{Dictionary::kMaxTexts, 0}, DictionarySize{40, std::uint64_t{1} << 40}}) {
    manifest_.dictionary_sizes[0] = size;
    lengthen(FileKind::dictionaries, DictionaryFrames(manifest_).end());
    expect_refused("contradicts the manifest");  // the number of frames
    FileHeader header;
    Bytes& file = this->file(FileKind::dictionaries);
    std::memcpy(&header, file.data() + sizeof(FrameHeader), sizeof header);
    header.num_frames = DictionaryFrames(manifest_).size();
    put(file, sizeof(FrameHeader), header);
    make_checksum_good(file, 0, kFirstFrameOffset);
    expect_refused("checksum of this frame");
  }
  manifest_.dictionary_sizes[0] = {40, 300};
  expect_refused("its frames end at byte");
}

TEST_F(SparseFields, AFrameOfFieldsThatClaimsToBeLongIsReadInPieces) {
  const std::uint64_t before = manifest_.file(FileKind::fields).bytes;
  std::vector<LeafRows> changed = leaves();
  LeafRecord& record = changed.back().record;
  EXPECT_EQ(record.fields.offset + aligned(sizeof(FrameHeader) + record.fields.bytes), before);
  record.fields.bytes = kLong;
  put_leaves(changed);
  expect_refused("at the wrong offset");  // beyond the file
  lengthen(FileKind::fields, record.fields.offset + aligned(sizeof(FrameHeader) + kLong));
  expect_refused("belongs to another index");
}

TEST_F(SparseFields, AFrameOfTextsThatClaimsToBeLongIsReadInPieces) {
  std::vector<LeafRows> changed = leaves();
  LeafRecord& record = changed.back().record;
  EXPECT_EQ(record.texts.offset + aligned(sizeof(FrameHeader) + record.texts.bytes),
            manifest_.file(FileKind::texts).bytes);
  record.texts.bytes = kLong;
  put_leaves(changed);
  expect_refused("at the wrong offset");  // beyond the file
  lengthen(FileKind::texts, record.texts.offset + aligned(sizeof(FrameHeader) + kLong));
  expect_refused("belongs to another index");
}

TEST_F(SparseTest, PartitionsThatSayThatTheyAreManyAreReadInPieces) {
  manifest_.partitioning = Partitioning::random;
  manifest_.splits.clear();
  manifest_.num_cuts = 0;
  manifest_.num_partitions = kMaxPartitions;
  constexpr std::uint64_t kBytes = 32 + std::uint64_t{kMaxPartitions} * 4;
  lengthen(FileKind::partitions, fixed_extent(0, kBytes, 0).end());
  expect_refused("belongs to another index");
}

// ---- Real files: readers skip holes

class SparseFolder : public testing::Test {
 protected:
  SparseFolder() {
    std::string pattern = (fs::temp_directory_path() / "culmen-sparse-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw IoError("no temporary folder");
    folder_ = pattern;
    save(*make_snapshot({.rows = 100, .attributes = 2, .partitions = 1}), posix(), path(), false);
  }
  ~SparseFolder() override { fs::remove_all(folder_); }
  std::string path() const { return (folder_ / "index").string(); }

  fs::path folder_;
};

TEST_F(SparseFolder, SalvageSaysInAFewLinesWhatMillionsOfLeavesLack) {
  const fs::path manifest_path = folder_ / "index" / "MANIFEST-1";
  std::ifstream in(manifest_path);
  Manifest manifest = parse_manifest({std::istreambuf_iterator<char>(in), {}}, "");
  manifest.num_leaves = 3'000'000;
  manifest.num_rows = manifest.num_leaves * 16;
  manifest.level_nodes = {93750, 2930, 92, 3, 1};
  fs::remove(folder_ / "index" / "CURRENT");
  std::ofstream(manifest_path) << to_text(manifest);
  fs::resize_file(folder_ / "index" / "SNAP-1-leaves", manifest.num_leaves * 1024);
  const auto start = std::chrono::steady_clock::now();
  const Salvage found = salvage(posix(), path());
  EXPECT_EQ(found.ids.size(), 100u);
  EXPECT_LE(found.dropped.size(), 12u);
  EXPECT_NE(found.dropped.back().find(" to 2999999 are not here"), std::string::npos) << found.dropped.back();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(SparseFolder, ATornEndIsLookedForWhereThereIsData) {
  const std::uint64_t end = std::uint64_t{1} << 36;
  fs::resize_file(folder_ / "index" / "WAL-1", end);
  {
    std::fstream log(folder_ / "index" / "WAL-1", std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(static_cast<std::streamoff>(end - 1000));
    log << "torn";
  }
  const auto store = Store::open(posix(), path(), false);
  const RecoveryInfo info = store->replay([](std::uint64_t, std::span<const std::byte>) {});
  EXPECT_EQ(info.dropped_bytes, end - kSectorBytes - kSectorBytes);
}

}  // namespace
}  // namespace culmen::storage
