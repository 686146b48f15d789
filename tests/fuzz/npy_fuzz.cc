// NPY: any input gives a valid table or an error.
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tests/fuzz/check_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

// An input of this target: a byte of options, then a file.
std::string npy_input(char options, const std::string& descr, const std::string& order,
                      const std::string& shape, const std::string& values) {
  const std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  std::string bytes(1, options);
  bytes += std::string("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + values;
}

}  // namespace

std::vector<std::string> seed_inputs() {
  const std::string zeros(24, '\0');
  const std::string nan_first = "\xFF\xFF\xFF\x7F" + std::string(20, '\x3F');
  const std::string rising = std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24);
  return {npy_input(0, "<f4", "False", "(2, 3)", zeros),     npy_input(0, "<f4", "True", "(3, 2)", zeros),
          npy_input(1, "<f4", "False", "(3, 2)", nan_first), npy_input(1, "<f4", "True", "(3, 2)", nan_first),
          npy_input(0, "<f8", "False", "(3,)", zeros),       npy_input(0, "<i4", "False", "(6, 1)", zeros),
          npy_input(4, "<i8", "False", "(1, 3)", rising),    npy_input(6, "<i8", "True", "(3, 1)", rising),
          npy_input(0, "<f8", "False", "(0, 3)", "")};
}

std::vector<std::string> tokens() {
  return {"\x93NUMPY",
          "'descr'",
          "'fortran_order'",
          "'shape'",
          "True",
          "False",
          "<f4",
          "<f8",
          "<i4",
          "<i8",
          ">f4",
          "|O",
          "(",
          ")",
          ",",
          "{",
          "}",
          "'",
          "\"",
          "1",
          "2, ",
          "18446744073709551615",
          "4611686018427387904",
          "L",
          " ",
          "\n",
          std::string(8, '\xFF'),
          std::string(8, '\0'),
          "\xFF\xFF\xFF\x7F",
          std::string("\0\0\x80\x7F", 4)};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::uint8_t choice = take_byte(input);
  culmen::ReadOptions options;
  options.num_threads = 1;
  if (choice & 1) options.nulls = culmen::NullPolicy::drop;
  if (choice & 2) options.attributes = {{"a0"}};
  if (choice & 4) options.id_column = "a0";
  try {
    check_table(culmen::parse_npy(input, "fuzz", options));
  } catch (const culmen::Error&) {  // that is an answer too
  }
  return 0;
}
