// gzip and zstd: any input gives text or an error, and the same text for every read size.
#include <memory>

#include "culmen/error.h"
#include "table/decompress.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;  // a few bytes can stand for gigabytes

std::string read(std::string_view compressed, bool gzip, std::size_t step) {
  std::string text;
  try {
    auto file = std::make_unique<io::MemorySource>(compressed);
    const auto source =
        gzip ? io::decompress_gzip(std::move(file), "fuzz") : io::decompress_zstd(std::move(file), "fuzz");
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
  // "a,b\n1,2\n" by gzip and by zstd.
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xd4\x49\xe2\x32\xd4\x31\xe2\x02\x00\x7b\x07\x97\x0a\x08"
      "\x00\x00\x00",
      28);
  const std::string zstd("\x28\xb5\x2f\xfd\x00\x58\x41\x00\x00\x61\x2c\x62\x0a\x31\x2c\x32\x0a", 17);
  return {"\1" + gzip, "\1" + gzip + gzip, std::string(1, '\0') + zstd, std::string(1, '\0') + zstd + zstd};
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
  const bool gzip = choice & 1;
  require(read(input, gzip, kMaxTextBytes) == read(input, gzip, 1u + choice),
          "the same text in steps of any size");
  return 0;
}
