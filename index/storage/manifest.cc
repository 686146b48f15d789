#include "index/storage/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "culmen/error.h"
#include "index/field_key.h"
#include "index/storage/directory_files.h"
#include "index/storage/hex.h"
#include "index/storage/json_members.h"
#include "index/storage/json_text.h"
#include "index/tree_height.h"

namespace culmen::storage {
namespace {

constexpr const char* kFormatName = "culmen index";
// Features.
constexpr std::string_view kUint64Ids = "uint64_ids", kTextIds = "text_ids";
constexpr std::size_t kMaxDepth = 4;
// Limits memory: a parsed value takes many times the bytes of its text.
constexpr std::size_t kMaxValues = 20'000;
constexpr std::uint64_t kMaxLeaves = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxRows = kMaxLeaves * kMaxLeafRows;
constexpr int kMaxUnitExponent = 1000;
constexpr std::uint64_t kMaxRoundedValues = std::uint64_t{1} << 62;
constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 40;  // of a dictionary

constexpr EnumNames<Preference, 2> kPreferences = {"preference",
                                                   {{{"high", Preference::high}, {"low", Preference::low}}}};
// The order is part of the kind, so that programs that know one order only refuse the other.
using OrderedKind = std::pair<Partitioning, RowOrder>;
constexpr EnumNames<OrderedKind, 6> kPartitionings = {
    "partitioning",
    {{{"kd", {Partitioning::kd, RowOrder::largest}},
      {"angle", {Partitioning::angle, RowOrder::largest}},
      {"random", {Partitioning::random, RowOrder::largest}},
      {"kd by sum", {Partitioning::kd, RowOrder::sum}},
      {"angle by sum", {Partitioning::angle, RowOrder::sum}},
      {"random by sum", {Partitioning::random, RowOrder::sum}}}}};
constexpr EnumNames<ValueType, 2> kValueTypes = {
    "value type", {{{"float32", ValueType::float32}, {"float64", ValueType::float64}}}};

constexpr EnumNames<StandIn, 5> kStandIns = {"stand-in",
                                             {{{"worst", StandIn::worst},
                                               {"median", StandIn::median},
                                               {"mean", StandIn::mean},
                                               {"number", StandIn::number},
                                               {"refuse", StandIn::refuse}}}};
constexpr EnumNames<ColumnType, 6> kColumnTypes = {"column type",
                                                   {{{"floating", ColumnType::floating},
                                                     {"integer", ColumnType::integer},
                                                     {"boolean", ColumnType::boolean},
                                                     {"date", ColumnType::date},
                                                     {"timestamp", ColumnType::timestamp},
                                                     {"text", ColumnType::text}}}};
constexpr EnumNames<TimeUnit, 4> kTimeUnits = {"time unit",
                                               {{{"second", TimeUnit::second},
                                                 {"millisecond", TimeUnit::millisecond},
                                                 {"microsecond", TimeUnit::microsecond},
                                                 {"nanosecond", TimeUnit::nanosecond}}}};
constexpr EnumNames<FieldRole, 2> kFieldRoles = {
    "role of a field", {{{"filter", FieldRole::filter}, {"stored", FieldRole::stored}}}};

void add_format(JsonPairs& members, const ColumnFormat& format) {
  if (format.type == ColumnType::timestamp)
    members.emplace_back("time_unit", json_string(kTimeUnits, format.unit));
  if (format.type == ColumnType::timestamp) members.emplace_back("time_zone", json_string(format.time_zone));
  members.emplace_back("type", json_string(kColumnTypes, format.type));
}

ColumnFormat parse_format(const JsonMembers& members) {
  ColumnFormat format;
  format.type = members.choice("type", kColumnTypes);
  if (format.type != ColumnType::timestamp) return format;
  format.unit = members.choice("time_unit", kTimeUnits);
  format.time_zone = members.text("time_zone");
  return format;
}

// Between spaces.
std::string numbers_text(std::span<const double> numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : " ") + to_hex_float(number);
  return text;
}

std::vector<double> parse_quantiles(const JsonMembers& members) {
  std::vector<double> quantiles;
  std::string_view rest = members.text("quantiles");
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (!from_hex_float(rest.substr(0, end), quantiles.emplace_back()))
      members.fail_on("quantiles", "has an entry that is not a finite hexadecimal float");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!are_quantiles(quantiles)) members.fail_on("quantiles", "does not ascend, or is too long");
  return quantiles;
}

