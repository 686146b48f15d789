#include "index/storage/manifest.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "culmen/error.h"
#include "index/storage/json.h"
#include "index/tree_height.h"

namespace culmen::storage {
namespace {

constexpr const char* kFormatName = "culmen index";
constexpr const char* kCurrentPrefix = "culmen-index ";
constexpr std::size_t kMaxDepth = 4;
// Values in the JSON text; each costs many times its bytes in memory once it is parsed.
constexpr std::size_t kMaxValues = 10'000;
constexpr std::uint64_t kMaxLeaves = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxRows = kMaxLeaves * kMaxLeafRows;
constexpr int kMaxUnitExponent = 1000;
constexpr std::uint64_t kMaxRoundedValues = std::uint64_t{1} << 62;

constexpr EnumNames<Preference, 2> kPreferences = {"preference",
                                                   {{{"high", Preference::high}, {"low", Preference::low}}}};
constexpr EnumNames<Partitioning, 3> kPartitionings = {
    "partitioning",
    {{{"kd", Partitioning::kd}, {"angle", Partitioning::angle}, {"random", Partitioning::random}}}};
constexpr EnumNames<ValueType, 2> kValueTypes = {
    "value type", {{{"float32", ValueType::float32}, {"float64", ValueType::float64}}}};

std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

std::string to_hex(const Digest& digest) {
  return to_hex(digest.high) + to_hex(digest.low);
}

// Exactly 16 lower-case digits: each value has one form, so no flipped bit goes unseen.
bool from_hex(std::string_view text, std::uint64_t& value) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
  return std::from_chars(text.data(), text.data() + text.size(), value, 16).ec == std::errc();
}

bool from_hex(std::string_view text, Digest& digest) {
  return text.size() == 32 && from_hex(text.substr(0, 16), digest.high) &&
         from_hex(text.substr(16), digest.low);
}

bool from_hex(std::string_view text, Uuid& uuid) {
  Digest halves;
  if (!from_hex(text, halves)) return false;
  for (std::size_t i = 0; i < uuid.size(); ++i)
    uuid[i] = static_cast<std::byte>((i < 8 ? halves.high : halves.low) >> (56 - i % 8 * 8));
  return true;
}

// "1.8p+1": the digits of a float64 to the last bit.
std::string to_hex_float(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::hex).ptr};
}

bool from_hex_float(const std::string& text, double& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::hex);
  return error == std::errc() && rest == end && std::isfinite(value);
}

// Reads members of one JSON object; each is there, of the type asked for and in its range, or FormatError.
class Members {
 public:
  Members(const JsonValue& object, const std::string& path, std::string name)
      : object_(object), path_(path), name_(std::move(name)) {
    if (object.kind != Kind::object) fail("is not an object");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(path_ + ": " + name_ + " " + what);
  }
  [[noreturn]] void fail_on(const char* key, const std::string& what) const {
    throw FormatError(path_ + ": \"" + key + "\" of " + name_ + " " + what);
  }

