#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/output.h"

namespace culmen::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string directory;
  bool json = false;
};

std::string_view type_name(const IndexInfo& info) {
  return info.value_type == ValueType::float32 ? "float32" : "float64";
}
std::string_view partitioning_name(const IndexInfo& info) {
  return info.partitioning == Partitioning::angle ? "angle" : "random";
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

std::string json_text(const IndexInfo& info) {
  const Json json = {{"version", info.version},
                     {"rows", info.num_tuples},
                     {"attributes", attributes_json(info)},
                     {"labels", info.has_labels},
                     {"value_type", type_name(info)},
                     {"rounded_values", info.rounded_values},
                     {"partitioning", partitioning_name(info)},
                     {"splits", info.num_splits},
                     {"partitions", info.num_partitions},
                     {"block_rows", info.block_rows},
                     {"blocks", info.num_blocks},
                     {"nodes", info.num_nodes},
                     {"height", info.height},
                     {"data_bytes", info.data_bytes},
                     {"overhead_bytes", info.overhead_bytes}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string attributes_text(const IndexInfo& info) {
  std::string text;
  for (const AttributeInfo& attribute : info.attributes)
    text += fmt::format("  {:<20} {:<4} is better   {} to {}\n", attribute.name, preference_name(attribute),
                        rounded(attribute.minimum), rounded(attribute.maximum));
  return text;
}

std::string text(const IndexInfo& info) {
  std::string partitions = fmt::format("{} by {}", grouped(info.num_partitions), partitioning_name(info));
  if (info.num_splits > 0) partitions += fmt::format(", {} splits an angle", info.num_splits);
  std::string values{type_name(info)};
  if (info.rounded_values > 0) values += fmt::format("; values rounded: {}", grouped(info.rounded_values));
  return fmt::format("rows        {}\n", grouped(info.num_tuples)) + fmt::format("values      {}\n", values) +
         fmt::format("labels      {}\n", info.has_labels ? "yes" : "no") +
         fmt::format("partitions  {}\n", partitions) +
         fmt::format("blocks      {} of up to {} rows\n", grouped(info.num_blocks), info.block_rows) +
         fmt::format("tree        {} nodes, height {}\n", grouped(info.num_nodes), info.height) +
         fmt::format("data        {}\n", in_bytes(info.data_bytes)) +
         fmt::format(
             "overhead    {} ({} of the data)\n", in_bytes(info.overhead_bytes),
             in_percent(static_cast<double>(info.overhead_bytes), static_cast<double>(info.data_bytes))) +
         fmt::format("version     {}\n", info.version) +
         fmt::format("attributes  {}\n", info.attributes.size()) + attributes_text(info);
}

ExitCode run(const Arguments& arguments) {
  const IndexInfo info = Index::open(arguments.directory).info();
  Output out("");
  out.write(arguments.json ? json_text(info) : text(info));
  out.finish();
  return ExitCode::ok;
}

}  // namespace

void add_info(Program& program) {
  CLI::App& command = *program.app.add_subcommand("info", "Say what an index holds");
  const auto arguments = std::make_shared<Arguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  command.add_flag("--json", arguments->json, "As JSON, numbers exact");
  add_quiet(command, program);
  command.footer(
      "Examples:\n"
      "  culmen info hotels.index\n"
      "  culmen info hotels.index --json");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
