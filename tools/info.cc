#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/partitioning_names.h"
#include "tools/printable.h"
#include "tools/result.h"

namespace culmen::tools {
namespace {

using Json = nlohmann::ordered_json;

struct InfoArguments {
  std::string directory;
  bool json = false;
};

std::string_view type_name(const IndexInfo& info) {
  return info.value_type == ValueType::float32 ? "float32" : "float64";
}
std::string_view preference_name(const AttributeInfo& attribute) {
  return attribute.preference == Preference::high ? "high" : "low";
}

Json attributes_json(const IndexInfo& info) {
  Json attributes = Json::array();
  for (const AttributeInfo& attribute : info.attributes)
    attributes.push_back({{"name", attribute.name},
                          {"prefer", preference_name(attribute)},
                          {"minimum", attribute.minimum},
                          {"maximum", attribute.maximum}});
  return attributes;
}

std::string json_text(const IndexInfo& info, const RecoveryInfo& log) {
  const Json json = {{"uuid", info.uuid},
                     {"version", info.version},
                     {"log_batches", log.num_batches},
                     {"log_dropped_bytes", log.dropped_bytes},
                     {"compact_advised", info.compact_advised},
                     {"rows", info.num_rows},
                     {"attributes", attributes_json(info)},
                     {"labels", info.has_labels},
                     {"value_type", type_name(info)},
                     {"rounded_values", info.rounded_values},
                     {"partitioning", partitioning_name(info.partitioning)},
                     {"splits", info.num_splits},
                     {"partitions", info.num_partitions},
                     {"leaf_rows", info.leaf_rows},
                     {"leaves", info.num_leaves},
                     {"nodes", info.num_nodes},
                     {"height", info.height},
                     {"data_bytes", info.data_bytes},
                     {"overhead_bytes", info.overhead_bytes},
                     {"code_bytes", info.code_bytes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string attributes_text(const IndexInfo& info) {
  std::string text;
  for (const AttributeInfo& attribute : info.attributes)
    text += fmt::format("  {:<20} {:<4} is better   {} to {}\n", printable(attribute.name),
                        preference_name(attribute), recognisable(attribute.minimum, info.value_type),
                        recognisable(attribute.maximum, info.value_type));
  return text;
}

std::string log_text(const RecoveryInfo& log) {
  if (log.num_batches == 0 && log.dropped_bytes == 0) return "empty";
  std::string text = counted(log.num_batches, "batch", "batches");
  if (log.dropped_bytes > 0)
    text += fmt::format("; {} of changes never reported as done are skipped", in_bytes(log.dropped_bytes));
  return text;
}

std::string text(const IndexInfo& info, const RecoveryInfo& log, const std::string& directory) {
  std::string partitions =
      fmt::format("{} by {}", grouped(info.num_partitions), partitioning_name(info.partitioning));
  if (info.num_splits > 0) partitions += fmt::format(", {} splits an angle", info.num_splits);
  std::string values{type_name(info)};
  if (info.rounded_values > 0) values += fmt::format("; values rounded: {}", grouped(info.rounded_values));
  return fmt::format("rows        {}\n", grouped(info.num_rows)) + fmt::format("values      {}\n", values) +
         fmt::format("labels      {}\n", info.has_labels ? "yes" : "no") +
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
         fmt::format("attributes  {}\n", info.attributes.size()) + attributes_text(info);
}

ExitCode run(const InfoArguments& arguments) {
  const Index index = Index::open(arguments.directory);
  const IndexInfo info = index.info();
  const RecoveryInfo log = index.recovery();
  return print_result(arguments.json ? json_text(info, log) : text(info, log, arguments.directory));
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