std::string attribute_text(const Manifest& manifest, std::size_t i) {
  const AttributeStats& stats = manifest.stats[i];
  const Attribute& attribute = manifest.attributes[i];
  JsonPairs members;
  members.emplace_back("maximum", json_string(to_hex_float(stats.maximum)));
  members.emplace_back("minimum", json_string(to_hex_float(stats.minimum)));
  members.emplace_back("missing", json_string(kStandIns, attribute.stand_in));
  members.emplace_back("name", json_string(attribute.name));
  if (attribute.stand_in == StandIn::number)
    members.emplace_back("number", json_string(to_hex_float(attribute.number)));
  members.emplace_back("preference", json_string(kPreferences, attribute.preference));
  if (manifest.quantiles != nullptr)
    members.emplace_back("quantiles", json_string(numbers_text((*manifest.quantiles)[i])));
  members.emplace_back("quantum", json_number(stats.quantum));
  add_format(members, attribute.format);
  members.emplace_back("unit_exponent", json_number(manifest.units[i].exponent));
  members.emplace_back("unit_origin", json_string(to_hex_float(manifest.units[i].origin)));
  return json_object(members, 2);
}

void parse_attribute(const JsonMembers& members, Manifest& manifest) {
  Attribute attribute{members.text("name"), members.choice("preference", kPreferences)};
  attribute.stand_in = members.choice("missing", kStandIns);
  if (attribute.stand_in == StandIn::number) attribute.number = members.hex_float("number");
  attribute.format = parse_format(members);
  if (attribute.format.type == ColumnType::text) members.fail("is of text, which is not ranked");
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

std::string field_text(const Manifest& manifest, std::size_t f) {
  const Field& field = manifest.fields[f];
  JsonPairs members;
  members.emplace_back("name", json_string(field.name));
  members.emplace_back("role", json_string(kFieldRoles, field.role));
  if (has_dictionary(field)) {
    members.emplace_back("text_bytes", json_number(manifest.dictionary_sizes[f].text_bytes));
    members.emplace_back("texts", json_number(manifest.dictionary_sizes[f].num_texts));
  }
  add_format(members, field.format);
  return json_object(members, 2);
}

void parse_field(const JsonMembers& members, Manifest& manifest) {
  Field field{members.text("name"), members.choice("role", kFieldRoles), parse_format(members)};
  if (field.name.empty()) members.fail("has an empty name");
  DictionarySize size;
  if (has_dictionary(field))
    size = {members.count("texts", Dictionary::kMaxTexts), members.count("text_bytes", kMaxTextBytes)};
  manifest.fields.push_back(std::move(field));
  manifest.dictionary_sizes.push_back(size);
}

// All finite; one for each attribute, or none while there are no rows.
void parse_stand_ins(const JsonMembers& all, Manifest& manifest) {
  for (const JsonValue& stand_in : all.array("stand_ins", manifest.attributes.size())) {
    double value = 0;
    if (stand_in.kind != JsonValue::Kind::string || !from_hex_float(stand_in.text, value))
      all.fail_on("stand_ins", "has an entry that is not a finite hexadecimal float");
    manifest.stand_ins.push_back(value + 0.0);  // never -0
  }
  const bool is_complete = manifest.stand_ins.size() == manifest.attributes.size();
  if (!is_complete && (!manifest.stand_ins.empty() || manifest.num_rows > 0))
    all.fail_on("stand_ins", "does not have one for each attribute");
}

// The offset of the first node above the levels that the manifest has.
std::uint64_t offset_of_next_level(const Manifest& manifest) {
  return fixed_extent(manifest.num_nodes(),
                      NodeSections(manifest.leaf_shape(), manifest.layout).payload_bytes(), 0)
      .offset;
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
    if (!manifest.has_file(kind)) continue;
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
  JsonPairs members;
  if (manifest.cluster) members.push_back({"cluster", json_string(manifest.column_name(*manifest.cluster))});
  members.push_back({"cuts", json_number(manifest.num_cuts)});
  members.push_back(
      {"kind", json_string(kPartitionings, OrderedKind(manifest.partitioning, manifest.row_order))});
  members.push_back({"partitions", json_number(manifest.num_partitions)});
  members.push_back({"splits", json_array(splits, 2)});
  return json_object(members, 1);
}

std::string features_text(const Manifest& manifest) {
  if (manifest.id_type == IdType::int64) return json_array({}, 1);
  return json_array({json_string(std::string(manifest.id_type == IdType::text ? kTextIds : kUint64Ids))}, 1);
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
  for (const FileKind kind : kFileKinds)
    if (manifest.has_file(kind) != seen.contains(kind))
      throw FormatError(path + ": the list of files lacks one, or has one that the index has not");
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

std::uint32_t parse_cluster(const JsonMembers& members, const Manifest& manifest) {
  const std::size_t num_attributes = manifest.attributes.size();
  const auto num_columns = static_cast<std::uint32_t>(num_attributes + manifest.fields.size());
  for (std::uint32_t column = 0; column < num_columns; ++column) {
    const bool can_cut =
        column < num_attributes || manifest.fields[column - num_attributes].role == FieldRole::filter;
    if (can_cut && manifest.column_name(column) == members.text("cluster")) return column;
  }
  members.fail_on("cluster", "is neither an attribute nor a filter column");
}

void parse_partitioning(const JsonMembers& members, Manifest& manifest) {
  std::tie(manifest.partitioning, manifest.row_order) = members.choice("kind", kPartitionings);
  if (manifest.row_order == RowOrder::sum && manifest.attributes.size() > kMaxGroupedAttributes)
    members.fail_on("kind", "orders by sums, which tables of so many attributes do not");
  for (std::int64_t split : members.integers("splits", kMaxAttributes, 1, kMaxPartitions))
    manifest.splits.push_back(static_cast<std::int32_t>(split));
  manifest.num_partitions = members.count("partitions", kMaxPartitions, 1);
  manifest.num_cuts = members.count("cuts", kMaxPartitions);
  if (manifest.partitioning == Partitioning::random && !(manifest.splits.empty() && manifest.num_cuts == 0))
    members.fail("is random but has splits or cuts");
  // Each cut adds a partition.
  if (manifest.partitioning != Partitioning::random && manifest.num_cuts + 1 > manifest.num_partitions)
    members.fail("has more cuts than its partitions need");
  if (members.has("cluster")) manifest.cluster = parse_cluster(members, manifest);
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
    if (feature.text != kUint64Ids && feature.text != kTextIds)
      all.fail_on("features", "needs " + json_string(feature.text) + ", which this program does not have");
}

void check_names(const Manifest& manifest, const JsonMembers& all) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!names.insert(name).second) all.fail("has two columns called \"" + name + "\"");
  };
  for (const Attribute& attribute : manifest.attributes) add(attribute.name);
  for (const Field& field : manifest.fields) add(field.name);
}

}  // namespace

