// Changes: their bytes, and the fold of several into one.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "culmen/error.h"
#include "index/write/change.h"
#include "index/write/change_fold.h"
#include "tests/cases.h"
#include "tests/index/write/tree_model.h"

namespace culmen::test {
namespace {

using Rows = std::map<std::int64_t, Row>;

Change example_change(bool labels) {
  Change change;
  change.removed = {5, -7, std::numeric_limits<std::int64_t>::min()};
  change.ids = {1, 2, std::numeric_limits<std::int64_t>::max()};
  const std::vector<float> values = {1, 2, 3, -4, 1e-45F, 3e38F};
  change.values.resize(values.size() * sizeof(float));
  std::memcpy(change.values.data(), values.data(), change.values.size());
  if (labels) {
    change.label_ends = {3, 3, 7};
    change.label_text = {'a', 'b', 'c', 'd', 'e', 'f', 'g'};
  }
  change.rounded_values = 3;
  change.next_id = std::numeric_limits<std::int64_t>::max();
  return change;
}

constexpr LeafShape kShape{2, 16, sizeof(float), true};

TEST(Change, ComesBackFromItsBytes) {
  for (const bool labels : {false, true}) {
    const Change before = example_change(labels);
    const Change after = decode(encode(before), kShape);
    EXPECT_EQ(after.removed, before.removed);
    EXPECT_EQ(after.ids, before.ids);
    EXPECT_EQ(after.values, before.values);
    EXPECT_EQ(after.label_ends, before.label_ends);
    EXPECT_EQ(after.label_text, before.label_text);
    EXPECT_EQ(after.rounded_values, before.rounded_values);
    EXPECT_EQ(after.next_id, before.next_id);
    EXPECT_EQ(after.label(2), labels ? "defg" : "");
    EXPECT_EQ(after.label(1), "");
  }
}

TEST(Change, OfNothingComesBack) {
  const Change after = decode(encode(Change{}), kShape);
  EXPECT_TRUE(after.removed.empty());
  EXPECT_EQ(after.num_rows(), 0u);
}

TEST(Change, IsRefusedWhenItsBytesAreTooFewOrTooMany) {
  std::vector<std::byte> body = encode(example_change(true));
  for (std::size_t size = 0; size < body.size(); ++size)
    EXPECT_THROW(decode(std::span(body).first(size), kShape), FormatError) << size;
  body.push_back(std::byte{0});
  EXPECT_THROW(decode(body, kShape), FormatError);
}

TEST(Change, OfAnotherShapeIsRefused) {
  const std::vector<std::byte> body = encode(example_change(true));
  EXPECT_THROW(decode(body, {3, 16, sizeof(float), true}), FormatError);
  EXPECT_THROW(decode(body, {2, 16, sizeof(double), true}), FormatError);
  EXPECT_THROW(decode(body, {2, 16, sizeof(float), false}), FormatError);
}

TEST(Change, WithAValueThatIsNoNumberIsRefused) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), -0.0F}) {
    Change change = example_change(false);
    std::memcpy(change.values.data() + 8, &value, sizeof value);
    EXPECT_THROW(decode(encode(change), kShape), FormatError) << value;
  }
}

TEST(Change, WithLabelsOutOfOrderIsRefused) {
  for (const std::vector<std::uint64_t>& ends :
       std::vector<std::vector<std::uint64_t>>{{4, 3, 7}, {3, 3, 6}, {3, 3, 8}, {~0ull, 3, 7}}) {
    Change change = example_change(true);
    change.label_ends = ends;
    EXPECT_THROW(decode(encode(change), kShape), FormatError);
  }
}

// Also with counts whose product overflows.
TEST(Change, FromAnyBytesIsTakenOrRefused) {
  std::mt19937_64 random(3);
  const std::vector<std::byte> good = encode(example_change(true));
  const int cases = kSanitized ? 20'000 : 200'000;
  for (int i = 0; i < cases; ++i) {
    std::vector<std::byte> body = good;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::uint64_t word = random() % 8 * 8;
      const std::uint64_t junk = random() >> (random() % 64);
      if (random() % 2 == 0) {
        std::memcpy(body.data() + word, &junk, sizeof junk);
      } else {
        body[random() % body.size()] = static_cast<std::byte>(random());
      }
    }
    try {
      const Change change = decode(body, kShape);
      ASSERT_EQ(change.values.size(), change.num_rows() * 8);
      for (std::size_t r = 0; r < change.num_rows(); ++r) ASSERT_LE(change.label(r).size(), body.size());
    } catch (const FormatError&) {
    }
  }
}

