// The manifest and CURRENT: any text, in CURRENT with its checksum recomputed or not, gives an error or a valid value.
// Some inputs also write that value and read the same one back. Most random bytes are not JSON, so an input may also be
// a list of values that replace those of a good manifest.
#include <array>
#include <cctype>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "index/storage/manifest.h"
#include "index/storage/store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::fuzz {
namespace {

using namespace storage;

// Bits of an input's first byte: the text is CURRENT, not a manifest; its checksum is recomputed; the rest is the
// number of a manifest and edits of it.
constexpr std::uint8_t kCurrent = 1, kGoodChecksum = 2, kEdits = 4;

// Replaces a value or a name by one of kValues or by another value of the text.
struct Edit {
  std::uint8_t position_low, position_high;  // of the value
  std::uint8_t value;                        // kOfName: that of a name; beyond kValues: that of a position
};
static_assert(sizeof(Edit) == 3);
constexpr std::uint8_t kOfName = 128;

constexpr std::array<std::string_view, 62> kValues = {
    "0",
    "1",
    "2",
    "3",
    "15",
    "16",
    "17",
    "32",
    "64",
    "65",
    "4096",
    "4112",
    "-1",
    "-1074",
    "-1075",
    "1000",
    "1001",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "4611686018427387904",
    "4611686018427387905",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "999999999999999999",
    "1000000000000000000",
    "0.5",
    "1e300",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[1,2,3]",
    "[{\"nodes\":1},{\"nodes\":1}]",
    "\"\"",
    "\"\\u0000\"",
    "\"1.8p+1\"",
    "\"-1.fffffffffffffp+1023\"",
    "\"1p-1074\"",
    "\"inf\"",
    "\"random\"",
    "\"text\"",
    "\"boolean\"",
    "\"timestamp\"",
    "\"floating\"",
    "\"stored\"",
    "\"filter\"",
    "\"number\"",
    "\"refuse\"",
    "\"second\"",
    "\"a0\"",
    "[\"0p+0\"]",
    "[\"0p+0\",\"-0p+0\"]",
    "2147483649",
    "1099511627777",
    "\"00000000000000000000000000000000\"",
};

constexpr std::size_t kChecksumDigits = 16;
constexpr std::size_t kOneWrittenIn = 8;  // writing and reading again costs thrice what reading does

std::string hex_of(std::uint64_t value) {
  std::string digits(kChecksumDigits, '0');
  for (std::size_t i = digits.size(); i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
  return digits;
}

// The text as a line, followed by its checksum.
void make_good(std::string& text) {
  const std::size_t end_bytes = std::min(text.size(), kChecksumDigits + 1);
  text.resize(text.size() - end_bytes);
  text += hex_of(checksum_of(std::as_bytes(std::span(text)))) + "\n";
}

void check_current(const std::string& text) {
  const Current current = parse_current(text, "CURRENT");
  require(to_text(current) == text, "CURRENT has one form");
  require(looks_like_current(text), "CURRENT looks like one");
}

void check_manifest(const std::string& text) {
  const Manifest manifest = parse_manifest(text, "MANIFEST-1");
  require(manifest.leaf_rows >= 16 && manifest.leaf_rows % 16 == 0, "rows of a leaf");
  require(manifest.stats.size() == manifest.attributes.size(), "stats of each attribute");
  require(manifest.units.size() == manifest.attributes.size(), "a unit of each attribute");
  require(manifest.dictionaries.size() == manifest.fields.size(), "room for the dictionary of each field");
  require(manifest.dictionary_sizes.size() == manifest.fields.size(),
          "sizes of the dictionary of each field");
  require(manifest.stand_ins.empty() || manifest.stand_ins.size() == manifest.attributes.size(), "stand-ins");
  if (checksum_of(std::as_bytes(std::span(text))) % kOneWrittenIn != 0) return;
  const std::string written = to_text(manifest);
  require(to_text(parse_manifest(written, "MANIFEST-1")) == written, "a manifest says what was read");
}

// A good manifest, and the positions of its values and names.
struct Base {
  struct Position {
    std::size_t start, end;
  };
  std::string manifest, current;
  std::vector<Position> values, names;
};

void find_positions(Base& base) {
  const std::string& text = base.manifest;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c != '"' && c != '-' && std::isalnum(c) == 0) {
      ++at;
      continue;
    }
    const std::size_t end = c == '"' ? text.find('"', at + 1) + 1 : text.find_first_of(",]} \n", at);
    (text[end] == ':' ? base.names : base.values).push_back({at, end});
    at = end;
  }
}

