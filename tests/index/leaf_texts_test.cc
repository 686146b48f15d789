// Texts of one leaf that take more than fits are refused, and the row of the longest is named.
#include "index/leaf_texts.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "index/leaf_labels.h"

namespace culmen {
namespace {

struct Refused : std::runtime_error {
  Refused(std::size_t r, const std::string& problem) : std::runtime_error(problem), row(r) {}
  std::size_t row;
};

void refuse(std::size_t row, const std::string& problem) {
  throw Refused(row, problem);
}

// What f() is refused with.
template <typename F>
Refused refusal_of(const F& f) {
  try {
    f();
  } catch (const Refused& refused) {
    return refused;
  }
  return {0, "not refused"};
}

const std::vector<std::string> kTexts = {"one", "the longest", "", "three"};

TEST(LeafTexts, ThatTakeTooMuchAreRefusedWithTheRowOfTheLongest) {
  const std::vector<Field> fields = {
      {.name = "note", .role = FieldRole::stored, .format = {ColumnType::text}},
      {.name = "n", .role = FieldRole::stored, .format = {ColumnType::integer}},
      {.name = "more", .role = FieldRole::stored, .format = {ColumnType::text}}};
  LeafTextsBuilder builder(fields);
  builder.start(kTexts.size());
  for (std::size_t row = 0; row < kTexts.size(); ++row) {
    builder.set_text(0, row, "a");
    builder.set_text(2, row, kTexts[row]);
  }
  std::vector<std::byte> bytes;
  const auto allocate = [&bytes](std::size_t num_bytes) {
    bytes.assign(num_bytes, std::byte{0xa5});
    return std::span(bytes);
  };
  builder.finish(allocate, refuse);
  EXPECT_EQ(fault_of_leaf_texts(bytes, kTexts.size(), fields), "");
  for (std::size_t row = 0; row < kTexts.size(); ++row)
    EXPECT_EQ(LeafTexts(bytes.data()).text(2, row), kTexts[row]);
  const std::size_t needed = bytes.size();
  builder.finish(allocate, refuse, needed);
  bytes.clear();
  const Refused refused = refusal_of([&] { builder.finish(allocate, refuse, needed - 1); });
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(refused.row, 1u);
  EXPECT_STREQ(
      refused.what(),
      "column \"more\": the stored texts of the 4 rows of one leaf take more than 2 GiB; the longest, of "
      "this "
      "row, has 11 bytes. An index that is built with fewer rows per leaf (leaf_rows, --leaf-rows) has room "
      "for longer ones");
}

TEST(LeafLabels, ThatTakeTooMuchAreRefusedWithTheRowOfTheLongest) {
  SlotArena arena({1, 16, sizeof(float), true}, BoundLayout(1), 1, 1);
  const auto label = [](std::size_t row) -> const std::string& { return kTexts[row]; };
  std::size_t needed = 0;
  for (const std::string& text : kTexts) needed += text.size();
  write_labels(arena, 0, kTexts.size(), label, refuse, needed);
  const Refused refused =
      refusal_of([&] { write_labels(arena, 0, kTexts.size(), label, refuse, needed - 1); });
  EXPECT_EQ(refused.row, 1u);
  EXPECT_TRUE(
      std::string(refused.what()).starts_with("the labels of the 4 rows of one leaf take more than 4 GiB"))
      << refused.what();
}

}  // namespace
}  // namespace culmen
