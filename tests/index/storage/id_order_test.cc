// The ids file of an index whose ids are texts: texts, and places between them, are found by a few reads; a damaged place is an
// error of the look-ups that need it; what does not fit the rows is refused.
#include "index/storage/id_order_file.h"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/find_rows.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/store.h"
#include "index/text_rows.h"
#include "tests/cases.h"
#include "tests/index/storage/damage.h"
#include "tests/index/storage/leaf_rows_file.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();

void put_texts(std::size_t num_rows, MemoryFileSystem& system) {
  save(*make_snapshot({.rows = num_rows, .text_ids = true}), system, "index", false);
  system.directories["index"]->names.erase("LOCK");
}

// The texts of all rows, with what stands in for them.
std::map<std::string, std::int64_t> texts_of(const Snapshot& s) {
  std::map<std::string, std::int64_t> texts;
  for (const std::uint64_t row : rows_by_ids(s)) texts.emplace(s.label(row), s.id(row));
  return texts;
}

Manifest manifest_of(const MemoryFileSystem& system) {
  const Bytes text = system.files("index").at("MANIFEST-1");
  return parse_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, "");
}

// Keeps about so many bytes of what it reads.
std::shared_ptr<const Snapshot> read_within(std::uint64_t memory, MemoryFileSystem& system) {
  return read_snapshot(*system.open_directory("index"), manifest_of(system), Loading::on_touch, memory);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

TEST(IdOrder, FindsTextsAndPlacesBetweenThem) {
  for (const std::size_t num_rows : {0, 1, 2, 1023, 1024, 1025, 2100}) {
    MemoryFileSystem system;
    put_texts(num_rows, system);
    const auto whole = load(system, "index");
    const std::map<std::string, std::int64_t> texts = texts_of(*whole);
    for (const std::shared_ptr<const Snapshot>& s :
         {std::shared_ptr<const Snapshot>(whole),
          std::shared_ptr<const Snapshot>(load(system, "index", Loading::on_touch)),
          read_within(1 << 16, system)}) {
      const TextRows& rows = s->text_rows();
      std::int64_t last = kBeforeAll;
      EXPECT_EQ(rows.find("a"), TextPlace{});
      std::uint64_t number = 0;
      for (const auto& [text, id] : texts) {
        const std::int64_t before = std::exchange(last, id);
        if (number++ % test::step_of_states(8) != 0) continue;
        EXPECT_EQ(rows.find(text), (TextPlace{id, true}));
        EXPECT_EQ(rows.before(text), before);
        EXPECT_EQ(rows.find(text + "!"), (TextPlace{id, false}));
        EXPECT_NE(look_up_rows(*s, std::span(&id, 1))->front(), kNowhere);
        const std::int64_t none = id + 1;
        EXPECT_EQ(look_up_rows(*s, std::span(&none, 1))->front(), kNowhere);
      }
    }
    for (std::uint64_t place = 0; place < num_rows; ++place)
      EXPECT_EQ(whole->id_lookup->order()->place_of(whole->id_lookup->order()->at(place).id), place);
  }
}

TEST(IdOrder, AFewLeavesAreReadForAText) {
  MemoryFileSystem system;
  put_texts(40'000, system);  // in more than 2,500 leaves
  const auto s = load(system, "index", Loading::on_touch);
  const std::uint64_t before = system.num_calls;
  EXPECT_TRUE(s->text_rows().find("t1012345").is_there);
  EXPECT_LT(system.num_calls - before, 100U);
  const std::uint64_t after = system.num_calls;
  EXPECT_TRUE(s->text_rows().find("t1012345").is_there);
  EXPECT_EQ(system.num_calls, after) << "nothing is read twice";
}

TEST(IdOrder, GivesNoWrongRowOfADamagedFile) {
  MemoryFileSystem whole;
  put_texts(1500, whole);
  const Files files = whole.files("index");
  const std::map<std::string, std::int64_t> texts = texts_of(*load(whole, "index"));
  std::atomic<int> num_refused = 0;
  tbb::parallel_for(std::size_t{0}, files.at("SNAP-1-ids").size(), [&](std::size_t at) {
    if (!is_ours(at) || (test::kSanitized && !is_sampled(at))) return;
    MemoryFileSystem system;
    system.put("index", files);
    system.directories["index"]->names["SNAP-1-ids"]->bytes[at] ^= std::byte{1} << at % 8;
    const std::string error = message_of([&] {
      const auto s = load(system, "index", Loading::on_touch);
      for (const auto& [text, id] : texts) EXPECT_EQ(s->text_rows().find(text), (TextPlace{id, true}));
      s->require_all();
    });
    EXPECT_NE(error.find("index/SNAP-1-ids"), std::string::npos) << "byte " << at << ": " << error;
    ++num_refused;
    EXPECT_NE(message_of([&] { load(system, "index"); }).find("index/SNAP-1-ids"), std::string::npos);
  });
  EXPECT_GT(num_refused, 0);
}

// The error of the first look-up, or of the checks of all, if the entries of the file are these.
std::string error_of_order(const std::function<void(std::span<OrderedId>)>& change) {
  MemoryFileSystem system;
  put_texts(700, system);  // one frame
  Manifest manifest = manifest_of(system);
  Bytes& file = system.directories["index"]->names["SNAP-1-ids"]->bytes;
  std::vector<OrderedId> entries(700);
  FrameHeader header;
  std::memcpy(&header, file.data() + kFirstFrameOffset, sizeof header);
  EXPECT_TRUE(
      decode_id_order({file.data() + kFirstFrameOffset + sizeof header, header.payload_bytes}, entries));
  change(entries);
  file = sized_file(FileKind::ids, manifest, 1, [&](std::uint64_t, std::vector<std::byte>& payload) {
    encode_id_order(entries, payload);
  });
  const auto directory = system.open_directory("index");
  return message_of([&] {
    const auto s = read_snapshot(*directory, manifest, Loading::on_touch);
    for (int row = 0; row < 700; ++row) {
      const std::string wanted = "t" + std::to_string(1'000'000 + row);
      const TextPlace place = s->text_rows().find(wanted);
      if (!place.is_there) continue;
      const std::uint64_t found = look_up_rows(*s, std::span(&place.id, 1))->front();
      EXPECT_TRUE(found == kNowhere || s->label(found) == wanted);
    }
    s->require_all();
  });
}

// With good checksums all the same.
TEST(IdOrder, ThatIsNotThatOfTheRowsIsRefused) {
  const auto expect = [](const std::function<void(std::span<OrderedId>)>& change, const std::string& why) {
    EXPECT_NE(error_of_order(change).find(why), std::string::npos) << error_of_order(change);
  };
  EXPECT_EQ(error_of_order([](std::span<OrderedId>) {}), "");
  expect([](auto entries) { std::swap(entries[300], entries[301]); }, "ids are not in order");
  expect([](auto entries) { entries[300] = entries[301]; }, "ids are not in order");
  expect([](auto entries) { entries[699].leaf = 1'000'000; }, "not in the leaf that is named");
  expect([](auto entries) { ++entries[350].id; }, "not in the leaf that is named");
  expect([](auto entries) { ++entries[1].id; }, "not");  // of a look-up, or of the check of all
  expect([](auto entries) { std::swap(entries[349].leaf, entries[350].leaf); }, "not");
}

}  // namespace
}  // namespace culmen::storage
