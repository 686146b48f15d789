// Readers, generators and writers must not depend on the floating-point modes of the host program.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/npy_reader.h"
#include "table/vecs_reader.h"
#include "tests/hostile_floating_point.h"
#include "tests/table/reader_testing.h"

namespace culmen {
namespace {

using testing::append_value;
using testing::column_of;

const std::vector<double> kValues = {0x1p-149, -0x1p-149, 0x1p-130, 0.0, 1.0, -3.5, 0x1p127, 0x1.8p-126};

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// Reads with changed modes; the values are compared with the usual ones.
template <typename Read>
std::vector<std::uint64_t> read_under_hostile_rules(const Read& read) {
  const Table table = [&] {
    const test::HostileFloatingPoint hostile;
    return read();
  }();
  return bits_of(column_of(table, 0));
}

template <typename T>
std::string npy(const char* descr, const std::vector<double>& values) {
  std::string header = std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(values.size()) + ", 1), }\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  append_value(bytes, static_cast<std::uint16_t>(header.size()));
  bytes += header;
  for (const double value : values) append_value(bytes, static_cast<T>(value));
  return bytes;
}

TEST(FloatingPointRules, OfTheHostChangeNoValueOfAMatrix) {
  std::string fvecs, fbin;
  append_value(fbin, static_cast<std::uint32_t>(kValues.size()));
  append_value(fbin, std::uint32_t{1});
  for (const double value : kValues) {
    append_value(fvecs, std::int32_t{1});  // read as a float, it is subnormal
    append_value(fvecs, static_cast<float>(value));
    append_value(fbin, static_cast<float>(value));
  }
  EXPECT_EQ(read_under_hostile_rules([&] { return parse_fvecs(fvecs, "t.fvecs"); }), bits_of(kValues));
  EXPECT_EQ(read_under_hostile_rules([&] { return parse_fbin(fbin, "t.fbin"); }), bits_of(kValues));
  const std::string narrow_npy = npy<float>("<f4", kValues);
  EXPECT_EQ(read_under_hostile_rules([&] { return parse_npy(narrow_npy, "t.npy"); }), bits_of(kValues));
  const std::vector<double> wide = {0x1p-1074, -0x1p-1074, 0x1p-1023, 0.1, 0x1p1023};
  const std::string wide_npy = npy<double>("<f8", wide);
  EXPECT_EQ(read_under_hostile_rules([&] { return parse_npy(wide_npy, "t.npy"); }), bits_of(wide));
}

TEST(FloatingPointRules, OfTheHostLetNoMinusZeroNorNanIn) {
  const test::HostileFloatingPoint hostile;
  const Table table = parse_npy(npy<float>("<f4", {-0.0, 1}), "t.npy");
  EXPECT_FALSE(std::signbit(column_of(table, 0)[0]));
  ReadOptions reject;
  reject.nulls = NullPolicy::reject;
  for (const double unfit :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -HUGE_VAL}) {
    EXPECT_THROW(parse_npy(npy<float>("<f4", {1, unfit}), "t.npy", reject), InputError);
    EXPECT_THROW(parse_npy(npy<double>("<f8", {1, unfit}), "t.npy", reject), InputError);
  }
}

TEST(FloatingPointRules, OfTheHostChangeNoNumberInText) {
  const std::string text = "a\n0.1\n-0.3\n4.9e-324\n-1e-310\n123456789.123\n1e22\n-0\n0.70000000000000001\n";
  const std::vector<double> wanted = {0.1, -0.3, 0x1p-1074, -1e-310, 123456789.123, 1e22, 0.0, 0.7};
  EXPECT_EQ(read_under_hostile_rules([&] { return parse_csv(text, "t.csv"); }), bits_of(wanted));
}

TEST(FloatingPointRules, OfTheHostChangeNoGeneratedTable) {
  for (const TableKind kind : {TableKind::anticorrelated, TableKind::zipf, TableKind::hotels}) {
    const GenerateOptions options{.kind = kind, .num_rows = 2000, .seed = 3};
    EXPECT_EQ(read_under_hostile_rules([&] { return generate_table(options); }),
              bits_of(column_of(generate_table(options), 0)));
  }
}

}  // namespace
}  // namespace culmen
