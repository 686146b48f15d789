// Encoded columns and texts: any bytes are refused or give values, the same ones by both decoders, and nothing else is read; any
// values come back to the bit, columns in no more bytes than promised.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>

#include "index/encoding/encode.h"
#include "index/encoding/packed_column.h"
#include "index/encoding/packed_texts.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

// Memory of its own, so that a sanitizer sees reads and writes beyond it.
template <typename T>
class Exactly {
 public:
  explicit Exactly(std::size_t size) : size_(size), values_(std::make_unique<T[]>(size)) {}
  std::span<T> span() { return {values_.get(), size_}; }
  bool operator==(const Exactly& other) const {
    return std::memcmp(values_.get(), other.values_.get(), size_ * sizeof(T)) == 0;
  }

 private:
  std::size_t size_;
  std::unique_ptr<T[]> values_;
};

template <typename T>
void check_bytes(std::string_view input, std::size_t count) {
  Exactly<std::byte> bytes(input.size());
  std::memcpy(bytes.span().data(), input.data(), input.size());
  std::span<const std::byte> rest = bytes.span();
  while (const auto column = encoding::take_column<T>(rest, count)) {
    Exactly<T> plainly(count), decoded(count);
    encoding::decode_plainly(*column, plainly.span().data());
    encoding::decode(*column, decoded.span().data());
    require(plainly == decoded, "both decoders give the same values");
  }
  require(rest.size() <= input.size(), "no more bytes than there are");
}

template <typename T>
void check_values(std::string_view input) {
  const std::size_t count = std::min<std::size_t>(input.size() / sizeof(T), 4096);
  if (count == 0) return;
  Exactly<T> values(count), decoded(count);
  std::memcpy(values.span().data(), input.data(), count * sizeof(T));
  std::vector<std::byte> bytes;
  encoding::ColumnEncoder().encode(std::span<const T>(values.span()), bytes);
  require(bytes.size() <= encoding::most_column_bytes(count, sizeof(T)), "the most bytes of a column");
  bytes.resize(bytes.size() + encoding::kReadAhead);
  std::span<const std::byte> rest(bytes);
  const auto column = encoding::take_column<T>(rest, count);
  require(column && rest.size() == encoding::kReadAhead, "a column of its length");
  encoding::decode(*column, decoded.span().data());
  require(values == decoded, "the same bits");
}

void check_bytes_of_texts(std::string_view input, std::size_t count) {
  Exactly<std::byte> bytes(input.size());
  std::memcpy(bytes.span().data(), input.data(), input.size());
  std::span<const std::byte> rest = bytes.span();
  while (const auto texts = encoding::take_texts(rest, count)) {
    require(texts->ends.size() == count && std::ranges::is_sorted(texts->ends), "ends that ascend");
    require(
        texts->packed.empty() || texts->packed.size() >= encoding::fewest_packed_bytes(texts->text_bytes()),
        "no fewer than promised");
    Exactly<std::byte> text(texts->text_bytes());
    static_cast<void>(encoding::unpack(*texts, text.span().data()));
  }
  require(rest.size() <= input.size(), "no more bytes than there are");
}

