#include <fmt/core.h>

#include <memory>
#include <string>

#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/result.h"

namespace culmen::tools {
namespace {

struct RepairArguments {
  std::string directory;
  std::string output;
};

ExitCode run(const RepairArguments& arguments) {
  const RepairReport report = Index::repair(arguments.directory, arguments.output);
  std::string dropped_text;
  for (const std::string& dropped : report.dropped) dropped_text += dropped + '\n';
  std::string kept_text = fmt::format("{}: {} kept", arguments.output, counted(report.rows_kept, "row"));
  if (report.rows_lost > 0) kept_text += fmt::format(", {} lost", grouped(report.rows_lost));
  if (report.batches_applied > 0)
    kept_text += fmt::format("; {} of the log applied", counted(report.batches_applied, "batch", "batches"));
  if (report.dropped.empty()) kept_text += "; nothing was left out";
  const bool is_whole = report.dropped.empty() && report.rows_lost == 0;
  return print_result(dropped_text + kept_text + '\n', is_whole ? ExitCode::ok : ExitCode::bad_data,
                      kept_text);
}

}  // namespace

void add_repair(Program& program) {
  CLI::App& command = *program.app.add_subcommand("repair", "Save what is sound of a damaged index");
  const auto arguments = std::make_shared<RepairArguments>();
  command.add_option("DIR", arguments->directory, "The damaged index, which stays as it is")->required();
  command.add_option("-o,--output", arguments->output, "Directory of the new index, not there yet or empty")
      ->required()
      ->type_name("NEWDIR");
  add_quiet(command, program);
  command.footer(
      "Reads every leaf and the log, and builds a new index of the rows whose checksums are right. Prints "
      "a\n"
      "line for each thing it had to leave out, then what it kept. Ends with 0 if nothing was lost, and with "
      "3\n"
      "if anything was: NEWDIR holds what is left. If nothing at all can be saved there is no NEWDIR.\n\n"
      "Examples:\n"
      "  culmen repair hotels.index -o mended.index\n"
      "  culmen verify mended.index --deep");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
