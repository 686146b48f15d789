#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/index.h"
#include "tools/any_index.h"
#include "tools/commands.h"
#include "tools/missing.h"
#include "tools/numbers.h"
#include "tools/partitioning_names.h"
#include "tools/printable.h"
#include "tools/result.h"
#include "tools/value_text.h"

namespace culmen::tools {
namespace {

using Json = nlohmann::ordered_json;

struct InfoArguments {
  std::string directory;
  bool json = false;
};

std::string_view role_name(FieldRole role) {
  return role == FieldRole::filter ? "filter" : "stored";
}
std::string_view value_type_name(const IndexInfo& info) {
  return info.value_type == ValueType::float32 ? "float32" : "float64";
}
std::string_view preference_name(const AttributeInfo& attribute) {
  return attribute.preference == Preference::high ? "high" : "low";
}

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

std::string shards_text(const std::vector<ShardInfo>& shards) {
  if (shards.empty()) return "";
  std::string text = fmt::format("shards      {}\n", shards.size());
  for (const ShardInfo& shard : shards)
    text += fmt::format("  {:<20} {}, version {}\n", shard.directory,
                        counted(shard.statistics.num_rows, "row"), shard.version);
  return text;
}

std::string json_text(const IndexInfo& info, const Schema& schema, const RecoveryInfo& log,
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
               {"code_bytes", info.code_bytes}};
  if (!shards.empty()) json["shards"] = shards_json(shards);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string attributes_text(const IndexInfo& info) {
  std::string text;
  for (const AttributeInfo& attribute : info.attributes) {
    const auto shown = [&](double value) {
      return readable_text(attribute_value(value, attribute.format), attribute.format, info.value_type);
    };
    text += fmt::format("  {:<20} {:<4} is better   {} to {}", printable(attribute.name),
                        preference_name(attribute), shown(attribute.minimum), shown(attribute.maximum));
    if (attribute.format.type != ColumnType::floating)
      text += fmt::format(", {}", format_text(attribute.format));
    if (attribute.stand_in == StandIn::refuse) {
      text += "; missing values are refused";
    } else if (attribute.has_missing) {
      text += fmt::format("; some are missing, stand-in {} ({})", shown(attribute.stand_in_value),
                          stand_in_name(attribute.stand_in));
    }
    text += '\n';
  }
  return text;
}

std::string fields_text(const IndexInfo& info) {
  if (info.fields.empty()) return "";
  std::string text = fmt::format("fields      {}\n", info.fields.size());
  for (const FieldInfo& field : info.fields) {
    text += fmt::format("  {:<20} {:<11} {}", printable(field.field.name),
                        field.field.role == FieldRole::filter ? "for filters" : "only shown",
                        format_text(field.field.format));
    if (field.field.is_text() && field.field.role == FieldRole::filter)
      text += fmt::format(", {}", counted(field.num_texts, "distinct text"));
    text += field.has_missing ? "; some are missing\n" : "\n";
  }
  return text;
}

// "yes, from the column name".
std::string column_text(bool is_there, const std::string& column) {
  if (!is_there) return "no";
  return column.empty() ? "yes" : fmt::format("yes, from the column {}", printable(column));
}

std::string log_text(const RecoveryInfo& log) {
  if (log.num_batches == 0 && log.dropped_bytes == 0) return "empty";
  std::string text = counted(log.num_batches, "batch", "batches");
  if (log.dropped_bytes > 0)
    text += fmt::format("; {} of changes never reported as done are skipped", in_bytes(log.dropped_bytes));
  return text;
}

std::string text(const IndexInfo& info, const Schema& schema, const RecoveryInfo& log,
                 const std::vector<ShardInfo>& shards, const std::string& directory) {
  std::string partitions = fmt::format("{} by {}", grouped(info.num_partitions), partitioning_text(info));
  if (info.num_splits > 0) partitions += fmt::format(", {} splits an angle", info.num_splits);
  std::string values{value_type_name(info)};
  if (info.rounded_values > 0) values += fmt::format("; values rounded: {}", grouped(info.rounded_values));
  return fmt::format("rows        {}\n", grouped(info.num_rows)) + fmt::format("values      {}\n", values) +
         (schema.id_name.empty()
              ? ""
              : fmt::format("ids         from the column {}\n", printable(schema.id_name))) +
         fmt::format("labels      {}\n", column_text(info.has_labels, schema.label_name)) +
         fmt::format("partitions  {}\n", partitions) +
         fmt::format("leaves      {} of up to {} rows\n", grouped(info.num_leaves), info.leaf_rows) +
         fmt::format("tree        {}, height {}\n", counted(info.num_nodes, "node"), info.height) +
         fmt::format("data        {}\n", in_bytes(info.data_bytes)) +
         fmt::format(
             "overhead    {} ({} of the data)\n", in_bytes(info.overhead_bytes),
             in_percent(static_cast<double>(info.overhead_bytes), static_cast<double>(info.data_bytes))) +
         fmt::format("codes       {}, in memory only\n", in_bytes(info.code_bytes)) +
         fmt::format("uuid        {}\n", info.uuid) + fmt::format("version     {}\n", info.version) +
         fmt::format("log         {}\n", log_text(log)) +
         (info.compact_advised ? fmt::format("advice      the leaves are far from full: culmen compact "
                                             "{} would make it smaller\n",
                                             directory)
                               : "") +
         shards_text(shards) + fmt::format("attributes  {}\n", info.attributes.size()) +
         attributes_text(info) + fields_text(info);
}

ExitCode run(const InfoArguments& arguments) {
  const AnyIndex index = AnyIndex::open(arguments.directory);
  const IndexInfo info = index.info();
  const RecoveryInfo log = index.recovery();
  const Schema schema = index.schema();
  const std::vector<ShardInfo> shards =
      index.sharded() == nullptr ? std::vector<ShardInfo>() : index.sharded()->shards();
  return print_result(arguments.json ? json_text(info, schema, log, shards)
                                     : text(info, schema, log, shards, arguments.directory));
}

}  // namespace

void add_info(Program& program) {
  CLI::App& command = *program.app.add_subcommand("info", "Describe an index");
  const auto arguments = std::make_shared<InfoArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  command.add_flag("--json", arguments->json, "Print JSON, with exact numbers");
  add_quiet(command, program);
  command.footer(
      "Examples:\n"
      "  culmen info hotels.index\n"
      "  culmen info hotels.index --json");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
