// Loading::on_touch: what is read is the same as of an index that is read as a whole; a damaged place is an error of
// every call that needs it, and of no other; what was read once is never read again.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>

#include "cpu/bounded.h"
#include "cpu/scan.h"
#include "index/find_rows.h"
#include "index/storage/id_file.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/store.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/index/storage/damage.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

void put_index(const Snapshot& snapshot, MemoryFileSystem& system) {
  save(snapshot, system, "index", false);
  system.directories["index"]->names.erase("LOCK");
}

std::shared_ptr<Snapshot> open_on_touch(MemoryFileSystem& system) {
  return load(system, "index", Loading::on_touch);
}

std::vector<Query> make_queries() {
  std::vector<Query> all;
  for (const std::vector<double>& weights :
       {std::vector<double>{1, 2}, std::vector<double>{-1, 0.3}, std::vector<double>{0, -1}})
    for (const Missing missing : {Missing::skip, Missing::fill})
      all.push_back({.weights = weights, .k = 3, .missing = missing});
  all.push_back({.weights = {1, 1}, .k = 2, .where = col("stock1") >= 500});
  all.push_back({.weights = {-1, -1}, .k = 2, .where = col("brand0") == "text 7"});
  return all;
}

const std::vector<Query>& some_queries() {
  static const std::vector<Query> all = make_queries();
  return all;
}

struct LabelledHits {
  std::vector<Hit> hits;
  std::vector<std::string> labels;

  friend bool operator==(const LabelledHits& a, const LabelledHits& b) {
    const auto same = [](const Hit& x, const Hit& y) { return x.id == y.id && x.score == y.score; };
    return a.labels == b.labels && std::ranges::equal(a.hits, b.hits, same);
  }
};

LabelledHits ask(const Snapshot& s, const Query& query) {
  SearchStats stats;
  LabelledHits answer = {cpu::search_bounded(s, resolve(query, s), stats), {}};
  for (const Hit& hit : answer.hits) answer.labels.emplace_back(s.label(hit.row));
  return answer;
}

// Every row of the index to damage, some ids that no row has, by the ids file.
using FoundRows = std::vector<std::uint64_t>;
std::vector<std::int64_t> ids_to_find() {
  const Snapshot& s = index_to_damage();
  std::vector<std::int64_t> ids;
  for (const std::uint32_t leaf : s.order().leaves)
    ids.insert(ids.end(), s.leaf_ids(leaf), s.leaf_ids(leaf) + s.leaf(leaf).num_rows);
  for (std::int64_t id = s.next_id; id < s.next_id + 50; ++id) ids.push_back(id);
  return ids;
}

std::vector<LabelledHits> expected_answers() {
  std::vector<LabelledHits> answers;
  for (const Query& query : some_queries()) answers.push_back(ask(index_to_damage(), query));
  return answers;
}

// What is wrong with a call; empty if it throws nothing.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

TEST(OnTouch, IsTheSameIndexOnceAllIsRead) {
  for (const Shape& shape : {Shape{.rows = 700}, Shape{.rows = 700, .float64 = true, .labels = false},
                             Shape{.rows = 0}, Shape{.rows = 700, .fields = 8, .gaps = true},
                             Shape{.rows = 700,
                             .labels = false,
                             .partitioning = Partitioning::kd,
                             .partitions = 4,
                             .late_splits = 3,
                             .fields = 3,
                             .cluster = "stock1"}}) {
    const auto snapshot = make_snapshot(shape);
    MemoryFileSystem system;
    put_index(*snapshot, system);
    const auto read = open_on_touch(system);
    read->require_all();
    EXPECT_EQ(difference(*read, *load(system, "index")), "");
  }
}

TEST(OnTouch, ReadsOnlyWhatASearchNeeds) {
  MemoryFileSystem system;
  put_index(index_to_damage(), system);
  const auto s = open_on_touch(system);
  EXPECT_FALSE(s->arena->has_leaf(0) || s->arena->has_leaf(s->num_leaves / 2));
  const std::uint64_t before = system.num_calls;
  const Query query = {.weights = {1, 2}, .k = 1, .missing = Missing::fill};
  EXPECT_EQ(ask(*s, query), ask(index_to_damage(), query));
  EXPECT_LT(system.num_calls - before, s->num_leaves / 2);
  const std::uint64_t after = system.num_calls;
  EXPECT_EQ(ask(*s, query), ask(index_to_damage(), query));
  EXPECT_EQ(system.num_calls, after) << "nothing is read twice";
}

