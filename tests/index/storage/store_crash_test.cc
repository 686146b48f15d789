// Power cuts at every call of short scripts: from every possible state of the disk, the next open finds all
// acknowledged batches and a prefix of those in flight, each whole, and does not mistake a torn end for damage. Only after
// several writes without a sync it may refuse a log that lost one of them and kept a later one.
//
// A script is a word: a append and sync one batch, A two in one group, u append one without a sync, b begin a
// checkpoint, f finish it, c close and open again, r open again as after a kill.
//
// CULMEN_TEST_CASES=1000000 runs random scripts until it has opened so many different states; from a million on every
// eighth script also tears writes at every byte.
#include <gtest/gtest.h>

#include <set>
#include <unordered_set>

#include "culmen/error.h"
#include "index/storage/store.h"
#include "tests/cases.h"
#include "tests/index/storage/crash_states.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

constexpr std::uint64_t kFirstVersion = 1;

std::shared_ptr<Snapshot> tiny_snapshot(std::uint64_t version) {
  auto snapshot = make_snapshot({.rows = 1, .attributes = 1, .labels = false});
  snapshot->version = version;
  return snapshot;
}

const Files& published() {
  static const Files files = [] {
    MemoryFileSystem system;
    save(*tiny_snapshot(kFirstVersion), system, "index", false);
    return system.files("index");
  }();
  return files;
}

Bytes body_of(std::uint64_t version, std::uint64_t salt) {
  Bytes body((version * 41 + salt * 17) % 90);
  std::mt19937_64 random(version * 1000 + salt);
  for (std::byte& byte : body) byte = static_cast<std::byte>(random());
  return body;
}

// What an open may find.
struct Expected {
  std::uint64_t acknowledged = kFirstVersion;
  std::uint64_t attempted = kFirstVersion;
  std::vector<Bytes> bodies = {{}, {}};  // by version
  bool closed = false;                   // the index was closed, so CURRENT must say where the log ends
  int unsynced_writes = 0;               // appended in so many calls since the last sync

  void attempt(Bytes body) {
    bodies.resize(++attempted);
    bodies.push_back(std::move(body));
  }
};

// Sets `last` to the last version in the store so far. Throws if a batch is not the expected one.
void replay_expected(Store& store, const Expected& expected, std::uint64_t& last) {
  last = store.take_snapshot()->version;
  store.replay([&](std::uint64_t version, std::span<const std::byte> body) {
    if (version != last + 1) throw FormatError("versions with a gap");
    if (version > expected.attempted) throw FormatError("a batch that nobody wrote");
    const Bytes& wanted = expected.bodies[version];
    if (!std::equal(body.begin(), body.end(), wanted.begin(), wanted.end()))
      throw FormatError("another body");
    last = version;
  });
}

// A log that lost a write and kept a later one: batches are lost that were reported as done with durability os.
bool is_refused_gap(const Error& error, const Expected& expected, std::uint64_t last) {
  const bool says_so = std::string(error.what()).find("durability os or batch") != std::string::npos;
  return says_so && expected.unsynced_writes > 1 && last >= expected.acknowledged &&
         last + 1 < expected.attempted;
}

bool knows_end_of_log(const Files& files) {
  const Bytes& text = files.at("CURRENT");
  const LogBound log = parse_current({reinterpret_cast<const char*>(text.data()), text.size()}, "").log;
  return log.bytes == files.at(log_name(log.number)).size();
}

// The fault that an open of these files shows; empty if there is none.
std::string complaint(const Files& files, const Expected& expected, bool writable) {
  MemoryFileSystem system;
  system.put("index", files);
  std::uint64_t last = 0;
  try {
    replay_expected(*Store::open(system, "index", writable), expected, last);
    if (last < expected.acknowledged)
      return "version " + std::to_string(expected.acknowledged) + " was acknowledged, found " +
             std::to_string(last);
    if (!writable && system.files("index") != files) return "a reader changed files";
    if (expected.closed && !knows_end_of_log(files)) return "CURRENT does not say where the log ends";
  } catch (const Error& error) {
    return is_refused_gap(error, expected, last) ? "" : error.what();
  }
  return "";
}

