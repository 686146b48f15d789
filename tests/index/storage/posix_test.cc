// The real file system: kinds of files, permissions, locks, partial transfers, readers concurrent with a writer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "culmen/error.h"
#include "index/storage/store.h"
#include "tests/index/storage/snapshots.h"

namespace {

// While set, some reads and writes are interrupted or transfer fewer bytes than requested (-Wl,--wrap below).
std::atomic<bool> unreliable_calls{false};
std::atomic<unsigned> num_transfers{0};

std::size_t some_of(std::size_t size) {
  const unsigned turn = ++num_transfers;
  if (!unreliable_calls || size < 2) return size;
  return 1 + (turn * 2654435761u) % size;
}

bool interrupted() {
  if (!unreliable_calls || ++num_transfers % 3 != 0) return false;
  errno = EINTR;
  return true;
}

}  // namespace

extern "C" {
ssize_t __real_pread(int fd, void* bytes, std::size_t size, off_t offset);
ssize_t __real_pwrite(int fd, const void* bytes, std::size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void* bytes, std::size_t size, off_t offset) {
  return interrupted() ? -1 : __real_pread(fd, bytes, some_of(size), offset);
}
ssize_t __wrap_pwrite(int fd, const void* bytes, std::size_t size, off_t offset) {
  return interrupted() ? -1 : __real_pwrite(fd, bytes, some_of(size), offset);
}
}

namespace culmen::storage {
namespace {

namespace fs = std::filesystem;

class Posix : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "culmen-storage-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    index_ = (root_ / "index").string();
  }
  void TearDown() override {
    fs::permissions(root_, fs::perms::owner_all);
    fs::remove_all(root_);
  }

