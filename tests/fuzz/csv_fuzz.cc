// CSV (tests/fuzz/text_tables.h).
#include "table/byte_source.h"
#include "tests/fuzz/text_tables.h"

namespace culmen::fuzz {
namespace {

class Csv : public TextFormat {
 public:
  explicit Csv(char delimiter) : delimiter_(delimiter) {}

  Table read(std::string_view text, const ReadOptions& options, const io::CsvTuning& tuning) const override {
    io::MemorySource source(text);
    return io::read_csv(source, "fuzz", options, delimiter_, tuning);
  }
  void read_in_batches(std::string_view text, const ReadOptions& options, const BatchOptions& batches,
                       const std::function<void(const TableBatch&)>& take,
                       const io::CsvTuning& tuning) const override {
    io::MemorySource source(text);
    io::read_csv_in_batches(source, "fuzz", options, delimiter_, batches, take, tuning);
  }

 private:
  char delimiter_;
};

}  // namespace

std::vector<std::string> seed_inputs() {
  const std::string sizes = "\x07";
  const std::string plain = "a,b\n1,2\n3.5,-4e-2\n";
  const std::string full = "id,name,a\n1,x,2\n2,\"q, \"\"r\"\"\n\",+3\r\n3,,\"4\"\n";
  return {std::string(1, '\0') + sizes + plain,
          "\x01" + sizes + "a,b\r\n1,\r\nnan,2\r\n3,4\r\n",
          "\x06" + sizes + full,
          "\x07" + sizes + full,
          "\x0E" + sizes + full,
          "\x10" + sizes + "a\tb\n1\t2\n",
          std::string(1, '\0') + sizes + "\xEF\xBB\xBF" + plain,
          std::string(1, '\0') + sizes + "a,d,t\n1,2025-06-01,2025-06-01 12:30:00\n,,\n",
          std::string(1, '\0') + sizes + "preis;rate\n1.234,50;12 %\n\n-;0,23\n",
          std::string(1, '\0') + sizes + "1.5|2\n3|\"1,234\"\n",
          "\x48" + sizes + "a,b\n1,2\nx,3\n4\n5,\"p\"q\n6,\"open\n7,31/12/2024\n",
          "\x08" + sizes + "a,d,t\n1,true,2025-06-01T12:30:00.5Z\nNA,x,2025-06-01T12:30+02:00\n"};
}

std::vector<std::string> tokens() {
  return {"\"",
          "\"\"",
          ",",
          "\n",
          "\r\n",
          "\r",
          "\t",
          std::string(1, '\0'),
          "\xEF\xBB\xBF",
          "\xFF\xFE",
          "nan",
          "-inf",
          "1e999",
          "1e-999",
          "-0",
          "9007199254740993",
          "-9223372036854775808",
          "9223372036854775808",
          "id",
          "name",
          "a",
          " ",
          "+",
          "-",
          ".",
          "e",
          "\xC3",
          "\xC3\xBC",
          "\"\n\"",
          "1,2\n",
          "0x1p3",
          "2025-06-01",
          "2025-06-01 12:30:00",
          ".000001",
          "Z",
          "true",
          "NA",
          ";",
          "|",
          "1.234",
          "1,5",
          "31.12.2024",
          "12/31/2024 2:30 PM",
          "'",
          "%",
          "$",
          "\xE2\x82\xAC",
          "\xC2\xA0",
          "\n\n"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  check_input(data, size, [](std::uint8_t choice) { return Csv(choice & 16 ? '\t' : ','); });
  return 0;
}