TEST(OnTouch, FindsEveryFlippedBitThatACallTouches) {
  MemoryFileSystem whole;
  put_index(index_to_damage(), whole);
  const Files files = whole.files("index");
  const std::vector<LabelledHits> expected = expected_answers();
  std::atomic<int> num_refused = 0, num_right = 0;
  for_each_flipped_bit(files, [&](MemoryFileSystem& system, const std::string& name, const std::string& place,
                                  const auto& flip) {
    const auto is_named = [&](const std::string& error) {
      return error.find("index/" + name) != std::string::npos;
    };
    std::shared_ptr<Snapshot> s;
    const std::string of_open = error_of([&] { s = open_on_touch(system); });
    EXPECT_TRUE(of_open.empty() || is_named(of_open)) << of_open;
    if (s == nullptr) return;
    for (std::size_t q = 0; q < expected.size(); ++q) {
      const std::string error =
          error_of([&] { EXPECT_EQ(ask(*s, some_queries()[q]), expected[q]) << place; });
      EXPECT_TRUE(error.empty() || is_named(error)) << error;
      ++(error.empty() ? num_right : num_refused);
    }
    EXPECT_TRUE(is_named(error_of([&] { s->require_all(); }))) << place;
    flip();
    EXPECT_EQ(error_of([&] { s->require_all(); }), "") << "what could not be read is read again";
    flip();
  });
  EXPECT_GT(num_refused, 0);
  EXPECT_GT(num_right, 0);
}

TEST(OnTouch, FindsFilesThatAreCutUnderIt) {
  MemoryFileSystem whole;
  put_index(index_to_damage(), whole);
  const Files files = whole.files("index");
  const std::vector<LabelledHits> expected = expected_answers();
  for (const char* kind : {"leaves", "nodes", "labels", "fields", "texts", "ids"}) {
    const std::string name = std::string("SNAP-1-") + kind;
    const std::size_t size = files.at(name).size();
    bool is_seen = false;
    for (std::size_t cut = 0; cut < size; cut += 1 + size / 100) {
      MemoryFileSystem system;
      system.put("index", files);
      const auto s = open_on_touch(system);
      system.directories["index"]->names[name]->bytes.resize(cut);
      for (std::size_t q = 0; q < expected.size(); ++q) {
        const std::string error = error_of([&] { EXPECT_EQ(ask(*s, some_queries()[q]), expected[q]); });
        EXPECT_TRUE(error.empty() || error.find("index/" + name) != std::string::npos) << error;
      }
      const std::string of_all = error_of([&] { s->require_all(); });
      EXPECT_TRUE(of_all.empty() || of_all.find("index/" + name) != std::string::npos) << of_all;
      is_seen |= !of_all.empty();
    }
    EXPECT_TRUE(is_seen) << name << ": searches have not read all of it";
  }
}

TEST(OnTouch, FindsRowsByTheirIds) {
  for (const Shape& shape :
       {Shape{.rows = 5000}, Shape{.rows = 1024, .labels = false}, Shape{.rows = 1}, Shape{.rows = 0}}) {
    const auto snapshot = make_snapshot(shape);
    MemoryFileSystem system;
    put_index(*snapshot, system);
    const auto read = open_on_touch(system), whole = load(system, "index");
    std::vector<std::int64_t> ids;
    for (const std::uint32_t leaf : whole->order().leaves)
      ids.insert(ids.end(), whole->leaf_ids(leaf), whole->leaf_ids(leaf) + whole->leaf(leaf).num_rows);
    for (std::int64_t id = -50; id < 0; ++id) ids.push_back(whole->next_id - id);
    const FoundRows expected = find_rows(*whole, ids);
    EXPECT_EQ(std::ranges::count(expected, kNowhere), 50);
    EXPECT_EQ(*look_up_rows(*read, ids), expected);
    EXPECT_EQ(*look_up_rows(*whole, ids), expected);
    EXPECT_EQ(look_up_rows(*snapshot, ids), std::nullopt) << "it was not read from files";
  }
}

