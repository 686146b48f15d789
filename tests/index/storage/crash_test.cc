// Faults and power cuts at every call: the directory holds either the old index or the new one, complete.
#include <gtest/gtest.h>

#include <set>
#include <unordered_map>

#include "index/storage/store.h"
#include "tests/cases.h"
#include "tests/index/storage/crash_states.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

const Snapshot& old_index() {
  static const auto snapshot = make_snapshot({.rows = 40, .attributes = 2, .seed = 1});
  return *snapshot;
}
const Snapshot& new_index() {
  static const auto snapshot =
      make_snapshot({.rows = 50, .attributes = 2, .seed = 2, .fields = 3, .gaps = true});
  return *snapshot;
}
const Snapshot& third_index() {
  static const auto snapshot = make_snapshot({.rows = 20, .attributes = 1, .labels = false, .seed = 3});
  return *snapshot;
}

// The old index, durable, with leftovers of an earlier crash.
Files before_save() {
  MemoryFileSystem system;
  save(old_index(), system, "index", false);
  Files files = system.files("index");
  files["SNAP-9-leaves"] = Bytes(100);
  files["WAL-5"] = Bytes(100);
  files["CURRENT-new"] = Bytes(5);
  return files;
}

enum class Found { none, old_one, new_one, something_else };

Found found_in(MemoryFileSystem& system) {
  try {
    const auto loaded = load(system, "index");
    if (difference(*loaded, old_index()).empty()) return Found::old_one;
    return difference(*loaded, new_index()).empty() ? Found::new_one : Found::something_else;
  } catch (const IoError& error) {
    // Valid only if there was no index before: there is no CURRENT, or not even the directory.
    const std::string text = error.what();
    const bool nothing_there = text.find("index/CURRENT: No such") != std::string::npos ||
                               text.find("index holds no index") != std::string::npos ||
                               text.find("directory index: No such") != std::string::npos;
    return nothing_there ? Found::none : Found::something_else;
  } catch (const FormatError& error) {
    ADD_FAILURE() << error.what();
    return Found::something_else;
  }
}

// The same of a directory with these files and no others. Most of the states after a power cut are those of an earlier
// call, and loaded only once.
Found found_in(const Files& files) {
  static std::unordered_map<std::uint64_t, Found> known;
  const auto [at, is_new] = known.try_emplace(state_hash(files, 0));
  if (is_new) {
    MemoryFileSystem system;
    system.put("index", files);
    at->second = found_in(system);
  }
  return at->second;
}

bool holds_exactly_one_snapshot(const MemoryFileSystem& system) {
  std::set<std::string> kinds;
  for (const auto& [name, bytes] : system.files("index")) kinds.insert(name);
  return kinds.size() == 8 && kinds.count("CURRENT") == 1 &&
         kinds.count("LOCK") == 1;  // third_index has no labels
}

// A save over the leftovers of a crash succeeds and removes them.
void expect_next_save_cleans_up(MemoryFileSystem& system) {
  save(third_index(), system, "index", true);
  EXPECT_EQ(difference(*load(system, "index"), third_index()), "");
  EXPECT_TRUE(holds_exactly_one_snapshot(system));
}

std::uint64_t calls_of_save(const Files* before) {
  MemoryFileSystem system;
  if (before != nullptr) system.put("index", *before);
  save(new_index(), system, "index", true);
  return system.num_calls;
}

class FaultySave : public testing::TestWithParam<std::tuple<FaultKind, bool>> {
 protected:
  FaultPlan plan(std::uint64_t call) const {
    return {std::get<0>(GetParam()), call, std::get<1>(GetParam())};
  }
};

TEST_P(FaultySave, LeavesTheOldIndexOrTheNewOneWhereverItFails) {
  const Files before = before_save();
  const std::uint64_t num_calls = calls_of_save(&before);
  int num_failures = 0;
  for (std::uint64_t call = 0; call < num_calls; ++call) {
    MemoryFileSystem system;
    system.put("index", before);
    system.plan = plan(call);
    bool failed = false;
    try {
      save(new_index(), system, "index", true);
    } catch (const IoError& error) {
      failed = true;
      EXPECT_TRUE(std::string(error.what()).find("index") != std::string::npos ||
                  std::string(error.what()).find("random numbers") != std::string::npos)
          << error.what();
    }
    num_failures += failed;
    system.plan = {};
    const Found found = found_in(system);
    EXPECT_TRUE(found == Found::new_one || (failed && found == Found::old_one)) << "call " << call;
    expect_next_save_cleans_up(system);
  }
  EXPECT_GT(num_failures, 8);
}

