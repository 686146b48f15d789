// gzip, zstd, bzip2 and xz: any input gives text or an error, and the same text for every read size.
#include <iterator>
#include <memory>

#include "culmen/error.h"
#include "table/decompress.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;  // a few bytes can stand for gigabytes

using Decompress = std::unique_ptr<io::ByteSource> (*)(std::unique_ptr<io::ByteSource>, std::string);
constexpr Decompress kFormats[] = {io::decompress_zstd, io::decompress_gzip, io::decompress_bzip2,
                                   io::decompress_xz};

std::string read(std::string_view compressed, Decompress decompress, std::size_t step) {
  std::string text;
  try {
    auto file = std::make_unique<io::MemorySource>(compressed);
    const auto source = decompress(std::move(file), "fuzz");
    std::string buffer(step, '\0');
    while (text.size() < kMaxTextBytes) {
      const std::size_t got = source->read(buffer.data(), step);
      text.append(buffer, 0, got);
      if (got < step) return text;
    }
  } catch (const Error&) {
    return "an error";  // its byte offset may differ: a decompressor reads ahead as far as its buffer allows
  }
  return "long";
}

}  // namespace

std::vector<std::string> seed_inputs() {
  // "a,b\n1,2\n" by each of them.
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xd4\x49\xe2\x32\xd4\x31\xe2\x02\x00\x7b\x07\x97\x0a\x08"
      "\x00\x00\x00",
      28);
  const std::string zstd("\x28\xb5\x2f\xfd\x00\x58\x41\x00\x00\x61\x2c\x62\x0a\x31\x2c\x32\x0a", 17);
  const std::string bzip2(
      "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xbf\x87\x40\x7f\x00\x00\x03\x59\x00\x00\x10\x00\x04\x30"
      "\x00\x30\x00\x20\x00\x30\xc0\x08\x69\xb2\x88\x23\x27\x8b\xb9\x22\x9c\x28\x48\x5f\xc3\xa0\x3f\x80",
      48);
  // A damaged file, whose first text comes after all of the input has been read: megabytes of it.
  const std::string bzip2_run(
      "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xbf\x87\x40\x7f\x00\x00\x03\x59\x00\x00\x10\x00\x04\x30"
      "\x00\x30\x00\x20\x00\x30\xc0\x08\x69\xb2\x02\x00\xb5\x7b\xc3\xa0\x3f\xff\xff\xff\xff\xff\xff\xff"
      "\xff\x80",
      50);
  const std::string xz(
      "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3"
      "\x01\x00\x07\x61\x2c\x62\x0a\x31\x2c\x32\x0a\x00\xbe\x9c\xbd\x49\xb5\x12\x2a\xfe\x00\x01\x20\x08"
      "\xbb\x19\xd9\xbb\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a",
      64);
  return {"\1" + gzip,
          "\1" + gzip + gzip,
          std::string(1, '\0') + zstd,
          std::string(1, '\0') + zstd + zstd,
          "\2" + bzip2,
          "\2" + bzip2 + bzip2,
          "\2" + bzip2_run,
          "\3" + xz,
          "\3" + xz + xz};
}

std::vector<std::string> tokens() {
  return {"\x1f\x8b\x08", "\x28\xb5\x2f\xfd", std::string(4, '\0'), std::string(4, '\xFF'),
          "\x50\x2a\x4d\x18"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::uint8_t choice = take_byte(input);
  const Decompress decompress = kFormats[choice % std::size(kFormats)];
  require(read(input, decompress, kMaxTextBytes) == read(input, decompress, 1u + choice),
          "the same text in steps of any size");
  return 0;
}