  const JsonValue& get(const char* key) const {
    const auto found = find(key, object_.values.begin());
    if (found == object_.values.end()) fail_on(key, "is missing");
    if (find(key, found + 1) != object_.values.end()) fail_on(key, "stands there twice");
    return *found;
  }
  bool has(const char* key) const { return find(key, object_.values.begin()) != object_.values.end(); }
  Members object(const char* key) const { return {get(key), path_, std::string("\"") + key + "\""}; }
  const std::vector<JsonValue>& array(const char* key, std::uint64_t max_size) const {
    const JsonValue& value = get(key);
    if (value.kind != Kind::array || value.values.size() > max_size)
      fail_on(key, "is not an array of at most " + std::to_string(max_size));
    return value.values;
  }
  std::int64_t integer(const char* key, std::int64_t min, std::int64_t max) const {
    return checked_integer(get(key), key, min, max);
  }
  std::uint64_t count(const char* key, std::uint64_t max, std::uint64_t min = 0) const {
    return static_cast<std::uint64_t>(
        integer(key, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max)));
  }
  std::vector<std::int64_t> integers(const char* key, std::uint64_t max_size, std::int64_t min,
                                     std::int64_t max) const {
    std::vector<std::int64_t> values;
    for (const JsonValue& value : array(key, max_size))
      values.push_back(checked_integer(value, key, min, max));
    return values;
  }
  bool boolean(const char* key) const {
    const JsonValue& value = get(key);
    if (value.kind != Kind::boolean) fail_on(key, "is neither true nor false");
    return value.boolean;
  }
  const std::string& text(const char* key) const {
    const JsonValue& value = get(key);
    if (value.kind != Kind::string) fail_on(key, "is not a string");
    return value.text;
  }
  double hex_float(const char* key) const {
    double value = 0;
    if (!from_hex_float(text(key), value)) fail_on(key, "is not a finite hexadecimal float");
    return value;
  }
  template <typename T>  // Uuid or Digest
  T hex(const char* key) const {
    T value{};
    if (!from_hex(text(key), value)) fail_on(key, "is not 32 hexadecimal digits");
    return value;
  }
  template <typename Enum, std::size_t N>
  Enum choice(const char* key, const EnumNames<Enum, N>& names) const {
    const std::optional<Enum> value = names.find(text(key));
    if (!value) fail_on(key, "is \"" + text(key) + "\", which this program does not know");
    return *value;
  }

 private:
  using Kind = JsonValue::Kind;
  using Position = std::vector<JsonValue>::const_iterator;

  Position find(const char* key, Position from) const {
    return std::find_if(from, object_.values.end(), [key](const JsonValue& m) { return m.key == key; });
  }

  std::int64_t checked_integer(const JsonValue& value, const char* key, std::int64_t min,
                               std::int64_t max) const {
    if (value.kind != Kind::integer || value.integer < min || value.integer > max)
      fail_on(key, "is not an integer from " + std::to_string(min) + " to " + std::to_string(max));
    return value.integer;
  }

  const JsonValue& object_;
  const std::string& path_;
  std::string name_;
};

// JSON as nlohmann::json::dump(1) writes it, without a document of its (index/storage/json.h says why).
std::string block_text(char open, char close, const std::vector<std::string>& items, std::size_t indent) {
  std::string text(1, open);
  for (const std::string& item : items)
    text += (text.size() > 1 ? ",\n" : "\n") + std::string(indent + 1, ' ') + item;
  if (!items.empty()) text += "\n" + std::string(indent, ' ');
  return text + close;
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump();
}

template <typename Enum, std::size_t N>
std::string quoted(const EnumNames<Enum, N>& names, Enum value) {
  return quoted(std::string(names.name(value)));
}

std::string number(std::integral auto value) {
  return std::to_string(value);
}

// `indent`: of the line on which it begins.
std::string array_text(const std::vector<std::string>& items, std::size_t indent) {
  return block_text('[', ']', items, indent);
}

std::string object_text(std::initializer_list<std::pair<const char*, std::string>> members,
                        std::size_t indent) {
  std::vector<std::string> items;
  for (const auto& [key, value] : members) items.push_back("\"" + std::string(key) + "\": " + value);
  return block_text('{', '}', items, indent);
}

std::string attribute_text(const Manifest& manifest, std::size_t i) {
  const AttributeStats& stats = manifest.stats[i];
  const Attribute& attribute = manifest.attributes[i];
  return object_text({{"maximum", quoted(to_hex_float(stats.maximum))},
                      {"minimum", quoted(to_hex_float(stats.minimum))},
                      {"name", quoted(attribute.name)},
                      {"preference", quoted(kPreferences, attribute.preference)},
                      {"quantum", number(stats.quantum)},
                      {"unit_exponent", number(manifest.units[i].exponent)},
                      {"unit_origin", quoted(to_hex_float(manifest.units[i].origin))}},
                     2);
}

void parse_attribute(const Members& members, Manifest& manifest) {
  Attribute attribute{members.text("name"), members.choice("preference", kPreferences)};
  AttributeStats stats;
  stats.minimum = members.hex_float("minimum");
  stats.maximum = members.hex_float("maximum");
  stats.quantum = static_cast<std::int32_t>(members.integer("quantum", -1074, kNoQuantum));
  if (!(stats.minimum <= stats.maximum)) members.fail("has a minimum above its maximum");
  BoundUnit unit;
  unit.origin = members.hex_float("unit_origin");
  unit.exponent = static_cast<int>(members.integer("unit_exponent", -kMaxUnitExponent, kMaxUnitExponent));
  unit.unit = std::ldexp(1.0, unit.exponent);
  unit.inverse = std::ldexp(1.0, -unit.exponent);
  if (attribute.name.empty()) members.fail("has an empty name");
  manifest.attributes.push_back(std::move(attribute));
  manifest.stats.push_back(stats);
  manifest.units.push_back(unit);
}

