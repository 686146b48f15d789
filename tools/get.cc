#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/excerpt.h"
#include "coding/any_index.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "table/column_selection.h"
#include "tools/commands.h"
#include "tools/csv_rows.h"
#include "tools/id_list.h"
#include "tools/numbers.h"
#include "tools/output.h"
#include "tools/streams.h"
#include "tools/value_text.h"

namespace culmen::tools {
namespace {

struct GetArguments {
  std::string directory;
  IdArguments rows;
  std::optional<std::string> show;
  std::string output;
};

// "8, 9": up to ten of them, then how many more there are.
std::string list_of_missing(const NamedIds& ids, const std::vector<std::size_t>& missing) {
  constexpr std::size_t kMostShown = 10;
  std::string list;
  for (std::size_t i = 0; i < std::min(kMostShown, missing.size()); ++i) {
    const std::string id = ids.text(missing[i]);
    list += (i > 0 ? ", " : "") + (ids.type == IdType::text ? quote_excerpt(id) : id);
  }
  const std::size_t num_more = missing.size() - std::min(kMostShown, missing.size());
  return num_more == 0 ? list : fmt::format("{} and {} more", list, grouped(num_more));
}

ExitCode run(const GetArguments& arguments, bool quiet) {
  const std::string ending = std::filesystem::path(arguments.output).extension().string();
  if (!ending.empty() && ending != ".csv")
    throw InvalidArgument(fmt::format("-o {}: get writes CSV; name the file .csv", arguments.output));
  if (arguments.rows.num_given() != 1)
    throw InvalidArgument("say which rows: give their ids, or one of --ids 1,2,... and --ids-file FILE");
  const AnyIndex index = AnyIndex::open_on_touch(arguments.directory);
  const IndexInfo info = index.info();
  const NamedIds ids = arguments.rows.read(info.id_type);
  const std::vector<std::string> own = own_columns(index.schema());
  const std::vector<ShownColumn> columns = shown_columns(info, index.schema(), arguments.show, own);
  Output out(arguments.output);
  out.write(csv_header(own, columns));
  const std::vector<std::optional<Row>> rows = index.get(ids);
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]) {
      out.write(csv_line(*rows[i], info, columns));
    } else {
      missing.push_back(i);
    }
  }
  out.finish();
  if (!missing.empty() && !quiet)
    say("{} of {} not in {}: {}\n", grouped(missing.size()), counted(ids.size(), "id"), arguments.directory,
        list_of_missing(ids, missing));
  return ExitCode::ok;
}

}  // namespace

void add_get(Program& program) {
  CLI::App& command = *program.app.add_subcommand("get", "Print rows by their ids");
  const auto arguments = std::make_shared<GetArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  add_id_options(command, arguments->rows);
  command.add_option("--show", arguments->show, "Columns to print, in this order (default: all)")
      ->type_name("A,B,...");
  command.add_option("-o,--output", arguments->output, "File to write (default: standard output)")
      ->type_name("FILE");
  add_quiet(command, program);
  command.footer(
      "Writes CSV with every digit, a row per id in the order of the ids; culmen upsert reads it back. Ids "
      "that\n"
      "are not in the index are skipped, and named on standard error.\n\n"
      "Examples:\n"
      "  culmen get hotels.index 1000001\n"
      "  culmen get hotels.index --ids 1000001,1000002\n"
      "  culmen get hotels.index --ids 1000003 -o row.csv");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