TEST_P(FaultySave, LeavesNothingOfANewDirectoryUnlessTheIndexIsInIt) {
  const std::uint64_t num_calls = calls_of_save(nullptr);
  for (std::uint64_t call = 0; call < num_calls; ++call) {
    MemoryFileSystem system;
    system.plan = plan(call);
    bool failed = false;
    try {
      save(new_index(), system, "index", false);
    } catch (const IoError&) {
      failed = true;
    }
    system.plan = {};
    const Found found = found_in(system);
    EXPECT_TRUE(found == Found::new_one || (failed && found == Found::none)) << "call " << call;
    const bool could_remove = !std::get<1>(GetParam());
    EXPECT_TRUE(found == Found::new_one || !could_remove || system.directories.empty()) << "call " << call;
    if (system.directories.count("index")) expect_next_save_cleans_up(system);
  }
}

TEST_P(FaultySave, AFailedSyncIsNotTriedAgain) {
  // A failed sync drops the bytes, and the next one succeeds: syncing again would publish a hole.
  const Files before = before_save();
  const std::uint64_t num_calls = calls_of_save(&before);
  std::mt19937 random(1);
  for (std::uint64_t call = 0; call < num_calls; call += test::step_of_states(11)) {
    MemoryFileSystem system;
    system.put("index", before);
    system.plan = plan(call);
    try {
      save(new_index(), system, "index", true);
    } catch (const IoError&) {
    }
    system.plan = {};
    for_each_crash_state(system, "index", random, [&](const std::optional<Files>& files) {
      const Found found = found_in(*files);
      EXPECT_TRUE(found == Found::old_one || found == Found::new_one) << "call " << call;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultySave,
                         testing::Combine(testing::Values(FaultKind::io_error, FaultKind::no_space,
                                                          FaultKind::short_write, FaultKind::last_byte),
                                          testing::Bool()));

TEST(FaultyLoad, IsAnErrorThatNamesTheFileWhereverItFails) {
  MemoryFileSystem counting;
  counting.put("index", before_save());
  load(counting, "index");
  for (std::uint64_t call = 0; call < counting.num_calls; ++call) {
    for (bool persistent : {false, true}) {
      MemoryFileSystem system;
      system.put("index", before_save());
      system.plan = {FaultKind::io_error, call, persistent};
      try {
        load(system, "index");
        ADD_FAILURE() << "call " << call << " went unseen";
      } catch (const IoError& error) {
        EXPECT_NE(std::string(error.what()).find("index"), std::string::npos) << error.what();
      }
      EXPECT_EQ(system.files("index"), before_save());
    }
  }
}

// Saves new_index over `before` (null: no directory) with a power cut at each call in turn (under sanitizers at every
// fourth), and finally without one.
// Calls `f` with each possible state of the disk, and whether the save had returned.
void for_each_cut(const Files* before, std::mt19937& random,
                  const std::function<void(const std::optional<Files>&, bool returned)>& f) {
  const std::uint64_t num_calls = calls_of_save(before);
  const std::uint64_t step = test::step_of_states(4);
  for (std::uint64_t call = num_calls % step; call <= num_calls; call += step) {
    MemoryFileSystem system;
    if (before != nullptr) system.put("index", *before);
    system.plan = {FaultKind::power_cut, call, true};
    bool returned = false;
    try {
      save(new_index(), system, "index", true);
      returned = true;
    } catch (const PowerCut&) {
    }
    EXPECT_TRUE(returned || call < num_calls);
    for_each_crash_state(system, "index", random, [&](const auto& files) { f(files, returned); });
  }
}

TEST(PowerCut, LeavesTheOldIndexOrTheNewOneInEveryState) {
  const Files before = before_save();
  std::mt19937 random(1);
  std::map<Found, int> counts;
  for_each_cut(&before, random, [&](const std::optional<Files>& files, bool returned) {
    ASSERT_TRUE(files.has_value());
    const Found found = found_in(*files);
    ++counts[found];
    EXPECT_TRUE(found == Found::new_one || (found == Found::old_one && !returned));
  });
  EXPECT_GT(counts[Found::old_one], test::kSanitized ? 200 : 1000);
  EXPECT_GT(counts[Found::new_one], test::kSanitized ? 0 : 10);
  RecordProperty("states", counts[Found::old_one] + counts[Found::new_one]);
}

TEST(PowerCut, InTheFirstSaveLeavesNoIndexOrTheNewOne) {
  std::mt19937 random(1);
  std::map<Found, int> counts;
  for_each_cut(nullptr, random, [&](const std::optional<Files>& files, bool returned) {
    MemoryFileSystem nothing;
    const Found found = files ? found_in(*files) : found_in(nothing);
    ++counts[found];
    EXPECT_TRUE(found == Found::new_one || (found == Found::none && !returned));
  });
  EXPECT_GT(counts[Found::none], test::kSanitized ? 20 : 100);
  EXPECT_GT(counts[Found::new_one], 0);
}

TEST(PowerCut, InASaveOverShardsLeavesTheseOrTheNewIndex) {
  const Files before = {{"SHARDS", Bytes(300, std::byte{7})}, {"LOCK", {}}};
  std::mt19937 random(5);
  std::uint64_t num_old = 0, num_new = 0;
  for_each_cut(&before, random, [&](const std::optional<Files>& files, bool returned) {
    ASSERT_TRUE(files.has_value());
    MemoryFileSystem system;
    system.put("index", *files);
    if (files->contains("SHARDS")) {
      ++num_old;
      EXPECT_FALSE(returned);
      EXPECT_EQ(files->at("SHARDS"), before.at("SHARDS"));
      EXPECT_THROW(load(system, "index"), NoIndex);
    } else {
      ++num_new;
      EXPECT_EQ(found_in(system), Found::new_one);
    }
    if (random() % 8 == 0) expect_next_save_cleans_up(system);
  });
  EXPECT_GT(num_old, test::kSanitized ? 50u : 200u);
  EXPECT_GT(num_new, 0u);
}

TEST(PowerCut, IsCleanedUpByTheNextSave) {
  const Files before = before_save();
  std::mt19937 random(2);
  for (const Files* start : {&before, static_cast<const Files*>(nullptr)}) {
    for_each_cut(start, random, [&](const std::optional<Files>& files, bool) {
      if (random() % 8 != 0) return;
      MemoryFileSystem system;
      if (files) system.put("index", *files);
      expect_next_save_cleans_up(system);
    });
  }
}

TEST(PowerCut, InTheSaveAfterAPowerCutLosesNothingEither) {
  const Files before = before_save();
  std::mt19937 random(3);
  for_each_cut(&before, random, [&](const std::optional<Files>& files, bool) {
    if (random() % (128 * test::step_of_states(2)) != 0) return;
    const Found survivor = found_in(*files);
    const std::uint64_t num_calls = calls_of_save(&*files);
    MemoryFileSystem second;
    second.put("index", *files);
    second.plan = {FaultKind::power_cut, random() % num_calls, true};
    try {
      save(new_index(), second, "index", true);
    } catch (const PowerCut&) {
    }
    for_each_crash_state(second, "index", random, [&](const std::optional<Files>& after) {
      const Found found = found_in(*after);
      EXPECT_TRUE(found == survivor || found == Found::new_one);
    });
  });
}

TEST(PowerCut, AfterAFailedSyncOfTheSwitchStillLosesNothing) {
  // The switch was made but may not be durable. Before the next save makes it durable, it must not remove the snapshot
  // that a power cut may bring back.
  const Files before = before_save();
  const std::uint64_t num_calls = calls_of_save(&before);
  std::mt19937 random(4);
  std::uint64_t num_uncertain = 0;
  for (std::uint64_t failing = 0; failing < num_calls; ++failing) {
    const auto run_to = [&](std::uint64_t call) {
      auto system = std::make_unique<MemoryFileSystem>();
      system->put("index", before);
      system->plan = {FaultKind::io_error, failing, false};
      try {
        save(new_index(), *system, "index", true);
      } catch (const IoError& error) {
        if (std::string(error.what()).find("may not survive") == std::string::npos)
          return std::unique_ptr<MemoryFileSystem>();
      }
      system->num_calls = 0;
      system->plan = {FaultKind::power_cut, call, true};
      try {
        save(new_index(), *system, "index", true);
      } catch (const PowerCut&) {
      }
      return system;
    };
    if (run_to(2 * num_calls) == nullptr) continue;
    ++num_uncertain;
    const std::uint64_t step = 8 * test::step_of_states(16);
    for (std::uint64_t call = num_uncertain % step; call <= num_calls; call += step) {
      for_each_crash_state(*run_to(call), "index", random, [&](const std::optional<Files>& files) {
        const Found found = found_in(*files);
        EXPECT_TRUE(found == Found::old_one || found == Found::new_one) << "call " << call;
      });
    }
  }
  EXPECT_GT(num_uncertain, 0u);
}

}  // namespace
}  // namespace culmen::storage
