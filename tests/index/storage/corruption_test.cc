// Any damage to a closed index makes loading fail with an error that names the file.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include "index/storage/store.h"
#include "tests/index/storage/damage.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

Files published(const Snapshot& snapshot, std::uint8_t uuid = 1) {
  MemoryFileSystem system;
  system.next_uuid = uuid;
  save(snapshot, system, "index", false);
  Files files = system.files("index");
  files.erase("LOCK");
  return files;
}

// The error of loading these files; empty if there is none.
std::string complaint(const Files& files) {
  MemoryFileSystem system;
  system.put("index", files);
  try {
    load(system, "index");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// A change in a file may first show as a contradiction with the file that refers to it.
bool names_a_file(const std::string& complaint) {
  return complaint.find("index/") != std::string::npos;
}

TEST(Corruption, IsSeenForEveryFlippedBitOfEveryFile) {
  const Files files = published(index_to_damage());
  ASSERT_EQ(files.size(), 11u);
  ASSERT_EQ(complaint(files), "");
  for_each_flipped_bit(files, [](MemoryFileSystem& system, const std::string& name, const std::string& place,
                                 const auto& /*flip*/) {
    try {
      load(system, "index");
      ADD_FAILURE() << place << " went unseen";
    } catch (const FormatError& error) {
      EXPECT_NE(std::string(error.what()).find("index/" + name), std::string::npos) << error.what();
    }
  });
}

TEST(Corruption, IsSeenForEveryLengthOfEveryFile) {
  const Files files = published(index_to_damage());
  for (const auto& entry : files) {
    const std::string& name = entry.first;
    const std::size_t whole = entry.second.size();
    const bool is_log = name.starts_with("WAL");  // what is more than its durable bytes is a torn end
    tbb::parallel_for(std::size_t{0}, whole + (is_log ? 0 : 70), [&](std::size_t size) {
      if (size == whole || !is_ours(size) || !is_sampled(size)) return;
      Files cut = files;
      cut[name].resize(size);
      EXPECT_NE(complaint(cut).find("index/" + name), std::string::npos)
          << name << " of " << size << " bytes";
    });
  }
}

TEST(Corruption, IsSeenForEveryMissingFile) {
  const Files files = published(index_to_damage());
  for (const auto& [name, bytes] : files) {
    Files rest = files;
    rest.erase(name);
    EXPECT_NE(complaint(rest).find("index/" + name), std::string::npos) << name;
  }
}

TEST(Corruption, IsSeenForFilesOfAnotherIndexOfTheSameShape) {
  const Files ours = published(index_to_damage(), 1);
  const Files theirs = published(
      *make_snapshot({.rows = 530, .attributes = 2, .partitions = 1, .seed = 2, .fields = 3, .gaps = true}),
      2);
  const Files twin = published(index_to_damage(), 3);  // the same table, saved again
  for (const auto& [name, bytes] : ours) {
    for (const Files* other : {&theirs, &twin}) {
      Files mixed = ours;
      mixed[name] = other->at(name);
      EXPECT_TRUE(names_a_file(complaint(mixed))) << name;
    }
  }
}

TEST(Corruption, IsSeenForFilesThatWereSwapped) {
  const Files files = published(index_to_damage());
  for (const auto& [one, first] : files) {
    for (const auto& [two, second] : files) {
      if (one >= two) continue;
      Files swapped = files;
      std::swap(swapped[one], swapped[two]);
      EXPECT_TRUE(names_a_file(complaint(swapped))) << one << " and " << two;
    }
  }
}

TEST(Corruption, IsSeenForFramesThatWereMoved) {
  const Files ours = published(index_to_damage(), 1);
  const Files twin = published(index_to_damage(), 2);
  const std::vector<std::size_t> starts = frame_starts(ours.at("SNAP-1-leaves"));
  std::mt19937 random(1);
  const auto some_leaf = [&random] { return 1 + random() % index_to_damage().num_leaves; };
  const auto length = [&starts](std::size_t frame) { return starts[frame + 1] - starts[frame]; };
  for (int round = 0; round < 1000; ++round) {
    const std::size_t leaf = some_leaf();
    std::size_t other = some_leaf();
    while (length(other) != length(leaf)) other = some_leaf();
    const auto target = static_cast<std::ptrdiff_t>(starts[leaf]);
    const bool from_twin = other == leaf || random() % 2 == 0;
    Files moved = ours;
    const Bytes& from = (from_twin ? twin : ours).at("SNAP-1-leaves");
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(starts[other]), length(leaf),
                moved["SNAP-1-leaves"].begin() + target);
    const std::string text = complaint(moved);
    EXPECT_NE(text.find("index/SNAP-1-leaves, byte " + std::to_string(target)), std::string::npos) << text;
    EXPECT_NE(text.find("belongs to another"), std::string::npos) << text;
  }
}

TEST(Corruption, IsSeenForAFrameOfAnotherTableUnderTheSameUuid) {
  // Cannot happen by accident: the uuid is random. The digest in the manifest holds even then.
  const auto other =
      make_snapshot({.rows = 530, .attributes = 2, .partitions = 1, .fields = 3, .gaps = true});
  std::int64_t* const ids = other->arena->ids(0);
  ids[ids[0] == other->leaf(0).min_id ? 1 : 0] += 1;  // they are seven apart
  Files mixed = published(index_to_damage());
  mixed["SNAP-1-leaves"] = published(*other).at("SNAP-1-leaves");
  const std::string text = complaint(mixed);
  EXPECT_NE(text.find("index/SNAP-1-leaves"), std::string::npos) << text;
  EXPECT_NE(text.find("not the frames that the manifest names"), std::string::npos) << text;
}

TEST(Corruption, IsSeenForAnOlderStateOfTheSameFile) {
  MemoryFileSystem system;
  save(index_to_damage(), system, "index", false);
  const Files before = system.files("index");
  save(index_to_damage(), system, "index", true);
  Files mixed = system.files("index");
  for (const char* kind : {"leaves", "nodes", "labels", "partitions", "fields", "dictionaries", "texts"}) {
    Files stale = mixed;
    stale[std::string("SNAP-2-") + kind] = before.at(std::string("SNAP-1-") + kind);
    EXPECT_TRUE(names_a_file(complaint(stale))) << kind;
  }
  mixed["CURRENT"] = before.at("CURRENT");
  EXPECT_NE(complaint(mixed).find("index/MANIFEST-1"), std::string::npos);
}

TEST(Load, SaysThatADirectoryHoldsNoIndex) {
  EXPECT_EQ(complaint({}), "index holds no index");
}

}  // namespace
}  // namespace culmen::storage
