#include "coding/info_json.h"

#include <utility>

#include "coding/columns.h"
#include "coding/partitioning_names.h"

namespace culmen {
namespace {

void add_format(const ColumnFormat& format, Json& column) {
  column["type"] = type_name(format.type);
  if (format.type != ColumnType::timestamp) return;
  column["unit"] = unit_name(format.unit);
  column["time_zone"] = format.time_zone;
}

Json attributes_json(const IndexInfo& info) {
  Json attributes = Json::array();
  for (const AttributeInfo& attribute : info.attributes) {
    Json json = {{"name", attribute.name},
                 {"prefer", preference_name(attribute)},
                 {"minimum", attribute.minimum},
                 {"maximum", attribute.maximum},
                 {"has_missing", attribute.has_missing},
                 {"stand_in", stand_in_name(attribute.stand_in)}};
    if (attribute.stand_in != StandIn::refuse) json["stand_in_value"] = attribute.stand_in_value;
    add_format(attribute.format, json);
    attributes.push_back(std::move(json));
  }
  return attributes;
}

Json fields_json(const IndexInfo& info) {
  Json fields = Json::array();
  for (const FieldInfo& field : info.fields) {
    Json json = {{"name", field.field.name},
                 {"role", role_name(field.field.role)},
                 {"has_missing", field.has_missing}};
    if (field.field.is_text() && field.field.role == FieldRole::filter) json["texts"] = field.num_texts;
    add_format(field.field.format, json);
    fields.push_back(std::move(json));
  }
  return fields;
}

Json shards_json(const std::vector<ShardInfo>& shards) {
  Json list = Json::array();
  for (const ShardInfo& shard : shards)
    list.push_back({{"directory", shard.directory},
                    {"uuid", shard.uuid},
                    {"version", shard.version},
                    {"rows", shard.statistics.num_rows}});
  return list;
}

}  // namespace

std::string_view role_name(FieldRole role) {
  return role == FieldRole::filter ? "filter" : "stored";
}
std::string_view value_type_name(const IndexInfo& info) {
  return info.value_type == ValueType::float32 ? "float32" : "float64";
}
std::string_view preference_name(const AttributeInfo& attribute) {
  return attribute.preference == Preference::high ? "high" : "low";
}

Json info_json(const IndexInfo& info, const Schema& schema, const RecoveryInfo& log,
               const std::vector<ShardInfo>& shards) {
  Json json = {{"uuid", info.uuid},
               {"version", info.version},
               {"log_batches", log.num_batches},
               {"log_dropped_bytes", log.dropped_bytes},
               {"compact_advised", info.compact_advised},
               {"rows", info.num_rows},
               {"attributes", attributes_json(info)},
               {"fields", fields_json(info)},
               {"labels", info.has_labels},
               {"id_column", schema.id_name},
               {"id_type", id_type_name(schema.id_type)},
               {"label_column", schema.label_name},
               {"value_type", value_type_name(info)},
               {"rounded_values", info.rounded_values},
               {"partitioning", partition_name(info)},
               {"cluster", info.cluster},
               {"splits", info.num_splits},
               {"partitions", info.num_partitions},
               {"leaf_rows", info.leaf_rows},
               {"leaves", info.num_leaves},
               {"nodes", info.num_nodes},
               {"height", info.height},
               {"data_bytes", info.data_bytes},
               {"overhead_bytes", info.overhead_bytes},
               {"code_bytes", info.code_bytes},
               {"reads", info.num_reads}};
  if (!shards.empty()) json["shards"] = shards_json(shards);
  return json;
}

}  // namespace culmen