// Changes of any kind give the same rows one after the other and folded into one.
TEST(ChangeFold, IsWhatItsChangesComeTo) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 200; ++trial) {
    Rows rows, before;
    for (std::int64_t id = 0; id < 20; ++id) rows[id] = {static_cast<double>(id), 0.5};
    before = rows;
    ChangeFold fold(kShape, 0, [&before](std::int64_t id) { return before.count(id) > 0; });
    for (int c = 0; c < 6; ++c) {
      ChangeMaker changes(rows);
      for (int step = 0; step < 8; ++step) {
        const auto id = static_cast<std::int64_t>(random() % 30);
        random() % 2 == 0 ? changes.erase(id) : changes.upsert(id, {static_cast<double>(random() % 99), 1});
      }
      fold.add(changes.make(2, false));
      changes.apply_to(rows);
    }
    const Change folded = fold.fold();
    for (const std::int64_t id : folded.removed) ASSERT_EQ(before.erase(id), 1u);
    for (std::size_t row = 0; row < folded.num_rows(); ++row) {
      float values[2];
      for (std::size_t i = 0; i < 2; ++i)
        std::memcpy(&values[i], folded.value(row, i, sizeof(float)), sizeof(float));
      ASSERT_TRUE(before.emplace(folded.ids[row], Row{values[0], values[1]}).second);
    }
    ASSERT_EQ(before, rows);
  }
}

TEST(ChangeFold, KeepsLabelsAndTheLastNextId) {
  ChangeFold fold(kShape, 0, [](std::int64_t) { return false; });
  Change first = example_change(true);
  first.removed.clear();
  first.ids = {3, 4, 5};
  first.next_id = 10;
  Change second;
  second.removed = {first.ids[1]};
  second.next_id = 12;
  fold.add(first);
  fold.add(second);
  const Change folded = fold.fold();
  EXPECT_TRUE(folded.removed.empty());
  ASSERT_EQ(folded.num_rows(), first.num_rows() - 1);
  EXPECT_EQ(folded.label(0), first.label(0));
  EXPECT_EQ(folded.label(1), first.label(2));
  EXPECT_EQ(folded.next_id, 12);
  EXPECT_EQ(folded.rounded_values, first.rounded_values);
}

TEST(ChangeFold, RefusesWhatDoesNotFit) {
  const auto has_seven = [](std::int64_t id) { return id == 7; };
  Change removal, addition;
  removal.removed = {7};
  addition = example_change(false);
  addition.removed.clear();
  addition.ids = {7, 8, 9};
  addition.next_id = removal.next_id = 10;
  EXPECT_THROW(ChangeFold(kShape, 0, has_seven).add(addition), FormatError);
  ChangeFold fold(kShape, 0, has_seven);
  fold.add(removal);
  EXPECT_THROW(fold.add(removal), FormatError);
  ChangeFold other(kShape, 0, has_seven);
  other.add(removal);
  other.add(addition);
  EXPECT_THROW(other.add(addition), FormatError);
}

// Assigns ids without a lookup of the existing ones.
TEST(ChangeFold, RefusesANextIdThatSomebodyHas) {
  const auto has_none = [](std::int64_t) { return false; };
  Change addition = example_change(false);
  addition.removed.clear();
  addition.ids = {9, 3, -4};
  addition.next_id = 9;
  EXPECT_THROW(ChangeFold(kShape, 0, has_none).add(addition), FormatError);
  addition.next_id = 10;
  EXPECT_NO_THROW(ChangeFold(kShape, 0, has_none).add(addition));
  EXPECT_THROW(ChangeFold(kShape, 11, has_none).add(addition), FormatError) << "it goes back";
}

}  // namespace
}  // namespace culmen::test
