#include "index/encoding/packed_texts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "index/encoding/encode.h"

namespace culmen::encoding {
namespace {

using Texts = std::vector<std::string>;

std::vector<std::byte> encoded_texts(const Texts& texts) {
  std::vector<std::uint32_t> ends;
  std::string all;
  for (const std::string& text : texts) {
    all += text;
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  std::vector<std::byte> bytes;
  encode_texts(ends, std::as_bytes(std::span(all)).data(), bytes);
  bytes.resize(bytes.size() + kReadAhead);
  return bytes;
}

// Nothing if they are refused.
std::optional<Texts> decoded_texts(const std::vector<std::byte>& bytes, std::size_t count) {
  std::span<const std::byte> rest(bytes);
  const std::optional<PackedTexts> packed = take_texts(rest, count);
  if (!packed) return std::nullopt;
  EXPECT_EQ(rest.size(), kReadAhead);
  std::vector<std::byte> text(packed->text_bytes());
  if (!unpack(*packed, text.data())) return std::nullopt;
  Texts texts;
  std::size_t start = 0;
  for (const std::uint32_t end : packed->ends) {
    texts.emplace_back(reinterpret_cast<const char*>(text.data()) + start, end - start);
    start = end;
  }
  return texts;
}

Texts repeated(const std::string& text, std::size_t count) {
  return Texts(count, text);
}

Texts random_letters(std::size_t count) {
  std::mt19937_64 random(1);
  Texts texts(count);
  for (std::string& text : texts)
    for (std::uint64_t i = random() % 20; i > 0; --i) text += static_cast<char>(random() % 256);
  return texts;
}

TEST(PackedTexts, ComeBackAsTheyWere) {
  const std::vector<Texts> cases = {
      {""},
      {"", "", ""},
      {"a"},
      {"Ada", "Bo"},
      {"", "one of many words, many words, many words", ""},
      {std::string(300, '\0'), std::string("\0\xff", 2)},
      repeated("Grand Hotel", 96),
      repeated("Hotel of the Grand Union Canal", 4096),
      random_letters(96),
      {std::string(std::size_t{3} << 20, 'x')},
      {std::string((std::size_t{1} << 20) + 256 * 140, 'x')},  // some bytes less than a frame to skip has
  };
  for (const Texts& texts : cases) {
    const std::vector<std::byte> bytes = encoded_texts(texts);
    EXPECT_EQ(bytes, encoded_texts(texts));
    EXPECT_TRUE(decoded_texts(bytes, texts.size()) == texts) << texts[0];
  }
}

TEST(PackedTexts, AreCompressedIfThatIsShorter) {
  EXPECT_LT(encoded_texts(repeated("Grand Hotel", 96)).size(), 50u);
  EXPECT_EQ(encoded_texts({"Ada", "Bo"}).size(), 3 + 1 + 4 + 5 + kReadAhead);
  std::size_t letters = 0;
  for (const std::string& text : random_letters(96)) letters += text.size();
  EXPECT_LT(encoded_texts(random_letters(96)).size(), letters + 96);
}

// The most that a reader believes: 256 times.
TEST(PackedTexts, OfOneLetterAreCompressed) {
  const Texts texts = repeated(std::string(1'000'000, 'x'), 40);
  const std::size_t size = encoded_texts(texts).size();
  EXPECT_LT(size, 40'000'000u / 256);
  EXPECT_GT(size, 38'000'000u / 256);
  EXPECT_TRUE(decoded_texts(encoded_texts(texts), texts.size()) == texts);
}

TEST(PackedTexts, ThatAreCutAreRefused) {
  for (const Texts& texts : {repeated("Grand Hotel", 96), random_letters(7), Texts{"Ada", "Bo"}}) {
    const std::vector<std::byte> whole = encoded_texts(texts);
    for (std::size_t size = 0; size < whole.size() - kReadAhead; ++size) {
      std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      std::span<const std::byte> rest(cut);
      const std::optional<PackedTexts> packed = take_texts(rest, texts.size());
      EXPECT_FALSE(packed) << size;
    }
  }
}

// The last number before the texts says how many bytes they have.
void set_packed_bytes(std::vector<std::byte>& bytes, std::size_t at, std::uint32_t count) {
  std::memcpy(bytes.data() + at, &count, sizeof count);
}

TEST(PackedTexts, ThatAreDamagedAreRefused) {
  const Texts texts = repeated("Grand Hotel", 96);
  const std::vector<std::byte> whole = encoded_texts(texts);
  const std::size_t at = 3;  // a constant column: two bytes, and a base of one
  std::uint32_t packed_bytes = 0;
  std::memcpy(&packed_bytes, whole.data() + at, sizeof packed_bytes);
  ASSERT_EQ(whole.size(), at + sizeof packed_bytes + packed_bytes + kReadAhead);
  std::vector<std::byte> bytes = whole;
  bytes[at + sizeof packed_bytes] ^= std::byte{1};  // of zstd's magic number
  EXPECT_FALSE(decoded_texts(bytes, texts.size()));
  bytes = whole;
  bytes[2] = std::byte{10};  // texts that are shorter than what the frame holds
  EXPECT_FALSE(decoded_texts(bytes, texts.size()));
  bytes[2] = std::byte{12};
  EXPECT_FALSE(decoded_texts(bytes, texts.size()));
  bytes[2] = std::byte{0xff};  // -1
  EXPECT_FALSE(decoded_texts(bytes, texts.size()));
  bytes = whole;
  set_packed_bytes(bytes, at, 96 * 11 + 1);
  EXPECT_FALSE(decoded_texts(bytes, texts.size()));
}

TEST(PackedTexts, HaveNoNegativeLengths) {
  for (const std::int64_t second : {0, -2}) {
    const std::vector<std::int64_t> lengths = {5, second, 4};
    const auto text_bytes = static_cast<std::uint32_t>(9 + second);
    std::vector<std::byte> bytes;
    ColumnEncoder().encode(std::span<const std::int64_t>(lengths), bytes);
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof text_bytes + text_bytes + kReadAhead);
    set_packed_bytes(bytes, at, text_bytes);
    std::span<const std::byte> rest(bytes);
    EXPECT_EQ(take_texts(rest, lengths.size()).has_value(), second == 0);
  }
}

TEST(PackedTexts, OfFewBytesDoNotClaimToBeLong) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{0}, std::byte{1}};  // one text of one byte
  bytes.resize(bytes.size() + sizeof(std::uint32_t) + 100 + kReadAhead);
  set_packed_bytes(bytes, 3, 1);
  std::span<const std::byte> rest(bytes);
  EXPECT_TRUE(take_texts(rest, 1));
  // One of 2^30 bytes: its length has a base of four bytes.
  const std::uint32_t length = 1 << 30;
  bytes[0] = std::byte{2 << kBaseShift};
  std::memcpy(bytes.data() + 2, &length, sizeof length);
  set_packed_bytes(bytes, 6, 90);
  rest = bytes;
  EXPECT_FALSE(take_texts(rest, 1));
}

}  // namespace
}  // namespace culmen::encoding
