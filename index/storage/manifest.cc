#include "index/storage/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "culmen/error.h"
#include "index/storage/directory_files.h"
#include "index/storage/hex.h"
#include "index/storage/json_members.h"
#include "index/storage/json_text.h"
#include "index/tree_height.h"

namespace culmen::storage {
namespace {

constexpr const char* kFormatName = "culmen index";
constexpr std::size_t kMaxDepth = 4;
// Limits memory: a parsed value takes many times the bytes of its text.
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

std::string attribute_text(const Manifest& manifest, std::size_t i) {
  const AttributeStats& stats = manifest.stats[i];
  const Attribute& attribute = manifest.attributes[i];
  return json_object({{"maximum", json_string(to_hex_float(stats.maximum))},
                      {"minimum", json_string(to_hex_float(stats.minimum))},
                      {"name", json_string(attribute.name)},
                      {"preference", json_string(kPreferences, attribute.preference)},
                      {"quantum", json_number(stats.quantum)},
                      {"unit_exponent", json_number(manifest.units[i].exponent)},
                      {"unit_origin", json_string(to_hex_float(manifest.units[i].origin))}},
                     2);
}

void parse_attribute(const JsonMembers& members, Manifest& manifest) {
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

// The offset of the first node above the levels that the manifest has.
std::uint64_t offset_of_next_level(const Manifest& manifest) {
  return fixed_extent(manifest.num_nodes(), node_bytes_of(manifest.layout), 0).offset;
}

std::string levels_text(const Manifest& manifest) {
  Manifest so_far = manifest;
  so_far.level_nodes.clear();
  std::vector<std::string> levels;
  for (std::uint64_t nodes : manifest.level_nodes) {
    levels.push_back(json_object(
        {{"nodes", json_number(nodes)}, {"offset", json_number(offset_of_next_level(so_far))}}, 2));
    so_far.level_nodes.push_back(nodes);
  }
  return json_array(levels, 1);
}

std::string files_text(const Manifest& manifest) {
  std::vector<std::string> files;
  for (FileKind kind : kFileKinds) {
    if (kind == FileKind::labels && !manifest.has_labels) continue;
    const FileEntry& entry = manifest.file(kind);
    files.push_back(json_object({{"bytes", json_number(entry.bytes)},
                                 {"digest", json_string(to_hex(entry.digest))},
                                 {"kind", json_string(kFileKindNames, kind)},
                                 {"name", json_string(file_name(kind, manifest.snapshot.number))}},
                                2));
  }
  return json_array(files, 1);
}

std::string partitioning_text(const Manifest& manifest) {
  std::vector<std::string> splits;
  for (std::int32_t split : manifest.splits) splits.push_back(json_number(split));
  return json_object({{"cuts", json_number(manifest.num_cuts)},
                      {"kind", json_string(kPartitionings, manifest.partitioning)},
                      {"partitions", json_number(manifest.num_partitions)},
                      {"splits", json_array(splits, 2)}},
                     1);
}

std::string log_text(const LogName& log) {
  return json_object({{"number", json_number(log.number)}, {"uuid", json_string(hex_of(log.uuid))}}, 1);
}

void parse_files(const std::vector<JsonValue>& files, const std::string& path, Manifest& manifest) {
  std::set<FileKind> seen;
  for (const JsonValue& file : files) {
    const JsonMembers members(file, path, "a file");
    const FileKind kind = members.choice("kind", kFileKindNames);
    if (!seen.insert(kind).second) members.fail("appears twice");
    // Kind and number determine the name, so a manifest cannot refer to any other file.
    if (members.text("name") != file_name(kind, manifest.snapshot.number)) members.fail("has the wrong name");
    manifest.file(kind) = {members.count("bytes", std::uint64_t{1} << 62), members.hex<Digest>("digest")};
  }
  if (seen.size() != kFileKinds.size() - (manifest.has_labels ? 0 : 1) ||
      (!manifest.has_labels && seen.count(FileKind::labels)))
    throw FormatError(path + ": the list of files is incomplete");
}

// Each level has enough nodes to hold the level below, and at most one per child. The last level is the root. The
// number of leaves limits the height.
void parse_levels(const JsonMembers& all, const std::string& path, Manifest& manifest) {
  std::uint64_t below = manifest.num_leaves;
  for (const JsonValue& level : all.array("levels", static_cast<std::uint64_t>(most_levels(below)))) {
    const std::uint64_t nodes = JsonMembers(level, path, "a level").count("nodes", kMaxLeaves, 1);
    const bool is_first = manifest.level_nodes.empty();
    // No node has a single node as its only child.
    if (nodes > below || (below - 1) / kFanOut >= nodes || (!is_first && below == 1))
      all.fail_on("levels", "do not form a tree");
    const std::uint64_t offset = offset_of_next_level(manifest);
    if (JsonMembers(level, path, "a level").count("offset", std::numeric_limits<std::int64_t>::max()) !=
        offset)
      all.fail_on("levels", "have gaps or overlap");
    manifest.level_nodes.push_back(nodes);
    below = nodes;
  }
  const bool is_rooted = manifest.num_leaves == 0 ? below == 0 : !manifest.level_nodes.empty() && below == 1;
  if (!is_rooted || manifest.num_nodes() > kMaxLeaves) all.fail_on("levels", "do not form a tree");
}

void parse_partitioning(const JsonMembers& members, Manifest& manifest) {
  manifest.partitioning = members.choice("kind", kPartitionings);
  for (std::int64_t split : members.integers("splits", kMaxAttributes, 1, kMaxPartitions))
    manifest.splits.push_back(static_cast<std::int32_t>(split));
  manifest.num_partitions = members.count("partitions", kMaxPartitions, 1);
  manifest.num_cuts = members.count("cuts", kMaxPartitions);
  if (manifest.partitioning == Partitioning::random && !(manifest.splits.empty() && manifest.num_cuts == 0))
    members.fail("is random but has splits or cuts");
  // Each cut adds a partition.
  if (manifest.partitioning != Partitioning::random && manifest.num_cuts + 1 > manifest.num_partitions)
    members.fail("has more cuts than its partitions need");
}

void check_format(const JsonMembers& all) {
  if (all.text("format") != kFormatName) all.fail_on("format", "is not \"" + std::string(kFormatName) + "\"");
  const std::int64_t version = all.integer("format_version", 1, std::numeric_limits<std::int32_t>::max());
  if (version != kFormatVersion)
    all.fail_on("format_version",
                "is " + std::to_string(version) + "; this program reads version " +
                    std::to_string(kFormatVersion) +
                    ": use the program that wrote it, or build the index again from its table");
  if (all.text("byte_order") != "little") all.fail_on("byte_order", "is not little");
  for (const JsonValue& feature : all.array("features", kMaxValues))
    all.fail_on("features", "needs " + json_string(feature.text) + ", which this program does not have");
}

void check_names(const Manifest& manifest, const JsonMembers& all) {
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
  // A log may claim any number.
  manifest.rounded_values = std::min(manifest.rounded_values, kMaxRoundedValues);
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
  std::vector<std::string> attributes;
  for (std::size_t i = 0; i < manifest.attributes.size(); ++i)
    attributes.push_back(attribute_text(manifest, i));
  return json_object({{"attributes", json_array(attributes, 1)},
                      {"byte_order", json_string("little")},
                      {"exact_sums", json_boolean(manifest.exact_sums)},
                      {"fan_out", json_number(kFanOut)},
                      {"features", json_array({}, 1)},
                      {"files", files_text(manifest)},
                      {"format", json_string(kFormatName)},
                      {"format_version", json_number(kFormatVersion)},
                      {"index_uuid", json_string(hex_of(manifest.index_uuid))},
                      {"labels", json_boolean(manifest.has_labels)},
                      {"leaf_rows", json_number(manifest.leaf_rows)},
                      {"leaves", json_number(manifest.num_leaves)},
                      {"levels", levels_text(manifest)},
                      {"log", log_text(manifest.log)},
                      {"next_id", json_number(manifest.next_id)},
                      {"partitioning", partitioning_text(manifest)},
                      {"rounded_values", json_number(manifest.rounded_values)},
                      {"rows", json_number(manifest.num_rows)},
                      {"snapshot", json_number(manifest.snapshot.number)},
                      {"uuid", json_string(hex_of(manifest.snapshot.uuid))},
                      {"value_type", json_string(kValueTypes, manifest.value_type)},
                      {"version", json_number(manifest.version)}},
                     0) +
         "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& path) {
  const JsonValue document = parse_json(text, path, kMaxDepth, kMaxValues);
  const JsonMembers all(document, path, "the manifest");
  check_format(all);
  Manifest manifest;
  manifest.snapshot = {all.hex<Uuid>("uuid"), all.count("snapshot", kMaxNumber, 1)};
  // Earlier programs did not write it. Each of their snapshots counts as an index of its own.
  manifest.index_uuid = all.has("index_uuid") ? all.hex<Uuid>("index_uuid") : manifest.snapshot.uuid;
  manifest.version = all.count("version", kMaxVersion);
  manifest.next_id = all.integer("next_id", std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max());
  const JsonMembers log = all.object("log");
  manifest.log = {log.count("number", kMaxNumber, 1), log.hex<Uuid>("uuid")};
  for (const JsonValue& attribute : all.array("attributes", kMaxAttributes))
    parse_attribute(JsonMembers(attribute, path, "an attribute"), manifest);
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
    all.fail_on("rows", "does not fit the number of leaves");
  parse_levels(all, path, manifest);
  parse_partitioning(all.object("partitioning"), manifest);
  parse_files(all.array("files", kFileKinds.size()), path, manifest);
  return manifest;
}

Manifest read_manifest(const Directory& directory, const Current& current) {
  const auto file = directory.open(manifest_name(current.snapshot_number));
  if (file->size() != current.manifest_bytes)
    throw_damaged(file->path(), std::min(file->size(), current.manifest_bytes),
                  "the file has " + std::to_string(file->size()) + " bytes; CURRENT says " +
                      std::to_string(current.manifest_bytes));
  const std::string text = read_text(*file, kMaxManifestBytes);
  if (digest_of(std::as_bytes(std::span(text))) != current.manifest_digest)
    throw_damaged(file->path(), 0,
                  "the digest does not match: the file is damaged, or CURRENT refers to another one");
  Manifest manifest = parse_manifest(text, file->path());
  if (manifest.snapshot.number != current.snapshot_number)
    throw_damaged(file->path(), 0, "the manifest of another snapshot");
  if (manifest.log.number > current.log.number)
    throw_damaged(file->path(), 0, "the manifest names a later log than CURRENT");
  return manifest;
}

}  // namespace culmen::storage