// Of the next level behind those that the manifest has.
std::uint64_t offset_of_level(const Manifest& manifest) {
  return fixed_extent(manifest.num_nodes(), node_bytes_of(manifest.layout), 0).offset;
}

std::string levels_text(const Manifest& manifest) {
  Manifest so_far = manifest;
  so_far.level_nodes.clear();
  std::vector<std::string> levels;
  for (std::uint64_t nodes : manifest.level_nodes) {
    levels.push_back(object_text({{"nodes", number(nodes)}, {"offset", number(offset_of_level(so_far))}}, 2));
    so_far.level_nodes.push_back(nodes);
  }
  return array_text(levels, 1);
}

std::string files_text(const Manifest& manifest) {
  std::vector<std::string> files;
  for (FileKind kind : kFileKinds) {
    if (kind == FileKind::labels && !manifest.has_labels) continue;
    const FileEntry& entry = manifest.file(kind);
    files.push_back(object_text({{"bytes", number(entry.bytes)},
                                 {"digest", quoted(to_hex(entry.digest))},
                                 {"kind", quoted(kFileKindNames, kind)},
                                 {"name", quoted(file_name(kind, manifest.snapshot.number))}},
                                2));
  }
  return array_text(files, 1);
}

std::string partitioning_text(const Manifest& manifest) {
  std::vector<std::string> splits;
  for (std::int32_t split : manifest.splits) splits.push_back(number(split));
  return object_text({{"cuts", number(manifest.num_cuts)},
                      {"kind", quoted(kPartitionings, manifest.partitioning)},
                      {"partitions", number(manifest.num_partitions)},
                      {"splits", array_text(splits, 2)}},
                     1);
}

std::string log_text(const LogName& log) {
  return object_text({{"number", number(log.number)}, {"uuid", quoted(hex_of(log.uuid))}}, 1);
}

std::string boolean(bool value) {
  return value ? "true" : "false";
}

void parse_files(const std::vector<JsonValue>& files, const std::string& path, Manifest& manifest) {
  std::set<FileKind> seen;
  for (const JsonValue& file : files) {
    const Members members(file, path, "a file");
    const FileKind kind = members.choice("kind", kFileKindNames);
    if (!seen.insert(kind).second) members.fail("stands there twice");
    // The name follows from kind and number: nothing in a manifest can lead to any other file.
    if (members.text("name") != file_name(kind, manifest.snapshot.number))
      members.fail("has a name that is not its own");
    manifest.file(kind) = {members.count("bytes", std::uint64_t{1} << 62), members.hex<Digest>("digest")};
  }
  if (seen.size() != kFileKinds.size() - (manifest.has_labels ? 0 : 1) ||
      (!manifest.has_labels && seen.count(FileKind::labels)))
    throw FormatError(path + ": the list of files is not complete");
}

// As many nodes on each level as can hold the one below, as high as a tree of so many leaves can be.
void parse_levels(const Members& all, const std::string& path, Manifest& manifest) {
  std::uint64_t below = manifest.num_leaves;
  for (const JsonValue& level : all.array("levels", static_cast<std::uint64_t>(most_levels(below)))) {
    const std::uint64_t nodes = Members(level, path, "a level").count("nodes", kMaxLeaves, 1);
    const bool is_first = manifest.level_nodes.empty();
    // Above nodes there is a level only to hold several of them.
    if (nodes > below || (below - 1) / kFanOut >= nodes || (!is_first && below == 1))
      all.fail_on("levels", "do not make a tree");
    const std::uint64_t offset = offset_of_level(manifest);
    if (Members(level, path, "a level").count("offset", std::numeric_limits<std::int64_t>::max()) != offset)
      all.fail_on("levels", "do not begin where the ones before them end");
    manifest.level_nodes.push_back(nodes);
    below = nodes;
  }
  const bool is_rooted = manifest.num_leaves == 0 ? below == 0 : !manifest.level_nodes.empty() && below == 1;
  if (!is_rooted || manifest.num_nodes() > kMaxLeaves) all.fail_on("levels", "do not make a tree");
}

