#include "table/csv_record.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace culmen::io {
namespace {

struct Split {
  RecordState state = RecordState::incomplete;
  std::vector<std::string> fields;
  std::size_t num_bytes = 0;
  std::uint64_t num_lines = 0;
  std::string fault;

  friend bool operator==(const Split&, const Split&) = default;
};

Split split(std::string_view text, bool at_end_of_file) {
  RecordSplitter splitter(',', 100);
  // On the heap and without a terminating NUL, so that a sanitizer sees a read past the end.
  const auto copy = std::make_unique<char[]>(text.size());
  text.copy(copy.get(), text.size());
  Split result;
  result.state = splitter.split(copy.get(), copy.get() + text.size(), at_end_of_file);
  std::string scratch;
  if (result.state == RecordState::refused) result.fault = splitter.fault().what;
  if (result.state != RecordState::complete) return result;
  for (const CsvField& field : splitter.fields()) result.fields.emplace_back(field_value(field, scratch));
  result.num_bytes = static_cast<std::size_t>(splitter.next() - copy.get());
  result.num_lines = splitter.num_lines();
  return result;
}

TEST(RecordSplitter, FollowsRfc4180) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"a,b,c\n", {"a", "b", "c"}},
      {"a,b,c\r\n", {"a", "b", "c"}},
      {",,\n", {"", "", ""}},
      {"\n", {""}},
      {"\"a,b\",\"c\"\"d\",\"\"\n", {"a,b", "c\"d", ""}},
      {"\"two\nlines\",x\r\n", {"two\nlines", "x"}},
      {"\"a\r\nb\"\n", {"a\r\nb"}},
      {"\"\"\"\"\n", {"\""}},
      {" \xC3\xBC , b\n", {" \xC3\xBC ", " b"}},
  };
  for (const auto& [text, fields] : cases) {
    const Split result = split(text, false);
    EXPECT_EQ(result.state, RecordState::complete) << text;
    EXPECT_EQ(result.fields, fields) << text;
    EXPECT_EQ(result.num_bytes, std::string_view(text).size()) << text;
  }
}

TEST(RecordSplitter, CountsThePhysicalLinesOfARecord) {
  EXPECT_EQ(split("a,b\n", false).num_lines, 1u);
  EXPECT_EQ(split("\"a\n\nb\",c\n", false).num_lines, 3u);
}

TEST(RecordSplitter, NeedsNoLineEndAtTheEndOfTheFile) {
  EXPECT_EQ(split("a,b", true).fields, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split("a,", true).fields, (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(split("\"a\"", true).fields, (std::vector<std::string>{"a"}));
}

TEST(RecordSplitter, WaitsForMoreInputWhereTheRecordIsNotComplete) {
  for (const char* text : {"a", "a,", "a\r", "\"a", "\"a\"", "\"a\"\"", "\"a\n", "\"a\"\r", "\""}) {
    EXPECT_EQ(split(text, false).state, RecordState::incomplete) << text;
  }
}

TEST(RecordSplitter, RefusesWhatIsNotCsv) {
  const std::pair<std::string, const char*> cases[] = {
      {"a\"b,c\n", "a quote within an unquoted field"},    {"\"a\"b\n", "text after the closing quote"},
      {"a\rb\n", "a carriage return without a line feed"}, {"a\r", "a carriage return without a line feed"},
      {"a,\"b\n", "a quote that is never closed"},         {std::string("a\0b\n", 4), "a NUL byte"},
      {std::string("\"a\0b\"\n", 6), "a NUL byte"},        {std::string("a,\0", 3), "a NUL byte"},
  };
  for (const auto& [text, expected] : cases) {
    const Split result = split(text, true);
    EXPECT_EQ(result.state, RecordState::refused) << text;
    EXPECT_EQ(result.fault.find(expected), 0u) << text << " -> " << result.fault;
  }
}

TEST(RecordSplitter, CapsFieldsAndLines) {
  const std::string longest(kMaxFieldBytes, 'x');
  EXPECT_EQ(split(longest + ",b\n", false).state, RecordState::complete);
  EXPECT_EQ(split(longest + "x,b\n", false).fault, "a field longer than 64 KiB");
  EXPECT_EQ(split("\"" + longest, false).fault, "a field longer than 64 KiB (is its quote not closed?)");
  // The error must not depend on whether the closing quote has been read yet.
  const std::string nul_first = std::string("\"\0", 2) + longest;
  EXPECT_EQ(split(nul_first, false).fault, split(nul_first + "\"\n", false).fault);
  std::string line;
  while (line.size() < kMaxLineBytes) line += "0123456,";
  EXPECT_EQ(split(line.substr(0, kMaxLineBytes - 1) + "\n", false).state, RecordState::complete);
  EXPECT_EQ(split(line + "\n", false).fault, "a line longer than 16 MiB");
  EXPECT_EQ(split(line + "x", false).fault, "a line longer than 16 MiB");
}

TEST(RecordSplitter, KeepsNoMoreFieldsThanAskedForButCountsThemAll) {
  RecordSplitter splitter(',', 3);
  const std::string commas(1000, ',');
  EXPECT_EQ(splitter.split(commas.data(), commas.data() + commas.size(), true), RecordState::complete);
  EXPECT_EQ(splitter.fields().size(), 3u);
  EXPECT_EQ(splitter.num_fields(), 1001u);
}

// A record must split in the same way with more text after it, and a refused one must stay refused.
TEST(RecordSplitter, AnswersTheSameHoweverMuchInputStandsBehind) {
  std::mt19937_64 random(3);
  constexpr std::string_view kAlphabet("ab,,\"\"\n\r\0 ", 10);
  for (int round = 0; round < 20000; ++round) {
    std::string text(1 + random() % 12, ' ');
    for (char& c : text) c = kAlphabet[random() % kAlphabet.size()];
    const Split whole = split(text, true);
    for (std::size_t size = 1; size < text.size(); ++size) {
      const Split part = split(std::string_view(text).substr(0, size), false);
      if (part.state == RecordState::incomplete) continue;
      ASSERT_EQ(part, whole) << "round " << round << ", " << size << " bytes of " << text;
    }
  }
}

}  // namespace
}  // namespace culmen::io
