// Dictionaries against a std::map, from loads and with additions.
#include "index/dictionary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/cases.h"

namespace culmen::test {
namespace {

using Ranges = std::vector<CodeRange>;

Dictionary dictionary_of(const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return Dictionary(views);
}

Dictionary with(const Dictionary& dictionary, const std::vector<std::string>& texts) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return dictionary.with(views);
}

using Generator = std::mt19937_64;

// Of few letters, so that texts are each other's prefixes; some bytes are not ASCII.
std::string random_text(Generator& random) {
  constexpr std::string_view kLetters("ab\xff\0", 4);
  std::string text;
  for (std::uint64_t left = random() % 6; left > 0; --left) text += kLetters[random() % kLetters.size()];
  return text;
}

TEST(Dictionary, NumbersTextsInTheirOrder) {
  const Dictionary empty;
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(empty.find(""), std::nullopt);
  EXPECT_EQ(empty.codes_between("", std::nullopt), Ranges());

  const Dictionary brands = dictionary_of({"", "Canon", "Nikon", "Sony"});
  EXPECT_EQ(brands.size(), 4U);
  EXPECT_EQ(brands[3], "Sony");
  EXPECT_EQ(brands.find(""), 0U);
  EXPECT_EQ(brands.find("Nikon"), 2U);
  EXPECT_EQ(brands.find("nikon"), std::nullopt);
  EXPECT_EQ(brands.codes_between("D", "Sony"), Ranges({{2, 2}}));
  EXPECT_EQ(brands.codes_between("Canon", std::nullopt), Ranges({{1, 3}}));
  EXPECT_EQ(brands.codes_between("Sony", "Canon"), Ranges());
}

TEST(Dictionary, KeepsCodesWhenTextsAreAdded) {
  const Dictionary base = dictionary_of({"b", "d", "f"});
  const Dictionary more = with(base, {"e", "a"});
  EXPECT_EQ(base.size(), 3U);
  EXPECT_EQ(base.find("a"), std::nullopt);
  EXPECT_EQ(more.size(), 5U);
  EXPECT_EQ(more.find("d"), 1U);
  EXPECT_EQ(more.find("a"), 4U);
  EXPECT_EQ(more.codes_between("a", "e"), Ranges({{0, 1}, {4, 4}}));
  EXPECT_EQ(more.codes_between("b", std::nullopt), Ranges({{0, 3}}));
  EXPECT_EQ(with(more, {}).size(), 5U);
}

TEST(Dictionary, KnowsWhereAPrefixEnds) {
  EXPECT_EQ(end_of_prefix("So"), "Sp");
  EXPECT_EQ(end_of_prefix("S\xff\xff"), "T");
  EXPECT_EQ(end_of_prefix("\xff"), std::nullopt);
  EXPECT_EQ(end_of_prefix(""), std::nullopt);
}

TEST(Dictionary, SeesTextsThatAreThereTwice) {
  EXPECT_TRUE(dictionary_of({"a", "b", "\xff", "B"}).are_distinct());
  EXPECT_FALSE(dictionary_of({"a", "a"}).are_distinct());
  EXPECT_FALSE(dictionary_of({"a", "c", "b", "d", "b"}).are_distinct());
  EXPECT_FALSE(dictionary_of({"a", "c", "b", "c"}).are_distinct());
}

TEST(Dictionary, IsAMap) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    Generator random(trial);
    std::map<std::string, std::uint32_t> model;
    std::vector<std::string> by_code;
    const auto new_texts = [&](std::uint64_t count) {
      std::set<std::string> fresh;
      for (; count > 0; --count)
        if (const std::string text = random_text(random); !model.contains(text)) fresh.insert(text);
      std::vector<std::string> texts(fresh.begin(), fresh.end());
      if (random() % 2 == 0) std::ranges::reverse(texts);
      for (const std::string& text : texts) {
        model[text] = static_cast<std::uint32_t>(by_code.size());
        by_code.push_back(text);
      }
      return texts;
    };
    Dictionary dictionary = dictionary_of(new_texts(random() % 50));
    for (int step = 0; step < 20; ++step) {
      dictionary = with(dictionary, new_texts(random() % 10));
      ASSERT_EQ(dictionary.size(), by_code.size());
      ASSERT_TRUE(dictionary.are_distinct());
      for (std::uint32_t code = 0; code < dictionary.size(); ++code)
        ASSERT_EQ(dictionary[code], by_code[code]);
      const std::string first = random_text(random), last = random_text(random);
      const bool has_end = random() % 4 > 0;
      const auto found = model.find(first);
      ASSERT_EQ(dictionary.find(first), found == model.end() ? std::nullopt : std::optional(found->second));
      std::vector<bool> inside(by_code.size() + 1);
      const std::vector<CodeRange> ranges =
          dictionary.codes_between(first, has_end ? std::optional<std::string_view>(last) : std::nullopt);
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        ASSERT_LE(ranges[i].first, ranges[i].last);
        ASSERT_TRUE(i == 0 || ranges[i].first > ranges[i - 1].last + 1);
        for (std::uint32_t code = ranges[i].first; code <= ranges[i].last; ++code) inside[code] = true;
      }
      for (std::uint32_t code = 0; code < by_code.size(); ++code)
        ASSERT_EQ(inside[code], by_code[code] >= first && (!has_end || by_code[code] < last));
    }
  }
}

TEST(Dictionary, HoldsAMillionTextsAndManyAdditions) {
  constexpr std::uint32_t kNumTexts = kSanitized ? 100'000 : 1'000'000;
  constexpr int kNumAdditions = kSanitized ? 10'000 : 100'000;
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < kNumTexts; ++i) texts.push_back("text " + std::to_string(i));
  std::ranges::sort(texts);
  Dictionary dictionary = dictionary_of(texts);
  EXPECT_EQ(dictionary.codes_between("text 5", "text 6").size(), 1U);
  EXPECT_EQ(dictionary.codes_between("text 5", "text 6")[0].last -
                dictionary.codes_between("text 5", "text 6")[0].first,
            kNumTexts / 9 - 1);
  for (int i = 0; i < kNumAdditions; ++i) dictionary = with(dictionary, {"more " + std::to_string(i)});
  for (std::uint32_t code = 0; code < dictionary.size(); code += 997)
    ASSERT_EQ(dictionary.find(dictionary[code]), code);
}

}  // namespace
}  // namespace culmen::test