// The texts end at letters, so that few bytes make many of them.
void check_texts(std::string_view input) {
  Exactly<std::byte> text(input.size());
  std::memcpy(text.span().data(), input.data(), input.size());
  std::vector<std::uint32_t> ends;
  for (std::size_t i = 0; i < input.size(); ++i)
    if (input[i] % 4 == 0) ends.push_back(static_cast<std::uint32_t>(i + 1));
  ends.push_back(static_cast<std::uint32_t>(input.size()));
  std::vector<std::byte> bytes;
  encoding::encode_texts(ends, text.span().data(), bytes);
  bytes.resize(bytes.size() + encoding::kReadAhead);
  std::span<const std::byte> rest(bytes);
  const auto texts = encoding::take_texts(rest, ends.size());
  require(texts && texts->ends == ends && rest.size() == encoding::kReadAhead, "the same ends");
  Exactly<std::byte> unpacked(input.size());
  require(encoding::unpack(*texts, unpacked.span().data()) && unpacked == text, "the same texts");
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::string encoded(const std::vector<T>& values) {
  std::vector<std::byte> bytes;
  encoding::ColumnEncoder().encode(std::span<const T>(values), bytes);
  bytes.resize(bytes.size() + encoding::kReadAhead);
  return bytes_of(bytes);
}

std::string encoded_texts(std::size_t count, const std::string& text) {
  std::vector<std::uint32_t> ends;
  std::string all;
  while (ends.size() < count) {
    all += text + std::to_string(ends.size() % 3);
    ends.push_back(static_cast<std::uint32_t>(all.size()));
  }
  std::vector<std::byte> bytes;
  encoding::encode_texts(ends, std::as_bytes(std::span(all)).data(), bytes);
  bytes.resize(bytes.size() + encoding::kReadAhead);
  return bytes_of(bytes);
}

// An input: what to check, a number of rows, then values or a column.
std::string input_of(int check, std::size_t count, const std::string& rest) {
  return std::string{static_cast<char>(check), static_cast<char>(count)} + rest;
}

}  // namespace

std::vector<std::string> seed_inputs() {
  std::vector<std::string> seeds;
  for (const std::size_t count : {1u, 2u, 30u, 96u}) {
    std::vector<double> prices, mixed, thirds;
    std::vector<std::int64_t> ids, steps;
    for (std::size_t row = 0; row < count; ++row) {
      prices.push_back(static_cast<double>(row * 37 % 101) / 100);
      mixed.push_back(row % 7 == 0 ? 1.0 / static_cast<double>(row + 3) : prices.back());
      thirds.push_back(static_cast<double>(row) / 3);
      ids.push_back(static_cast<std::int64_t>(row * 7919 % 1000));
      steps.push_back(static_cast<std::int64_t>(row * 1000000));
    }
    for (const auto& values : {prices, mixed, thirds}) {
      seeds.push_back(input_of(0, count, encoded(values)));
      seeds.push_back(input_of(3, count, bytes_of(values)));
      const std::vector<float> floats(values.begin(), values.end());
      seeds.push_back(input_of(1, count, encoded(floats)));
      seeds.push_back(input_of(4, count, bytes_of(floats)));
    }
    for (const auto& values : {ids, steps}) {
      seeds.push_back(input_of(2, count, encoded(values)));
      seeds.push_back(input_of(5, count, bytes_of(values)));
    }
    for (const char* text : {"", "a", "Grand Hotel of many words "}) {
      seeds.push_back(input_of(6, count, encoded_texts(count, text)));
      seeds.push_back(input_of(7, count, text + std::string(count, 'd') + text));
    }
  }
  return seeds;
}

std::vector<std::string> tokens() {
  std::vector<std::string> all;
  for (int form = 0; form < 32; ++form) {
    all.emplace_back(1, static_cast<char>(form));
    all.emplace_back(1, static_cast<char>(form | encoding::kDeltas));
  }
  for (const double value : {0.0, -0.0, 1e22, 0x1p49, 0x1p51, 0x1p-1074, 1.0 / 3, HUGE_VAL, -HUGE_VAL})
    all.push_back(bytes_of(std::vector<double>{value}));
  return all;
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const int check = take_byte(input) % 8;
  const std::size_t count = take_byte(input);
  if (check == 0) check_bytes<double>(input, count);
  if (check == 1) check_bytes<float>(input, count);
  if (check == 2) check_bytes<std::int64_t>(input, count);
  if (check == 3) check_values<double>(input);
  if (check == 4) check_values<float>(input);
  if (check == 5) check_values<std::int64_t>(input);
  if (check == 6) check_bytes_of_texts(input, count);
  if (check == 7) check_texts(input);
  return 0;
}