bool Manifest::has_file(FileKind kind) const {
  switch (kind) {
    case FileKind::labels:
      return has_labels;
    case FileKind::fields:
      return has_gaps || !fields.empty();
    case FileKind::texts:
      return std::ranges::any_of(fields, is_stored_text);
    case FileKind::dictionaries:
      return std::ranges::any_of(fields, has_dictionary);
    default:
      return true;
  }
}

std::uint64_t Manifest::num_nodes() const {
  return std::accumulate(level_nodes.begin(), level_nodes.end(), std::uint64_t{0});
}

std::uint64_t Manifest::file_bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const FileEntry& file) { return sum + file.bytes; });
}

static DictionarySize size_of(const Dictionary& dictionary) {
  DictionarySize size{dictionary.size(), 0};
  for (std::uint32_t code = 0; code < dictionary.size(); ++code) size.text_bytes += dictionary[code].size();
  return size;
}

std::vector<std::uint64_t> level_nodes(const Snapshot& snapshot) {
  std::vector<std::uint64_t> nodes(static_cast<std::size_t>(snapshot.height));
  for (const std::uint32_t node : snapshot.order().nodes) ++nodes[snapshot.node(node).header().level - 1];
  return nodes;
}

Manifest describe(const Snapshot& snapshot) {
  Manifest manifest;
  manifest.metadata() = snapshot.metadata();
  // A log may claim any number.
  manifest.rounded_values = std::min(manifest.rounded_values, kMaxRoundedValues);
  manifest.num_leaves = snapshot.num_leaves;
  manifest.level_nodes = level_nodes(snapshot);
  manifest.partitioning = snapshot.partitioner->kind();
  manifest.row_order = snapshot.partitioner->row_order();
  manifest.splits = snapshot.partitioner->splits();
  manifest.num_partitions = snapshot.partitioner->num_partitions();
  manifest.num_cuts = snapshot.partitioner->cuts().size();
  manifest.cluster = snapshot.partitioner->cluster();
  manifest.has_gaps = std::ranges::any_of(snapshot.order().leaves, [&](std::uint32_t leaf) {
    return !snapshot.leaf_fields(leaf).gaps().empty();
  });
  for (const auto& dictionary : snapshot.dictionaries)
    manifest.dictionary_sizes.push_back(dictionary == nullptr ? DictionarySize{} : size_of(*dictionary));
  return manifest;
}