void parse_partitioning(const Members& members, Manifest& manifest) {
  manifest.partitioning = members.choice("kind", kPartitionings);
  for (std::int64_t split : members.integers("splits", kMaxAttributes, 1, kMaxPartitions))
    manifest.splits.push_back(static_cast<std::int32_t>(split));
  manifest.num_partitions = members.count("partitions", kMaxPartitions, 1);
  manifest.num_cuts = members.count("cuts", kMaxPartitions);
  if (manifest.partitioning == Partitioning::random && !(manifest.splits.empty() && manifest.num_cuts == 0))
    members.fail("is random and yet has splits or cuts");
  // Each cut makes one part more.
  if (manifest.partitioning != Partitioning::random && manifest.num_cuts + 1 > manifest.num_partitions)
    members.fail("has a number of cuts that does not make its partitions");
}

void check_format(const Members& all) {
  if (all.text("format") != kFormatName) all.fail_on("format", "is not that of a culmen index");
  const std::int64_t version = all.integer("format_version", 1, std::numeric_limits<std::int32_t>::max());
  if (version != kFormatVersion)
    all.fail_on("format_version",
                "is " + std::to_string(version) + "; this program reads version " +
                    std::to_string(kFormatVersion) +
                    ": use the program that wrote it, or build the index again from its table");
  if (all.text("byte_order") != "little") all.fail_on("byte_order", "is not little");
  for (const JsonValue& feature : all.array("features", kMaxValues))
    all.fail_on("features", "asks for " + quoted(feature.text) + ", which this program does not have");
}

void check_names(const Manifest& manifest, const Members& all) {
  std::set<std::string> names;
  for (const Attribute& attribute : manifest.attributes)
    if (!names.insert(attribute.name).second)
      all.fail("has two attributes called \"" + attribute.name + "\"");
}

}  // namespace

std::uint64_t Manifest::num_nodes() const {
  return std::accumulate(level_nodes.begin(), level_nodes.end(), std::uint64_t{0});
}

std::uint64_t Manifest::file_bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const FileEntry& file) { return sum + file.bytes; });
}

Manifest describe(const Snapshot& snapshot) {
  Manifest manifest;
  manifest.metadata() = snapshot.metadata();
  manifest.rounded_values =
      std::min(manifest.rounded_values, kMaxRoundedValues);  // a log may claim any number
  manifest.num_leaves = snapshot.num_leaves;
  manifest.level_nodes.resize(static_cast<std::size_t>(snapshot.height));
  for (std::uint32_t node : snapshot.order().nodes)
    ++manifest.level_nodes[snapshot.node(node).header().level - 1];
  manifest.partitioning = snapshot.partitioner->kind();
  manifest.splits = snapshot.partitioner->splits();
  manifest.num_partitions = snapshot.partitioner->num_partitions();
  manifest.num_cuts = snapshot.partitioner->cuts().size();
  return manifest;
}

std::string to_text(const Manifest& manifest) {
  try {
    std::vector<std::string> attributes;
    for (std::size_t i = 0; i < manifest.attributes.size(); ++i)
      attributes.push_back(attribute_text(manifest, i));
    return object_text({{"attributes", array_text(attributes, 1)},
                        {"byte_order", quoted("little")},
                        {"exact_sums", boolean(manifest.exact_sums)},
                        {"fan_out", number(kFanOut)},
                        {"features", array_text({}, 1)},
                        {"files", files_text(manifest)},
                        {"format", quoted(kFormatName)},
                        {"format_version", number(kFormatVersion)},
                        {"index_uuid", quoted(hex_of(manifest.index_uuid))},
                        {"labels", boolean(manifest.has_labels)},
                        {"leaf_rows", number(manifest.leaf_rows)},
                        {"leaves", number(manifest.num_leaves)},
                        {"levels", levels_text(manifest)},
                        {"log", log_text(manifest.log)},
                        {"next_id", number(manifest.next_id)},
                        {"partitioning", partitioning_text(manifest)},
                        {"rounded_values", number(manifest.rounded_values)},
                        {"rows", number(manifest.num_rows)},
                        {"snapshot", number(manifest.snapshot.number)},
                        {"uuid", quoted(hex_of(manifest.snapshot.uuid))},
                        {"value_type", quoted(kValueTypes, manifest.value_type)},
                        {"version", number(manifest.version)}},
                       0) +
           "\n";
  } catch (const nlohmann::json::type_error&) {
    throw InvalidArgument("the name of an attribute is not UTF-8");
  }
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  const JsonValue document = parse_json(text, path, kMaxDepth, kMaxValues);
  const Members all(document, path, "the manifest");
  check_format(all);
  Manifest manifest;
  manifest.snapshot = {all.hex<Uuid>("uuid"), all.count("snapshot", kMaxNumber, 1)};
  // Earlier programs did not write it: then each snapshot counts as an index of its own.
  manifest.index_uuid = all.has("index_uuid") ? all.hex<Uuid>("index_uuid") : manifest.snapshot.uuid;
  manifest.version = all.count("version", kMaxVersion);
  manifest.next_id = all.integer("next_id", std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max());
  const Members log = all.object("log");
  manifest.log = {log.count("number", kMaxNumber, 1), log.hex<Uuid>("uuid")};
  for (const JsonValue& attribute : all.array("attributes", kMaxAttributes))
    parse_attribute(Members(attribute, path, "an attribute"), manifest);
  if (manifest.attributes.empty()) all.fail_on("attributes", "are missing");
  check_names(manifest, all);
  manifest.value_type = all.choice("value_type", kValueTypes);
  manifest.has_labels = all.boolean("labels");
  manifest.exact_sums = all.boolean("exact_sums");
  manifest.layout = BoundLayout(manifest.num_attributes());
  manifest.leaf_rows = static_cast<int>(all.integer("leaf_rows", 16, kMaxLeafRows));
  if (manifest.leaf_rows % 16 != 0) all.fail_on("leaf_rows", "is not a multiple of 16");
  all.integer("fan_out", kFanOut, kFanOut);
  manifest.num_rows = all.count("rows", kMaxRows);
  manifest.rounded_values = all.count("rounded_values", kMaxRoundedValues);
  manifest.num_leaves = all.count("leaves", kMaxLeaves);
  if (manifest.num_rows < manifest.num_leaves ||
      manifest.num_rows > manifest.num_leaves * manifest.leaf_shape().leaf_rows)
    all.fail_on("rows", "are not as many as its leaves can hold");
  parse_levels(all, path, manifest);
  parse_partitioning(all.object("partitioning"), manifest);
  parse_files(all.array("files", kFileKinds.size()), path, manifest);
  return manifest;
}

