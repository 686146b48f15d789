#include "shard/shard_manifest.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "culmen/error.h"
#include "culmen/schema.h"
#include "culmen/sharded_index.h"
#include "index/storage/directory_files.h"
#include "index/storage/format.h"
#include "index/storage/hash.h"
#include "index/storage/hex.h"
#include "index/storage/json_members.h"
#include "index/storage/json_text.h"

namespace culmen {
namespace {

using storage::JsonMembers;
using storage::JsonPairs;
using storage::JsonValue;

constexpr std::string_view kLinePrefix = "culmen-shards ";
constexpr std::string_view kShardsVersion = "1";
constexpr const char* kNewShardsName = "SHARDS-new";
constexpr std::uint64_t kMaxShardsBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMaxShardsDepth = 5;
constexpr std::size_t kMaxShardsValues = 10'000'000;
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;

std::string attribute_text(const AttributeStatistics& attribute) {
  JsonPairs members;
  members.emplace_back("has_missing", storage::json_boolean(attribute.has_missing));
  members.emplace_back("has_values", storage::json_boolean(attribute.has_values));
  members.emplace_back("maximum", storage::json_string(storage::to_hex_float(attribute.maximum)));
  members.emplace_back("minimum", storage::json_string(storage::to_hex_float(attribute.minimum)));
  if (attribute.stand_in)
    members.emplace_back("stand_in", storage::json_string(storage::to_hex_float(*attribute.stand_in)));
  return storage::json_object(members, 4);
}

AttributeStatistics parse_attribute(const JsonMembers& members) {
  AttributeStatistics attribute;
  attribute.has_missing = members.boolean("has_missing");
  attribute.has_values = members.boolean("has_values");
  attribute.maximum = members.hex_float("maximum");
  attribute.minimum = members.hex_float("minimum");
  if (members.has("stand_in")) attribute.stand_in = members.hex_float("stand_in");
  if (!(attribute.minimum <= attribute.maximum)) members.fail("has a minimum above its maximum");
  return attribute;
}

std::string shard_text(const ShardManifest& manifest, std::size_t shard) {
  const ShardEntry& entry = manifest.shards[shard];
  std::vector<std::string> attributes;
  for (const AttributeStatistics& attribute : entry.statistics.attributes)
    attributes.push_back(attribute_text(attribute));
  return storage::json_object({{"attributes", storage::json_array(attributes, 3)},
                               {"directory", storage::json_string(manifest.directory_of(shard))},
                               {"rows", storage::json_number(entry.statistics.num_rows)},
                               {"uuid", storage::json_string(hex_of(entry.uuid))},
                               {"version", storage::json_number(entry.version)}},
                              2);
}

ShardEntry parse_shard(const JsonMembers& members, const std::string& path) {
  ShardEntry entry;
  for (const JsonValue& attribute : members.array("attributes", kMaxAttributes))
    entry.statistics.attributes.push_back(parse_attribute(JsonMembers(attribute, path, "an attribute")));
  entry.statistics.num_rows = members.count("rows", kMaxCount);
  entry.uuid = members.hex<Uuid>("uuid");
  entry.version = members.count("version", storage::kMaxVersion);
  return entry;
}

}  // namespace

std::string ShardManifest::directory_of(std::size_t shard) const {
  return storage::shard_name(generation, shard);
}

std::string to_text(const ShardManifest& manifest) {
  std::vector<std::string> shards;
  for (std::size_t s = 0; s < manifest.shards.size(); ++s) shards.push_back(shard_text(manifest, s));
  const std::string body = storage::json_object({{"generation", storage::json_number(manifest.generation)},
                                                 {"next_id", storage::json_number(manifest.next_id)},
                                                 {"shards", storage::json_array(shards, 1)},
                                                 {"uuid", storage::json_string(hex_of(manifest.uuid))}},
                                                0) +
                           "\n";
  return std::string(kLinePrefix) + std::string(kShardsVersion) + " " +
         storage::to_hex(storage::checksum_of(std::as_bytes(std::span(body)))) + "\n" + body;
}

ShardManifest parse_shard_manifest(const std::string& text, const std::string& path) {
  const std::size_t line_end = text.find('\n');
  const std::string line = text.substr(0, line_end);
  if (line_end == std::string::npos || !line.starts_with(kLinePrefix))
    storage::throw_damaged(path, 0, "this is not the manifest of a sharded index");
  const std::string body = text.substr(line_end + 1);
  const std::string checksum = storage::to_hex(storage::checksum_of(std::as_bytes(std::span(body))));
  if (!line.ends_with(" " + checksum))
    storage::throw_damaged(path, 0, "the checksum is not that of the file");
  if (line != std::string(kLinePrefix) + std::string(kShardsVersion) + " " + checksum)
    throw FormatError(path + ": this sharded index is of another format than version " +
                      std::string(kShardsVersion) + ", which this program reads");
  const JsonValue json = storage::parse_json(body, path, kMaxShardsDepth, kMaxShardsValues);
  const JsonMembers all(json, path, "the manifest");
  ShardManifest manifest;
  manifest.uuid = all.hex<Uuid>("uuid");
  manifest.generation = all.count("generation", kMaxCount, 1);
  manifest.next_id = all.integer("next_id", 0, std::numeric_limits<std::int64_t>::max());
  for (const JsonValue& shard : all.array("shards", kMaxShards)) {
    const JsonMembers members(shard, path, "shard " + std::to_string(manifest.shards.size()));
    if (members.text("directory") != manifest.directory_of(manifest.shards.size()))
      members.fail("has the wrong directory");
    manifest.shards.push_back(parse_shard(members, path));
    if (manifest.shards.back().statistics.attributes.size() !=
        manifest.shards.front().statistics.attributes.size())
      members.fail("has another number of attributes than the others");
  }
  if (manifest.shards.empty()) all.fail("has no shards");
  return manifest;
}

ShardManifest read_shard_manifest(const storage::Directory& directory) {
  const std::vector<std::string> names = directory.list();
  if (std::ranges::find(names, storage::kShardsName) == names.end())
    throw NoIndex(directory.path() + " holds no sharded index");
  const auto file = directory.open(storage::kShardsName);
  return parse_shard_manifest(storage::read_text(*file, kMaxShardsBytes), file->path());
}

void write_shard_manifest(storage::Directory& directory, const ShardManifest& manifest, bool& switched) {
  storage::replace_text(directory, storage::kShardsName, kNewShardsName, to_text(manifest), switched);
}

}  // namespace culmen
