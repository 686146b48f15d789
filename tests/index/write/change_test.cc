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

using Rows = std::map<std::int64_t, ModelRow>;

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
  // Only one NaN means that a value is missing.
  for (const float value :
       {-std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::signaling_NaN(),
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), -0.0F}) {
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

// ---- Fields

const std::vector<Field> kFields = {{"brand", FieldRole::filter, {ColumnType::text}},
                                    {"note", FieldRole::stored, {ColumnType::text}},
                                    {"new", FieldRole::filter, {ColumnType::boolean}},
                                    {"weight"},
                                    {"day", FieldRole::stored, {ColumnType::date}}};
constexpr LeafShape kShapeWithFields{2, 16, sizeof(float), true, 5};

// Three rows, of which the second misses everything.
Change change_with_fields() {
  Change change = example_change(true);
  const float missing = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(change.values.data() + 4, &missing, sizeof missing);
  for (const Field& field : kFields) {
    FieldChangeBuilder builder(field);
    for (int row = 0; row < 3; ++row) {
      if (row == 1) {
        builder.add_missing();
      } else if (field.is_text()) {
        builder.add_text(row == 0 ? "first" : "third");
      } else {
        builder.add_key(row == 0 ? 0 : 1);
      }
    }
    change.fields.push_back(builder.take());
  }
  return change;
}

bool is_refused(const Change& change) {
  try {
    decode(encode(change), kShapeWithFields, kFields);
  } catch (const FormatError&) {
    return true;
  }
  return false;
}

TEST(Change, ComesBackWithItsFields) {
  const Change before = change_with_fields();
  const Change after = decode(encode(before), kShapeWithFields, kFields);
  EXPECT_EQ(after.values, before.values);
  ASSERT_EQ(after.fields.size(), kFields.size());
  for (std::size_t f = 0; f < kFields.size(); ++f) {
    EXPECT_EQ(after.fields[f].keys, before.fields[f].keys);
    EXPECT_EQ(after.fields[f].text_ends, before.fields[f].text_ends);
    EXPECT_EQ(after.fields[f].text, before.fields[f].text);
    EXPECT_EQ(after.fields[f].missing, before.fields[f].missing);
    EXPECT_TRUE(after.fields[f].is_missing(1));
  }
  EXPECT_EQ(after.fields[0].keys, (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(after.fields[0].text_at(1), "third");
  EXPECT_EQ(after.fields[1].text_at(2), "third");
  EXPECT_TRUE(decode(encode(Change{}), kShapeWithFields, kFields).fields.empty());
}

TEST(Change, WithFieldsIsRefusedWhenItsBytesAreTooFewOrTooMany) {
  std::vector<std::byte> body = encode(change_with_fields());
  for (std::size_t size = 0; size < body.size(); ++size)
    EXPECT_THROW(decode(std::span(body).first(size), kShapeWithFields, kFields), FormatError) << size;
  EXPECT_THROW(decode(body, kShape), FormatError);
  body.push_back(std::byte{0});
  EXPECT_THROW(decode(body, kShapeWithFields, kFields), FormatError);
  EXPECT_THROW(decode(encode(example_change(true)), kShapeWithFields, kFields), FormatError);
}

TEST(Change, WithFieldsThatTheirColumnsCannotHaveIsRefused) {
  using Spoil = void (*)(std::vector<FieldChange>&);
  const Spoil spoils[] = {
      [](auto& fields) { fields[0].keys[0] = 1; },  // the second text before the first
      [](auto& fields) { fields[0].keys[2] = 0; },  // nothing has the second text
      [](auto& fields) { fields[0].keys[2] = 2; },  // no such text
      [](auto& fields) { fields[0].keys[2] = -1; },
      [](auto& fields) { fields[0].keys[1] = 1; },  // a missing one
      [](auto& fields) { fields[0].text_ends[0] = 11; },
      [](auto& fields) { fields[0].text.pop_back(); },
      [](auto& fields) { fields[0].missing[0] = 2; },
      [](auto& fields) {
        fields[0].missing[1] = 0;
        fields[0].keys[2] = 0;
      },
      [](auto& fields) { fields[1].text_ends[1] = 7; },  // the text of a missing value
      [](auto& fields) { fields[2].keys[0] = 2; },
      [](auto& fields) {
        fields[2].missing = {0, 0, 0};
      },                                             // then it would not be there
      [](auto& fields) { fields[3].keys[0] = -1; },  // -0
      [](auto& fields) { fields[3].keys[0] = std::numeric_limits<std::int64_t>::max(); },  // NaN
      [](auto& fields) { fields[3].keys[0] = std::int64_t{0x7ff} << 52; },                 // infinity
      [](auto& fields) { fields[4].text_ends = {0}; },
      [](auto& fields) { std::swap(fields[0], fields[1]); },
      [](auto& fields) { fields.pop_back(); }};
  for (const Spoil& spoil : spoils) {
    Change change = change_with_fields();
    ASSERT_FALSE(is_refused(change));
    spoil(change.fields);
    EXPECT_TRUE(is_refused(change)) << &spoil - spoils;
  }
}

// Texts that two batches have in common are one again.
TEST(ChangeFold, FoldsFields) {
  const Change first = change_with_fields();
  Change second = change_with_fields();
  second.removed = {1};
  second.ids = {10, 11, 1};
  ChangeFold fold(
      kShapeWithFields, 0, [](std::int64_t id) { return id < 0 || id == 5; }, kFields);
  fold.add(first);
  fold.add(second);
  const Change folded = fold.fold();
  ASSERT_EQ(folded.ids.size(), 5u);
  EXPECT_EQ(folded.ids[0], 2);
  EXPECT_EQ(folded.fields[0].missing, (std::vector<std::uint8_t>{1, 0, 0, 1, 0}));
  EXPECT_EQ(folded.fields[0].keys, (std::vector<std::int64_t>{0, 0, 1, 0, 0}));
  EXPECT_EQ(folded.fields[0].text_at(0), "third");
  EXPECT_EQ(folded.fields[0].text_at(1), "first");
  EXPECT_EQ(folded.fields[1].text_at(1), "third");
  EXPECT_EQ(folded.fields[2].keys, (std::vector<std::int64_t>{0, 1, 0, 0, 1}));
  EXPECT_FALSE(is_refused(folded));
}

TEST(Change, WithFieldsFromAnyBytesIsTakenOrRefused) {
  std::mt19937_64 random(4);
  const std::vector<std::byte> good = encode(change_with_fields());
  for (int i = 0; i < (kSanitized ? 20'000 : 200'000); ++i) {
    std::vector<std::byte> body = good;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      std::byte& at = body[random() % body.size()];
      at = random() % 2 == 0 ? static_cast<std::byte>(random() % 4) : static_cast<std::byte>(random());
    }
    try {
      const Change change = decode(body, kShapeWithFields, kFields);
      if (change.num_rows() > 0) {
        ASSERT_EQ(encode(change), body);
      }
    } catch (const FormatError&) {
    }
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
      ASSERT_TRUE(before.emplace(folded.ids[row], ModelRow{values[0], values[1]}).second);
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