std::string text_in(const MemoryFileSystem& system, const char* name) {
  const auto files = system.files("index");
  const Bytes& bytes = files.at(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::vector<Base>& bases() {
  static const std::vector<Base> all = [] {
    const Shape shapes[] = {
        {.rows = 0, .attributes = 1},
        {.rows = 3, .attributes = 1, .labels = false},
        {.rows = 3, .attributes = 1, .float64 = true},
        {.rows = 300, .attributes = 2, .partitioning = Partitioning::random, .partitions = 2},
        {.rows = 30, .attributes = 2, .labels = false, .fields = 8, .gaps = true},
        {.rows = 30, .attributes = 1, .gaps = true},
    };
    std::vector<Base> made;
    for (const Shape& shape : shapes) {
      MemoryFileSystem system;
      save(*make_snapshot(shape), system, "index", false);
      made.push_back({text_in(system, "MANIFEST-1"), text_in(system, "CURRENT"), {}, {}});
      find_positions(made.back());
    }
    return made;
  }();
  return all;
}

std::string edited(std::string_view input) {
  const Base& base = bases()[take_byte(input) % bases().size()];
  std::string text = base.manifest;
  for (; input.size() >= sizeof(Edit); input.remove_prefix(sizeof(Edit))) {
    Edit edit;
    std::memcpy(&edit, input.data(), sizeof edit);
    const std::vector<Base::Position>& positions = (edit.value & kOfName) != 0 ? base.names : base.values;
    const std::size_t number = edit.position_low + 256u * edit.position_high;
    const Base::Position& position = positions[number % positions.size()];
    const std::size_t value = edit.value % kOfName;
    const Base::Position& other = positions[(number + value) % positions.size()];
    const std::string_view by =
        value < kValues.size() && (edit.value & kOfName) == 0
            ? kValues[value]
            : std::string_view(base.manifest).substr(other.start, other.end - other.start);
    // An edit moves the positions after it: only values still at their position are replaced.
    const std::string_view old =
        std::string_view(base.manifest).substr(position.start, position.end - position.start);
    const std::size_t after = base.manifest.size() - position.end;
    if (text.size() < after + old.size()) continue;
    const std::size_t at = text.size() - after - old.size();
    if (text.compare(at, old.size(), old) == 0) text.replace(at, old.size(), by);
  }
  return text;
}

std::string edit_bytes(std::size_t position, std::size_t value) {
  return {static_cast<char>(position), static_cast<char>(position >> 8), static_cast<char>(value)};
}

}  // namespace

std::vector<std::string> seed_inputs() {
  std::vector<std::string> seeds;
  std::mt19937 random(1);
  for (std::size_t number = 0; number < bases().size(); ++number) {
    const Base& base = bases()[number];
    seeds.push_back(std::string(1, '\0') + base.manifest);
    seeds.push_back(static_cast<char>(kCurrent | (number % 2 == 0 ? kGoodChecksum : 0)) + base.current);
    const std::string start = {static_cast<char>(kEdits), static_cast<char>(number)};
    for (std::size_t position = 0; position < base.values.size(); position += 8)
      seeds.push_back(start + edit_bytes(position, random() % kValues.size()));
  }
  return seeds;
}

std::vector<std::string> tokens() {
  std::vector<std::string> all = {"{",
                                  "}",
                                  "[",
                                  "]",
                                  ",",
                                  ":",
                                  "\"",
                                  "\\",
                                  "\\u0000",
                                  "\\ud800",
                                  "\xC3",
                                  "\xEF\xBB\xBF",
                                  "null",
                                  "true",
                                  "false",
                                  "0",
                                  "-0",
                                  "-1",
                                  "1",
                                  "16",
                                  "4096",
                                  "4294967295",
                                  "4294967296",
                                  "4611686018427387904",
                                  "9223372036854775807",
                                  "9223372036854775808",
                                  "18446744073709551615",
                                  "18446744073709551616",
                                  "999999999999999999",
                                  "1000000000000000000",
                                  "-9223372036854775808",
                                  "-9223372036854775809",
                                  "1e308",
                                  "1e309",
                                  "0.5",
                                  "\"1.8p+1\"",
                                  "\"-1.fffffffffffffp+1023\"",
                                  "\"inf\"",
                                  "\"nan\"",
                                  "MANIFEST-2",
                                  "WAL-2",
                                  "WAL-999999999999999999",
                                  " ",
                                  "\n",
                                  std::string(1, '\0'),
                                  "[[[[[",
                                  "{\"nodes\":1}",
                                  "0123456789abcdef0123456789abcdef"};
  for (const char* name :
       {"format",  "format_version", "byte_order", "features",   "uuid",       "snapshot",
        "version", "next_id",        "log",        "number",     "attributes", "value_type",
        "labels",  "leaf_rows",      "fan_out",    "rows",       "leaves",     "levels",
        "nodes",   "partitioning",   "splits",     "partitions", "cuts",       "files",
        "kind",    "bytes",          "digest",     "quantum",    "minimum",    "unit_exponent",
        "fields",  "role",           "type",       "texts",      "text_bytes", "time_unit",
        "gaps",    "stand_ins",      "missing",    "id_name",    "time_zone",  "label_name"})
    all.push_back("\"" + std::string(name) + "\":");
  for (std::size_t position = 0; position < 64; ++position)
    all.push_back(edit_bytes(position, 7 * position % kOfName));
  return all;
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::uint8_t flags = take_byte(input);
  std::string text = (flags & kEdits) != 0 ? edited(input) : std::string(input);
  if ((flags & kGoodChecksum) != 0) make_good(text);
  try {
    if ((flags & kCurrent) != 0) {
      check_current(text);
    } else {
      check_manifest(text);
    }
  } catch (const culmen::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
