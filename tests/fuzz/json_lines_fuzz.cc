// JSON Lines (tests/fuzz/text_tables.h).
#include <memory>

#include "table/byte_source.h"
#include "tests/fuzz/text_tables.h"

namespace culmen::fuzz {
namespace {

class JsonLines : public TextFormat {
 public:
  Table read(std::string_view text, const ReadOptions& options, const io::CsvTuning& tuning) const override {
    return io::read_json_lines(std::make_unique<io::MemorySource>(text), "fuzz", options, tuning);
  }
  void read_in_batches(std::string_view text, const ReadOptions& options, const BatchOptions& batches,
                       const std::function<void(const TableBatch&)>& take,
                       const io::CsvTuning& tuning) const override {
    io::read_json_lines_in_batches(std::make_unique<io::MemorySource>(text), "fuzz", options, batches, take,
                                   tuning);
  }
};

}  // namespace

std::vector<std::string> seed_inputs() {
  const std::string sizes = "\x07";
  const std::string plain = "{\"a\":1,\"b\":2}\n{\"b\":-4e-2,\"a\":3.5}\n";
  const std::string full =
      "{\"id\":1,\"name\":\"x\",\"a\":2}\n\n{\"id\": 2, \"name\": \"q, \\\"r\\u00fc\\n\", \"a\": 3 }\r\n"
      "{\"id\":3,\"name\":null,\"a\":4}";
  return {std::string(1, '\0') + sizes + plain,
          "\x06" + sizes + full,
          "\x0E" + sizes + full,
          "\x08" + sizes + "{\"a\":1,\"t\":true,\"d\":\"2025-06-01\",\"o\":{\"x\":[1,{}]}}\n{\"a\":2}\n",
          "\x48" + sizes +
              "{\"a\":1,\"b\":2}\nx\n{\"a\":\"4\"}\n[1]\n{\"a\":1}2\n{\"a\":nul}\n{\"a\":7,\"a\":8}\n",
          "\x01" + sizes + "{\"a\":1,\"b\":null}\n{\"a\":9007199254740993,\"b\":1e999}\n",
          std::string(1, '\0') + sizes + "\xEF\xBB\xBF" + plain};
}

std::vector<std::string> tokens() {
  return {"{",
          "}",
          "{\"a\":",
          "\"a\":1",
          ",",
          ":",
          "\"",
          "\\\"",
          "\\u00e9",
          "\\ud83d\\ude00",
          "\\ud83d",
          "\\n",
          "\n",
          "\r\n",
          "null",
          "true",
          "false",
          "[1,2]",
          "{}",
          "[",
          "]",
          "-0",
          "1e999",
          "1e-999",
          "0x1",
          "NaN",
          "9007199254740993",
          "9223372036854775808",
          "18446744073709551615",
          "\"2025-06-01\"",
          "\"1,5\"",
          "\"\"",
          "id",
          "name",
          std::string(1, '\0'),
          "\xC3",
          "\xC3\xBC",
          "\x1E",
          " ",
          "\t"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  check_input(data, size, [](std::uint8_t) { return JsonLines(); });
  return 0;
}
