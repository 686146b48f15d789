#include "table/decompress.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <random>
#include <string>

#include "culmen/error.h"
#include "tests/table/reader_testing.h"

namespace culmen::io {
namespace {

using culmen::testing::error_of;
using Decompress = std::unique_ptr<ByteSource> (*)(std::unique_ptr<ByteSource>, std::string);

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string bzip2(const std::string& text) {
  std::string out(text.size() + text.size() / 100 + 600, '\0');
  auto size = static_cast<unsigned>(out.size());
  EXPECT_EQ(BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()),
                                     static_cast<unsigned>(text.size()), 9, 0, 0),
            BZ_OK);
  out.resize(size);
  return out;
}

std::string xz(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

// Reads in steps of `step` bytes until the end.
std::string read_all(Decompress decompress, const std::string& compressed, std::size_t step) {
  const auto source = decompress(std::make_unique<MemorySource>(compressed), "t.csv.z");
  std::string text;
  std::string buffer(step, '\0');
  for (;;) {
    const std::size_t got = source->read(buffer.data(), step);
    text.append(buffer, 0, got);
    if (got < step) return text;
  }
}

std::string random_text(std::size_t num_bytes) {
  std::mt19937_64 random(7);
  std::string text;
  while (text.size() < num_bytes) text += std::to_string(random() % 100000) + ",";
  return text;
}

struct Codec {
  const char* name;
  std::string (*compress)(const std::string&);
  Decompress decompress;
};

class Decompression : public ::testing::TestWithParam<Codec> {};

TEST_P(Decompression, ReturnsWhatWasCompressedInStepsOfAnySize) {
  const std::string text = random_text(1 << 20);
  const std::string compressed = GetParam().compress(text);
  for (const std::size_t step : {std::size_t{1000}, std::size_t{65536}, text.size(), text.size() + 1}) {
    EXPECT_EQ(read_all(GetParam().decompress, compressed, step), text) << step;
  }
}

TEST_P(Decompression, ReadsMembersOneAfterTheOther) {
  const auto compress = GetParam().compress;
  EXPECT_EQ(read_all(GetParam().decompress, compress("a,b\n") + compress("") + compress("1,2\n"), 3),
            "a,b\n1,2\n");
}

TEST_P(Decompression, RefusesDataThatIsCutShortAtAnyByte) {
  const std::string compressed = GetParam().compress("a,b\n1,2\n3,4\n");
  for (std::size_t size = 0; size < compressed.size(); ++size) {
    const std::string error =
        error_of<InputError>([&] { read_all(GetParam().decompress, compressed.substr(0, size), 100); });
    EXPECT_NE(error.find("data is cut short at byte " + std::to_string(size)), std::string::npos) << error;
  }
}

TEST_P(Decompression, RefusesOtherBytesInFrontAndBehind) {
  const std::string compressed = GetParam().compress("a,b\n");
  for (const std::string& bytes : {"junk" + compressed, compressed + "junkjunkjunk"}) {
    const std::string error = error_of<InputError>([&] { read_all(GetParam().decompress, bytes, 100); });
    EXPECT_NE(error.find("data is damaged"), std::string::npos) << error;
    EXPECT_NE(error.find("t.csv.z: "), std::string::npos) << error;
  }
}

TEST_P(Decompression, ReportsProgressInBytesOfTheFile) {
  const std::string compressed = GetParam().compress(random_text(1 << 20));
  const auto source = GetParam().decompress(std::make_unique<MemorySource>(compressed), "t");
  EXPECT_EQ(source->progress().total_bytes, compressed.size());
  std::string buffer(2 << 20, '\0');
  source->read(buffer.data(), buffer.size());
  EXPECT_EQ(source->progress().done_bytes, compressed.size());
}

INSTANTIATE_TEST_SUITE_P(Codecs, Decompression,
                         ::testing::Values(Codec{"gzip", gzip, decompress_gzip},
                                           Codec{"zstd", zstd, decompress_zstd},
                                           Codec{"bzip2", bzip2, decompress_bzip2},
                                           Codec{"xz", xz, decompress_xz}),
                         [](const auto& codec) { return codec.param.name; });

}  // namespace
}  // namespace culmen::io