std::uint64_t hash_of(const Files& files, const Expected& expected) {
  return state_hash(files,
                    (expected.acknowledged * 1000 + expected.attempted) * 2 + (expected.closed ? 1 : 0));
}

struct Options {
  std::size_t tear_stride = 1;
  std::size_t max_name_maps = kMaxNameMaps;
  std::uint64_t nest_every = 0;  // runs a second script, and its power cuts, from each so-many-th state
  std::optional<std::uint64_t> forgotten_sync = {};
  // This call and all later ones of the first process have no effect.
  std::optional<std::uint64_t> killed_at = {};
};

// Runs a script on a file system that is checked before every call.
class ScriptRun {
 public:
  ScriptRun(const Options& options, std::mt19937& random) : options_(options), random_(random) {}

  // Stops at the first error, which it returns. If the process is killed, another one runs the last step of the script.
  std::string from(const Files& files, const Expected& expected, const std::string& script, int depth = 0) {
    expected_ = expected;
    depth_ = depth;
    system_.put("index", files);
    system_.forgotten_sync = options_.forgotten_sync;
    system_.before_call = [this] { examine(); };
    if (options_.killed_at) system_.plan = {FaultKind::power_cut, *options_.killed_at, true};
    try {
      if (!opens_first()) return complaint_;
      label_syncs('o');
      for (char step : script) take_labelled(step);
    } catch (const PowerCut&) {
      system_.plan = {};
      was_killed_ = true;
      store_.reset();
      try_again(script.back());
    } catch (const Error& error) {
      complain_of(error);
    }
    return complaint_;
  }

  std::uint64_t num_states() const { return num_states_; }
  std::uint64_t num_calls() const { return system_.num_calls; }
  bool was_killed() const { return was_killed_; }
  // For each sync: the step, the file, and the number of the sync of this file in that step, e.g. "a: index/WAL-1 1".
  // The step of the first open is o, that of one after a kill k.
  const std::vector<std::string>& syncs() const { return syncs_; }
  std::uint64_t call_of_sync(std::size_t sync) const { return system_.syncs[sync].call; }

 private:
  // Returns false if these files are refused, as they may be after a power cut.
  bool opens_first() {
    try {
      open();
      return true;
    } catch (const Error& error) {
      if (!is_refused_gap(error, expected_, found_)) complain_of(error);
      return false;
    }
  }

  void complain_of(const Error& error) {
    if (complaint_.empty()) complaint_ = std::string("the script itself: ") + error.what();
  }

  void try_again(char last_step) {
    try {
      open();
      label_syncs('k');
      take_labelled(last_step);
    } catch (const Error& error) {
      complain_of(error);
    }
  }

  void label_syncs(char step) {
    std::map<std::string, int> times;
    while (syncs_.size() < system_.syncs.size()) {
      const std::string label = std::string(1, step) + ": " + system_.syncs[syncs_.size()].of;
      syncs_.push_back(label + " " + std::to_string(++times[label]));
    }
  }

  void take_labelled(char step) {
    if (complaint_.empty()) take(step);
    examine();
    label_syncs(step);
  }

  void open() {
    store_ = Store::open(system_, "index", true);
    replay_expected(*store_, expected_, found_);
    // A reader may have seen what replay returned. What replay did not return must never reappear.
    expected_.bodies.resize(found_ + 1);
    expected_.attempted = found_;
    acknowledge();
    expected_.closed = false;
  }

  void append(int count) {
    std::vector<LogRecord> group;
    for (int i = 0; i < count; ++i)
      expected_.attempt(body_of(expected_.attempted + 1, static_cast<std::uint64_t>(depth_)));
    for (std::uint64_t version = expected_.attempted + 1 - static_cast<std::uint64_t>(count);
         version <= expected_.attempted; ++version)
      group.push_back({version, expected_.bodies[version]});
    ++expected_.unsynced_writes;
    store_->append(group);
  }

