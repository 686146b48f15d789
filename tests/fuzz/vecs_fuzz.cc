// Readers of fvecs and fbin: any input gives a valid table or a culmen::Error. The first byte of an input chooses the
// format and the options, the rest is the file.
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tests/fuzz/check_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {

std::vector<std::string> seed_inputs() {
  const std::string one("\0\0\x80\x3F", 4);
  const std::string nan("\0\0\xC0\x7F", 4);
  const std::string length("\2\0\0\0", 4);
  const std::string rows("\3\0\0\0", 4);
  const std::string wide(4, '\0');
  std::string fvecs, values;
  for (int row = 0; row < 3; ++row) fvecs += length + one + one;
  for (int i = 0; i < 6; ++i) values += one;
  return {std::string(1, '\0') + fvecs, "\2" + fvecs + length + one + nan + fvecs,
          "\1" + rows + length + values, "\1" + rows + wide + length + wide + values,
          "\3" + rows + length + values.substr(4) + nan};
}

std::vector<std::string> tokens() {
  return {std::string(4, '\0'),           std::string(4, '\xFF'),       std::string("\1\0\0\0", 4),
          std::string("\2\0\0\0", 4),     std::string("\3\0\0\0", 4),   std::string("\0\0\xC0\x7F", 4),
          std::string("\0\0\x80\xFF", 4), std::string("\0\0\0\x80", 4), std::string("\0\x10\0\0", 4)};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::uint8_t choice = take_byte(input);
  culmen::ReadOptions options;
  options.num_threads = 1;
  if (choice & 2) options.nulls = culmen::NullPolicy::drop;
  if (choice & 4) options.attributes = {{"a1"}};
  try {
    check_table(choice & 1 ? culmen::parse_fbin(input, "fuzz", options)
                           : culmen::parse_fvecs(input, "fuzz", options));
  } catch (const culmen::Error&) {  // allowed
  }
  return 0;
}