  std::string complaint() const {
    try {
      load(posix(), index_);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  }

  fs::path root_;
  std::string index_;
};

mode_t mode_of(const fs::path& path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(Posix, RoundTripsAnIndex) {
  const auto snapshot = make_snapshot({.rows = 20'000, .attributes = 4});
  save(*snapshot, posix(), index_, false);
  EXPECT_EQ(difference(*load(posix(), index_), *snapshot), "");
}

TEST_F(Posix, TakesAnEmptyDirectoryAndASlashAtTheEnd) {
  const auto snapshot = make_snapshot({});
  fs::create_directory(index_);
  save(*snapshot, posix(), index_ + "/", false);
  EXPECT_EQ(complaint(), "");
}

TEST_F(Posix, SurvivesShortTransfersAndInterruptions) {
  const auto snapshot = make_snapshot({.rows = 20'000, .attributes = 4});
  num_transfers = 0;
  unreliable_calls = true;
  save(*snapshot, posix(), index_, false);
  const auto loaded = load(posix(), index_);
  unreliable_calls = false;
  EXPECT_GT(num_transfers, 50u) << "the calls were not wrapped";
  EXPECT_EQ(difference(*loaded, *snapshot), "");
}

TEST_F(Posix, MakesFilesAndDirectoriesAsTheUmaskSays) {
  const auto snapshot = make_snapshot({});
  for (mode_t mask : {mode_t{0}, mode_t{002}, mode_t{022}, mode_t{077}}) {
    const mode_t before = ::umask(mask);
    save(*snapshot, posix(), index_, true);
    ::umask(before);
    EXPECT_EQ(mode_of(index_), 0777u & ~mask);
    for (const auto& entry : fs::directory_iterator(index_))
      EXPECT_EQ(mode_of(entry.path()), 0666u & ~mask) << entry.path();
    fs::remove_all(index_);
  }
}

TEST_F(Posix, RefusesEveryKindOfFileButARegularOne) {
  const auto snapshot = make_snapshot({});
  save(*snapshot, posix(), index_, false);
  const fs::path moved = root_ / "moved";
  for (const char* name :
       {"CURRENT", "MANIFEST-1", "SNAP-1-leaves", "SNAP-1-nodes", "SNAP-1-labels", "SNAP-1-partitions"}) {
    const fs::path file = fs::path(index_) / name;
    fs::rename(file, moved);
    fs::create_symlink(moved, file);
    EXPECT_NE(complaint().find(file.string() + " is a symbolic link"), std::string::npos) << complaint();
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_NE(complaint().find(file.string() + " is not a regular file"), std::string::npos) << complaint();
    fs::remove(file);
    fs::create_directory(file);
    EXPECT_NE(complaint().find(file.string() + " is not a regular file"), std::string::npos) << complaint();
    fs::remove(file);
    fs::rename(moved, file);
    EXPECT_EQ(complaint(), "");
  }
}

// As a daemon that closes unused descriptors.
class ClosedStreams {
 public:
  ClosedStreams() {
    for (int stream = 0; stream < 3; ++stream) {
      kept_[stream] = ::fcntl(stream, F_DUPFD_CLOEXEC, 3);
      ::close(stream);
    }
  }
  ~ClosedStreams() {
    for (int stream = 0; stream < 3; ++stream) {
      if (kept_[stream] < 0) continue;
      ::dup2(kept_[stream], stream);
      ::close(kept_[stream]);
    }
  }

 private:
  std::array<int, 3> kept_{};
};

TEST_F(Posix, WritesIntoNoFileWithTheNumberOfAStandardStream) {
  fs::create_directory(index_);
  std::array<ssize_t, 3> written{};
  {
    const ClosedStreams closed;
    const auto directory = posix().open_directory(index_);
    const auto lock = directory->lock("LOCK");
    std::vector<std::unique_ptr<WritableFile>> files;
    for (const char* name : {"a", "b", "c"}) files.push_back(directory->create(name));
    for (int stream = 0; stream < 3; ++stream) written[stream] = ::write(stream, "stray", 5);
  }
  EXPECT_EQ(written, (std::array<ssize_t, 3>{-1, -1, -1}));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(fs::file_size(fs::path(index_) / name), 0u) << name;
}

TEST_F(Posix, RefusesToWriteThroughALinkCalledLock) {
  fs::create_directory(index_);
  fs::create_symlink(root_ / "victim", fs::path(index_) / "LOCK");
  EXPECT_THROW(save(*make_snapshot({}), posix(), index_, false), Error);
  EXPECT_FALSE(fs::exists(root_ / "victim"));
}

TEST_F(Posix, OpensAReadOnlyDirectoryAndWritesNothing) {
  const auto snapshot = make_snapshot({});
  save(*snapshot, posix(), index_, false);
  fs::remove(fs::path(index_) / "LOCK");
  std::map<std::string, fs::file_time_type> before;
  for (const auto& entry : fs::directory_iterator(index_)) {
    fs::permissions(entry.path(), fs::perms::owner_read);
    before[entry.path().filename()] = entry.last_write_time();
  }
  fs::permissions(index_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(complaint(), "");
  std::map<std::string, fs::file_time_type> after;
  for (const auto& entry : fs::directory_iterator(index_))
    after[entry.path().filename()] = entry.last_write_time();
  fs::permissions(index_, fs::perms::owner_all);
  EXPECT_EQ(after, before);
}

TEST_F(Posix, NamesThePathAndTheReason) {
  EXPECT_EQ(complaint(), "there is no directory " + index_);
  EXPECT_THROW(load(posix(), index_), NoIndex);
  std::ofstream(index_) << "a file";
  EXPECT_EQ(complaint(), index_ + " holds no index: it is not a directory");
  EXPECT_THROW(load(posix(), index_), NoIndex);
  const auto snapshot = make_snapshot({});
  EXPECT_THROW(save(*snapshot, posix(), index_, true), IoError);
  EXPECT_THROW(save(*snapshot, posix(), (root_ / "no" / "such").string(), true), IoError);
  EXPECT_EQ(fs::file_size(index_), 6u);
}

TEST_F(Posix, LetsOneProcessWriteAtATimeAndNamesIt) {
  const auto snapshot = make_snapshot({});
  save(*snapshot, posix(), index_, false);
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready) | ::pipe(done), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const auto directory = posix().open_directory(index_);
    const auto lock = directory->lock("LOCK");
    char byte = 0;
    ::_exit(::write(ready[1], &byte, 1) == 1 && ::read(done[0], &byte, 1) == 1 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  try {
    save(*snapshot, posix(), index_, true);
    ADD_FAILURE() << "two writers";
  } catch (const IoError& error) {
    EXPECT_EQ(std::string(error.what()), index_ + " is being written by process " + std::to_string(other));
  }
  ASSERT_EQ(::kill(other, SIGKILL), 0);
  ::waitpid(other, nullptr, 0);
  save(*snapshot, posix(), index_, true);  // the lock died with its owner
  for (int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
}

Store::UseBatch counter(std::uint64_t& last) {
  return [&last](std::uint64_t version, std::span<const std::byte> body) {
    EXPECT_EQ(version, last + 1);
    EXPECT_EQ(body.size(), version * 7 % 1000);
    EXPECT_TRUE(std::all_of(body.begin(), body.end(), [&](std::byte b) { return b == std::byte(version); }));
    last = version;
  };
}

void append_one(Store& store) {
  const std::uint64_t version = store.last_version() + 1;
  const std::vector<std::byte> body(version * 7 % 1000, std::byte(version));
  store.append(std::vector<LogRecord>{{version, body}});
}

TEST_F(Posix, KeepsALogOverShortTransfersAndOpensAfterATornEnd) {
  save(*make_snapshot({}), posix(), index_, false);
  num_transfers = 0;
  unreliable_calls = true;
  for (int round = 0; round < 3; ++round) {
    std::uint64_t last = 1;
    const auto store = Store::open(posix(), index_, true);
    const RecoveryInfo info = store->replay(counter(last));
    EXPECT_EQ(info.num_batches, static_cast<std::uint64_t>(round) * 100);
    EXPECT_EQ(info.dropped_bytes, round == 0 ? 0u : kSectorBytes);
    for (int i = 0; i < 100; ++i) append_one(*store);
    store->sync();
    std::fstream log(fs::path(index_) / "WAL-1", std::ios::in | std::ios::out);
    log.seekp(static_cast<std::streamoff>(store->log_bytes())) << "torn";
  }
  unreliable_calls = false;
  EXPECT_GT(num_transfers, 50u) << "the calls were not wrapped";
}

TEST_F(Posix, OpensAReadOnlyLogAndWritesNothing) {
  save(*make_snapshot({}), posix(), index_, false);
  {
    std::uint64_t last = 1;
    const auto store = Store::open(posix(), index_, true);
    store->replay(counter(last));
    append_one(*store);
    store->sync();
  }
  const fs::path log = fs::path(index_) / "WAL-1";
  fs::permissions(log, fs::perms::owner_read);
  const auto before = fs::last_write_time(log);
  std::uint64_t last = 1;
  Store::open(posix(), index_, false)->replay(counter(last));
  EXPECT_EQ(last, 2u);
  EXPECT_EQ(fs::last_write_time(log), before);
}

TEST_F(Posix, ReadersFollowWritersThatMakeCheckpointsAndDie) {
  // One writer after the other appends, sometimes without a sync, switches to new logs, and stops without closing.
  // Readers see no damage, and versions that never decrease.
  const auto snapshot = make_snapshot({.rows = 50});
  save(*snapshot, posix(), index_, false);
  std::atomic<bool> finished{false};
  std::atomic<int> num_refreshes{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      std::uint64_t newest = 1;
      while (!finished) {
        try {
          const auto store = Store::open(posix(), index_, false);
          std::uint64_t last = store->take_snapshot()->version;
          RecoveryInfo info = store->replay(counter(last));
          for (; !info.superseded && !finished; ++num_refreshes) {
            EXPECT_GE(last, newest);
            newest = last;
            info = store->refresh(counter(last));
          }
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
          return;
        }
      }
    });
  }
  for (int life = 0; life < 30; ++life) {
    const auto store = Store::open(posix(), index_, true);
    std::uint64_t last = store->take_snapshot()->version;
    store->replay(counter(last));
    for (int i = 0; i < 40; ++i) {
      append_one(*store);
      if (i % 4 == 0) store->sync();
      if (i % 20 == 10) store->begin_checkpoint();
      snapshot->version = store->last_version();
      if (i % 20 == 10 && life % 2 == 0) store->finish_checkpoint(*snapshot);
    }
    if (life % 3 != 0) continue;
    std::ofstream(fs::path(index_) / "WAL-1000", std::ios::app) << "left over";
  }
  while (num_refreshes < 20) std::this_thread::yield();
  finished = true;
  for (std::thread& reader : readers) reader.join();
}

TEST_F(Posix, ReadersBesideAWriterSeeWholeIndexesThatNeverGoBack) {
  constexpr std::uint64_t kVersions = 60;
  const auto snapshot = make_snapshot({.rows = 2000});
  save(*snapshot, posix(), index_, false);
  std::atomic<bool> finished{false};
  std::atomic<int> num_loads{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      for (std::uint64_t last = 1; !finished; ++num_loads) {
        try {
          const std::uint64_t version = load(posix(), index_)->version;
          EXPECT_GE(version, last);
          last = version;
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      }
    });
  }
  for (snapshot->version = 2; snapshot->version <= kVersions || num_loads < 20; ++snapshot->version)
    save(*snapshot, posix(), index_, true);
  finished = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace culmen::storage