  void sync() {
    store_->sync();
    acknowledge();
  }

  void acknowledge() {
    expected_.acknowledged = expected_.attempted;
    expected_.unsynced_writes = 0;
  }

  void take(char step) {
    switch (step) {
      case 'a':
      case 'A':
        append(step == 'a' ? 1 : 2);
        sync();
        break;
      case 'u':
        append(1);
        break;
      case 'b':
        store_->begin_checkpoint();
        acknowledge();
        checkpoint_version_ = store_->last_version();
        break;
      case 'f':
        store_->finish_checkpoint(*tiny_snapshot(checkpoint_version_));
        break;
      case 'c':
        store_->close();
        acknowledge();
        expected_.closed = true;
        examine();
        label_syncs('c');
        [[fallthrough]];
      default:
        store_.reset();
        expected_.closed = false;
        open();
        label_syncs('r');
    }
  }

  // Every state that a power cut at this call may leave.
  void examine() {
    const auto now =
        std::tuple(system_.num_changes, expected_.acknowledged, expected_.attempted, expected_.closed);
    if (!complaint_.empty() || now == examined_ || (options_.killed_at && !was_killed_)) return;
    examined_ = now;
    CrashStates states(*system_.directories.at("index"), options_.tear_stride, options_.max_name_maps,
                       random_);
    states.for_each([this](const Files& files) {
      if (!complaint_.empty() || !seen_.insert(hash_of(files, expected_)).second) return;
      ++num_states_;
      complaint_ = complaint(files, expected_, true);
      if (complaint_.empty() && num_states_ % 8 == 0) complaint_ = complaint(files, expected_, false);
      if (complaint_.empty() && depth_ == 0 && options_.nest_every > 0 &&
          num_states_ % options_.nest_every == 0)
        nest(files);
    });
  }

  void nest(const Files& files) {
    static constexpr const char* kScripts[] = {"", "a", "ba", "uc", "bf", "abaf"};
    Options options = options_;
    options.tear_stride = 97;
    ScriptRun second(options, random_);
    complaint_ = second.from(files, expected_, kScripts[random_() % std::size(kScripts)], 1);
    if (!complaint_.empty()) complaint_ = "after a second power cut: " + complaint_;
    num_states_ += second.num_states();
  }

  const Options options_;
  std::mt19937& random_;
  MemoryFileSystem system_;
  std::unique_ptr<Store> store_;
  Expected expected_;
  int depth_ = 0;
  std::uint64_t found_ = 0;  // the last version that was replayed
  std::uint64_t checkpoint_version_ = 0;
  std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, bool> examined_;
  bool was_killed_ = false;
  std::unordered_set<std::uint64_t> seen_;
  std::uint64_t num_states_ = 0;
  std::string complaint_;
  std::vector<std::string> syncs_;
};

std::string random_script(std::mt19937& random) {
  std::string script;
  for (bool begun = false; script.size() < 6;) {
    const char step = "aAubfcr"[random() % 7];
    if (step == 'f' && !begun) continue;
    begun = step == 'b' || (begun && step != 'f' && step != 'c' && step != 'r');
    script += step;
  }
  return script;
}

// The published index after a batch with a torn frame, and other possible results of a power cut.
Files with_torn_end() {
  Files files = published();
  MemoryFileSystem system;
  system.put("index", files);
  const auto store = Store::open(system, "index", true);
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  const Bytes body = body_of(2, 9);
  store->append(std::vector<LogRecord>{{2, body}});
  files = system.files("index");
  files["WAL-1"] = without_room(files["WAL-1"]);
  files["WAL-1"].back() ^= std::byte{1};
  files["CURRENT-new"] = Bytes(5);
  return files;
}

