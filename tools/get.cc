#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tools/column_titles.h"
#include "tools/commands.h"
#include "tools/csv_cell.h"
#include "tools/id_list.h"
#include "tools/numbers.h"
#include "tools/output.h"
#include "tools/streams.h"

namespace culmen::tools {
namespace {

struct GetArguments {
  std::string directory;
  IdArguments rows;
  std::string output;
};

std::string header(const IndexInfo& info) {
  std::string line = info.has_labels ? "id,label" : "id";
  for (const std::string& title : attribute_titles(info)) line += ',' + quoted_if_needed(title);
  return line + '\n';
}

std::string line_of(const Row& row, bool has_labels) {
  std::string line = std::to_string(row.id);
  if (has_labels) line += ',' + quoted_if_needed(row.label);
  for (const double value : row.values) line += ',' + shortest(value);
  return line + '\n';
}

ExitCode run(const GetArguments& arguments, bool quiet) {
  const std::string ending = std::filesystem::path(arguments.output).extension().string();
  if (!ending.empty() && ending != ".csv")
    throw InvalidArgument(fmt::format("-o {}: get writes CSV; name the file .csv", arguments.output));
  if (arguments.rows.num_given() != 1)
    throw InvalidArgument("say which rows: give one of --ids 1,2,... and --ids-file FILE");
  const std::vector<std::int64_t> ids = arguments.rows.read();
  const Index index = Index::open(arguments.directory);
  const IndexInfo info = index.info();
  Output out(arguments.output);
  out.write(header(info));
  std::uint64_t num_missing = 0;
  for (const std::optional<Row>& row : index.get(ids)) {
    if (row) {
      out.write(line_of(*row, info.has_labels));
    } else {
      ++num_missing;
    }
  }
  out.finish();
  if (num_missing > 0 && !quiet)
    say("{} of {} not in {}\n", grouped(num_missing), counted(ids.size(), "id"), arguments.directory);
  return ExitCode::ok;
}

}  // namespace

void add_get(Program& program) {
  CLI::App& command = *program.app.add_subcommand("get", "Print rows by their ids");
  const auto arguments = std::make_shared<GetArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  add_id_options(command, arguments->rows);
  command.add_option("-o,--output", arguments->output, "File to write (default: standard output)")
      ->type_name("FILE");
  add_quiet(command, program);
  command.footer(
      "Writes CSV with every digit, a row per id in the order of the ids. Ids that are not in the index are\n"
      "skipped, and counted on standard error.\n\n"
      "Examples:\n"
      "  culmen get hotels.index --ids 1000001,1000002\n"
      "  culmen get hotels.index --ids 1000003 -o row.csv");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