TEST(OnTouch, FindsARowWithoutReadingTheOthers) {
  const auto snapshot = make_snapshot({.rows = 40'000});
  MemoryFileSystem system;
  put_index(*snapshot, system);
  const std::int64_t id = snapshot->leaf_ids(3)[1];
  for (std::int64_t wanted : {id, snapshot->next_id}) {
    const auto s = open_on_touch(system);
    const std::uint64_t before = system.num_calls;
    EXPECT_EQ(look_up_rows(*s, std::span(&wanted, 1))->front() == kNowhere, wanted != id);
    EXPECT_LE(system.num_calls - before, 6U);
    const std::uint64_t after = system.num_calls;
    EXPECT_TRUE(look_up_rows(*s, std::span(&wanted, 1)));
    EXPECT_EQ(system.num_calls, after) << "nothing is read twice";
  }
}

// Each look-up gets the right row, or an error that names the damaged file.
TEST(OnTouch, FindsNoWrongRowInADamagedFile) {
  MemoryFileSystem whole;
  put_index(index_to_damage(), whole);
  const Files files = whole.files("index");
  const std::vector<std::int64_t> ids = ids_to_find();
  const FoundRows expected = find_rows(*load(whole, "index"), ids);
  std::atomic<int> num_refused = 0, num_right = 0;
  tbb::parallel_for(std::size_t{0}, files.at("SNAP-1-ids").size(), [&](std::size_t at) {
    if (!is_ours(at) || (test::kSanitized && !is_sampled(at))) return;
    MemoryFileSystem system;
    system.put("index", files);
    system.directories["index"]->names["SNAP-1-ids"]->bytes[at] ^= std::byte{1} << at % 8;
    std::shared_ptr<Snapshot> s;
    std::string error = error_of([&] { s = open_on_touch(system); });
    for (std::size_t i = 0; s != nullptr && i < ids.size(); ++i) {
      error = error_of([&] { EXPECT_EQ(look_up_rows(*s, std::span(&ids[i], 1))->front(), expected[i]); });
      if (!error.empty()) break;
      ++num_right;
    }
    EXPECT_NE(error.find("index/SNAP-1-ids"), std::string::npos) << "byte " << at << ": " << error;
    if (s != nullptr) ++num_refused;
    EXPECT_NE(error_of([&] { load(system, "index"); }).find("index/SNAP-1-ids"), std::string::npos);
  });
  EXPECT_GT(num_refused, 0);
}

// The error of the first call, then of all look-ups and the checks of all, if the entries of the ids file are these.
std::string error_of_entries(const std::function<void(std::span<std::uint64_t>)>& change) {
  MemoryFileSystem system;
  put_index(*make_snapshot({.rows = 700}), system);  // one frame of ids
  const Bytes text = system.files("index").at("MANIFEST-1");
  Manifest manifest = parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, "");
  Bytes& file = system.directories["index"]->names["SNAP-1-ids"]->bytes;
  std::vector<std::uint64_t> entries(700);
  FrameHeader header;
  std::memcpy(&header, file.data() + kFirstFrameOffset, sizeof header);
  EXPECT_TRUE(decode_ids({file.data() + kFirstFrameOffset + sizeof header, header.payload_bytes}, entries));
  change(entries);
  file = sized_file(FileKind::ids, manifest, 1,
                    [&](std::uint64_t, std::vector<std::byte>& payload) { encode_ids(entries, payload); });
  const auto directory = system.open_directory("index");
  return error_of([&] {
    const auto s = read_snapshot(*directory, manifest, Loading::on_touch);
    std::vector<std::int64_t> ids(1000);
    std::iota(ids.begin(), ids.end(), std::int64_t{-100});
    const FoundRows rows = *look_up_rows(*s, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] == kNowhere) continue;
      EXPECT_EQ(s->id(rows[i]), ids[i]);
    }
    s->require_all();
  });
}

// With good checksums all the same.
TEST(OnTouch, RefusesIdsThatAreNotThoseOfTheRows) {
  const auto expect = [](const std::function<void(std::span<std::uint64_t>)>& change,
                         const std::string& why) {
    EXPECT_NE(error_of_entries(change).find(why), std::string::npos) << error_of_entries(change);
  };
  EXPECT_EQ(error_of_entries([](std::span<std::uint64_t>) {}), "");
  expect([](auto entries) { std::swap(entries[300], entries[301]); }, "ids are not in order");
  expect([](auto entries) { entries[699] |= 0xffffffff; }, "in a leaf that does not exist");
  expect([](auto entries) { entries[300] = entries[301]; }, "not those of the rows");
  const auto point_to_leaf_0 = [](std::span<std::uint64_t> entries) {
    for (std::uint64_t& entry : entries) entry = entry >> 32 << 32;
  };
  expect(point_to_leaf_0, "not those of the rows");
  expect([](auto entries) { std::ranges::fill(entries, entries[300]); }, "not those of the rows");
}

TEST(OnTouch, NeverReadsAgainWhatItHasRead) {
  MemoryFileSystem system;
  put_index(index_to_damage(), system);
  const auto s = open_on_touch(system);
  for (const Query& query : some_queries()) ask(*s, query);
  for (auto& [name, file] : system.directories["index"]->names) file->bytes.clear();
  const std::vector<LabelledHits> expected = expected_answers();
  for (std::size_t q = 0; q < expected.size(); ++q) EXPECT_EQ(ask(*s, some_queries()[q]), expected[q]);
  EXPECT_NE(error_of([&] { s->require_all(); }), "");
}

TEST(OnTouch, IsReadByManyThreadsAtOnce) {
  MemoryFileSystem system;
  put_index(index_to_damage(), system);
  const std::vector<LabelledHits> expected = expected_answers();
  for (int round = 0; round < 20; ++round) {
    const auto s = open_on_touch(system);
    tbb::parallel_for(std::size_t{0}, std::size_t{64}, [&](std::size_t i) {
      const std::size_t q = i % expected.size();
      if (i % 16 == 15) s->require_all();
      EXPECT_EQ(ask(*s, some_queries()[q]), expected[q]);
    });
  }
}

TEST(OnTouch, IsScannedAndSavedWhole) {
  MemoryFileSystem system;
  put_index(index_to_damage(), system);
  const Query query = {.weights = {1, 2}, .k = 5};
  SearchStats stats;
  const auto scanned = open_on_touch(system);
  EXPECT_EQ((LabelledHits{cpu::search_scan(*scanned, resolve(query, *scanned), stats),
                          ask(index_to_damage(), query).labels}),
            ask(index_to_damage(), query));
  save(*open_on_touch(system), system, "copy", false);
  EXPECT_EQ(difference(*load(system, "copy"), *load(system, "index")), "");
}

}  // namespace
}  // namespace culmen::storage