TEST(StorePowerCut, LosesNothingAcknowledgedAndSeesNoDamage) {
  const std::uint64_t wanted = test::num_cases(20'000);
  const bool long_run = wanted >= 1'000'000;
  std::uint64_t num_states = 0, num_scripts = 0;
  for (std::uint64_t seed = 1; num_states < wanted; ++seed) {
    if (test::only_seed() != 0 && seed != test::only_seed()) continue;
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    const std::string script = seed == 1 ? "aubAfc" : random_script(random);
    Options options;
    options.tear_stride = !long_run ? 101 * test::step_of_states(15) : seed % 8 == 0 ? 1 : 29;
    options.nest_every = 150;
    ScriptRun run(options, random);
    const std::string complaint = run.from(seed % 4 == 0 ? with_torn_end() : published(), {}, script);
    ASSERT_EQ(complaint, "") << "script " << script << "; "
                             << test::rerun_command(seed, "storage_test", "StorePowerCut.Loses*");
    num_states += run.num_states();
    ++num_scripts;
    if (test::only_seed() != 0) break;
  }
  std::printf("%llu states of %llu scripts\n", static_cast<unsigned long long>(num_states),
              static_cast<unsigned long long>(num_scripts));
}

// Ignores each sync of a script in turn, and records whether some state then shows an error.
void forget_each_sync(const Files& start, const std::string& script, const Options& options,
                      std::map<std::string, bool>& is_missed) {
  std::mt19937 random(1);
  ScriptRun whole(options, random);
  ASSERT_EQ(whole.from(start, {}, script), "") << script;
  for (std::uint64_t sync = 0; sync < whole.syncs().size(); ++sync) {
    Options forgetful = options;
    forgetful.forgotten_sync = sync;
    ScriptRun run(forgetful, random);
    is_missed[whole.syncs()[sync]] |= !run.from(start, {}, script).empty();
  }
}

TEST(StorePowerCut, IsSeenToLoseSomethingIfOneSyncIsForgotten) {
  if (test::kSanitized) GTEST_SKIP() << "a test of the tests, and slow";
  const Options options{.tear_stride = 509, .max_name_maps = 12};
  std::map<std::string, bool> is_missed;
  for (const char* script : {"ura", "aura", "Ac", "aba", "abuba", "abfa", "ubafuc"})
    forget_each_sync(published(), script, options, is_missed);
  // Killed between renaming CURRENT and syncing the directory.
  std::mt19937 random(1);
  ScriptRun whole(options, random);
  ASSERT_EQ(whole.from(published(), {}, "abf"), "");
  Options killed = options;
  killed.killed_at = whole.call_of_sync(whole.syncs().size() - 1);
  forget_each_sync(published(), "abfa", killed, is_missed);
  std::set<std::string> unseen;
  for (const auto& [sync, missed] : is_missed)
    if (!missed) unseen.insert(sync);
  const std::set<std::string> needless = {
      "c: directory index 1",  // what a closed CURRENT says needs no other new name
      "k: index/WAL-2 1",     "o: index/WAL-1 1",     "r: index/WAL-2 1",  // nothing is unsynced there
      "o: directory index 1", "r: directory index 1",  // nor here, as it is after the kill
  };
  EXPECT_EQ(unseen, needless);
  EXPECT_GT(is_missed.size(), 30u);
}

TEST(StoreKill, AtEveryCallLosesNothingEvenIfThePowerGoesLater) {
  const std::uint64_t step = test::step_of_states(5);
  std::uint64_t num_states = 0;
  for (const char* script : {"uAbfa", "abrubfca"}) {
    bool was_killed = true;
    for (std::uint64_t call = 0; was_killed; call += step) {
      std::mt19937 random(static_cast<std::uint32_t>(call));
      ScriptRun run({.tear_stride = 509, .max_name_maps = 12, .killed_at = call}, random);
      ASSERT_EQ(run.from(published(), {}, script), "") << script << ", killed at call " << call;
      was_killed = run.was_killed();
      num_states += run.num_states();
    }
  }
  EXPECT_GT(num_states, 5000u / step);
}

}  // namespace
}  // namespace culmen::storage