std::string to_text(const Current& current) {
  const std::string line = kCurrentPrefix + manifest_name(current.snapshot_number) + " " +
                           std::to_string(current.manifest_bytes) + " " + to_hex(current.manifest_digest) +
                           " " + log_name(current.log.number) + " " + std::to_string(current.log.bytes) +
                           " " + to_hex(current.log.chain) + " ";
  return line + to_hex(checksum_of(std::as_bytes(std::span(line)))) + "\n";
}

bool looks_like_current(const std::string& text) {
  return text.starts_with(kCurrentPrefix);
}

// Whether the line ends in a checksum of what stands before, as in every version of the format.
static bool ends_in_its_checksum(std::string_view text) {
  constexpr std::size_t kEndBytes = 16 + 1;  // the checksum's digits and the newline
  std::uint64_t checksum = 0;
  if (text.size() < kEndBytes || text.back() != '\n') return false;
  const std::string_view line = text.substr(0, text.size() - kEndBytes);
  return from_hex(text.substr(line.size(), 16), checksum) &&
         checksum == checksum_of(std::as_bytes(std::span(line)));
}

Current parse_current(const std::string& text, const std::string& path) {
  // Words are split off the checked line; that it is our own writing of them is checked by writing them
  // again.
  constexpr std::size_t kNumWords = 8;
  Current current;
  std::vector<std::string> words;
  for (std::size_t start = 0, end = 0; end != std::string::npos && words.size() < kNumWords;
       start = end + 1) {
    end = text.find_first_of(" \n", start);
    words.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  words.resize(kNumWords);
  const auto count_in = [](const std::string& word) {
    std::uint64_t count = 0;
    std::from_chars(word.data(), word.data() + word.size(), count);
    return count;
  };
  current.snapshot_number = snapshot_number_of(words[1]);
  current.manifest_bytes = count_in(words[2]);
  current.log = {log_number_of(words[4]), count_in(words[5]), 0};
  const bool good = from_hex(words[3], current.manifest_digest) && from_hex(words[6], current.log.chain) &&
                    current.snapshot_number > 0 && current.log.number > 0 &&
                    current.log.bytes >= sizeof(LogHeader) && current.manifest_bytes <= kMaxManifestBytes &&
                    to_text(current) == text;
  if (good) return current;
  if (looks_like_current(text) && ends_in_its_checksum(text))
    throw FormatError(path + ": this index is of another format than version " +
                      std::to_string(kFormatVersion) + ", which this program reads");
  throw_damaged(path, 0, "the line that names the manifest is damaged");
}

}  // namespace culmen::storage
