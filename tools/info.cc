#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coding/any_index.h"
#include "coding/info_json.h"
#include "coding/partitioning_names.h"
#include "coding/printable.h"
#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/result.h"
#include "tools/value_text.h"

namespace culmen::tools {
namespace {

struct InfoArguments {
  std::string directory;
  bool json = false;
};

std::string shards_text(const std::vector<ShardInfo>& shards) {
  if (shards.empty()) return "";
  std::string text = fmt::format("shards      {}\n", shards.size());
  for (const ShardInfo& shard : shards)
    text += fmt::format("  {:<20} {}, version {}\n", shard.directory,
                        counted(shard.statistics.num_rows, "row"), shard.version);
  return text;
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

// Before where they come from.
std::string_view id_type_text(IdType type) {
  if (type == IdType::int64) return "";
  return type == IdType::uint64 ? "uint64 " : "texts ";
}

std::string log_text(const RecoveryInfo& log) {
  if (log.num_batches == 0 && log.dropped_bytes == 0) return "empty";
  std::string text = counted(log.num_batches, "batch", "batches");
  if (log.dropped_bytes > 0)
    text += fmt::format("; {} at its end are no whole batch and are skipped", in_bytes(log.dropped_bytes));
  return text;
}

std::string text(const IndexInfo& info, const Schema& schema, const RecoveryInfo& log,
                 const std::vector<ShardInfo>& shards, const std::string& directory) {
  std::string partitions = fmt::format("{} by {}", grouped(info.num_partitions), partitioning_text(info));
  if (info.num_splits > 0) partitions += fmt::format(", {} splits an angle", info.num_splits);
  std::string values{value_type_name(info)};
  if (info.rounded_values > 0) values += fmt::format("; values rounded: {}", grouped(info.rounded_values));
  return fmt::format("rows        {}\n", grouped(info.num_rows)) + fmt::format("values      {}\n", values) +
         (schema.id_name.empty() ? ""
                                 : fmt::format("ids         {}from the column {}\n",
                                               id_type_text(schema.id_type), printable(schema.id_name))) +
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
  return print_result(
      arguments.json
          ? info_json(info, schema, log, shards).dump(2, ' ', false, Json::error_handler_t::replace) + '\n'
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