std::string to_text(const Manifest& manifest) {
  std::vector<std::string> attributes;
  for (std::size_t i = 0; i < manifest.attributes.size(); ++i)
    attributes.push_back(attribute_text(manifest, i));
  std::vector<std::string> fields, stand_ins;
  for (std::size_t f = 0; f < manifest.fields.size(); ++f) fields.push_back(field_text(manifest, f));
  for (const double stand_in : manifest.stand_ins) stand_ins.push_back(json_string(to_hex_float(stand_in)));
  return json_object({{"attributes", json_array(attributes, 1)},
                      {"byte_order", json_string("little")},
                      {"exact_sums", json_boolean(manifest.exact_sums)},
                      {"fan_out", json_number(kFanOut)},
                      {"features", features_text(manifest)},
                      {"fields", json_array(fields, 1)},
                      {"files", files_text(manifest)},
                      {"format", json_string(kFormatName)},
                      {"format_version", json_number(kFormatVersion)},
                      {"gaps", json_boolean(manifest.has_gaps)},
                      {"id_name", json_string(manifest.id_name)},
                      {"index_uuid", json_string(hex_of(manifest.index_uuid))},
                      {"label_name", json_string(manifest.label_name)},
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
                      {"stand_ins", json_array(stand_ins, 1)},
                      {"uuid", json_string(hex_of(manifest.snapshot.uuid))},
                      {"value_type", json_string(kValueTypes, manifest.value_type)},
                      {"version", json_number(manifest.version)}},
                     0) +
         "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& path, WithQuantiles wanted) {
  const JsonValue document = parse_json(text, path, kMaxDepth, kMaxValues);
  const JsonMembers all(document, path, "the manifest");
  check_format(all);
  Manifest manifest;
  manifest.snapshot = {all.hex<Uuid>("uuid"), all.count("snapshot", kMaxNumber, 1)};
  // Earlier programs did not write it. Each of their snapshots counts as an index of its own.
  manifest.index_uuid = all.hex<Uuid>("index_uuid");
  manifest.version = all.count("version", kMaxVersion);
  manifest.next_id = all.integer("next_id", std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max());
  const JsonMembers log = all.object("log");
  manifest.log = {log.count("number", kMaxNumber, 1), log.hex<Uuid>("uuid")};
  Quantiles quantiles;
  for (const JsonValue& attribute : all.array("attributes", kMaxAttributes)) {
    const JsonMembers members(attribute, path, "an attribute");
    parse_attribute(members, manifest);
    if (wanted == WithQuantiles::yes && members.has("quantiles"))
      quantiles.push_back(parse_quantiles(members));
  }
  if (manifest.attributes.empty()) all.fail_on("attributes", "are missing");
  if (!quantiles.empty() && quantiles.size() != manifest.attributes.size())
    all.fail_on("attributes", "have quantiles in part");
  if (!quantiles.empty()) manifest.quantiles = std::make_shared<const Quantiles>(std::move(quantiles));
  for (const JsonValue& field : all.array("fields", kMaxFields))
    parse_field(JsonMembers(field, path, "a field"), manifest);
  manifest.dictionaries.resize(manifest.fields.size());
  check_names(manifest, all);
  manifest.id_name = all.text("id_name");
  manifest.label_name = all.text("label_name");
  // Others are refused above.
  for (const JsonValue& feature : all.array("features", kMaxValues))
    manifest.id_type = feature.text == kTextIds ? IdType::text : IdType::uint64;
  manifest.has_gaps = all.boolean("gaps");
  manifest.value_type = all.choice("value_type", kValueTypes);
  manifest.has_labels = all.boolean("labels");
  if (manifest.id_type == IdType::text && !manifest.has_labels)
    all.fail_on("labels", "are the ids, and missing");
  manifest.exact_sums = all.boolean("exact_sums");
  manifest.layout = BoundLayout(manifest.num_attributes());
  manifest.leaf_rows = static_cast<int>(all.integer("leaf_rows", 16, kMaxLeafRows));
  if (manifest.leaf_rows % 16 != 0) all.fail_on("leaf_rows", "is not a multiple of 16");
  all.integer("fan_out", kFanOut, kFanOut);
  manifest.num_rows = all.count("rows", kMaxRows);
  parse_stand_ins(all, manifest);
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
