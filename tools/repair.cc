#include <fmt/core.h>

#include <memory>
#include <string>

#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
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
  if (ShardedIndex::is_at(arguments.directory))
    throw InvalidArgument(fmt::format(
        "{} holds a sharded index: culmen verify names the damaged shard, and repair takes its directory",
        arguments.directory));
  const RepairReport report = Index::repair(arguments.directory, arguments.output);
  std::string dropped_text;
  for (const std::string& dropped : report.dropped) dropped_text += dropped + '\n';
  std::string kept_text = fmt::format("{}: {} kept", arguments.output, counted(report.rows_kept, "row"));
  if (report.rows_lost > 0) kept_text += fmt::format(", {} lost", grouped(report.rows_lost));
  if (report.batches_applied > 0)
    kept_text += fmt::format("; {} of the log applied", counted(report.batches_applied, "batch", "batches"));
  if (report.batches_lost > 0)
    kept_text += fmt::format("; {} of the log lost", counted(report.batches_lost, "batch", "batches"));
  if (report.dropped.empty()) kept_text += "; nothing was skipped";
  const bool is_whole = report.dropped.empty() && report.rows_lost == 0;
  return print_result(dropped_text + kept_text + '\n', is_whole ? ExitCode::ok : ExitCode::bad_data,
                      kept_text);
}

}  // namespace

void add_repair(Program& program) {
  CLI::App& command = *program.app.add_subcommand("repair", "Save the intact rows of a damaged index");
  const auto arguments = std::make_shared<RepairArguments>();
  command.add_option("DIR", arguments->directory, "The damaged index, which is not changed")->required();
  command
      .add_option("-o,--output", arguments->output, "Directory of the new index; must not exist or be empty")
      ->required()
      ->type_name("NEWDIR");
  add_quiet(command, program);
  command.footer(
      "Reads every leaf and the log, and builds a new index of the rows with correct checksums. Prints a "
      "line\n"
      "for each part that is lost, then what was kept. The exit code is 0 if nothing was skipped, else 3\n"
      "(also for the end of a log that is no whole batch, as a crash leaves it), and NEWDIR holds the rest.\n"
      "Of the log, batches are applied up to the first that is damaged. If nothing can be saved, NEWDIR is\n"
      "not created.\n\n"
      "Examples:\n"
      "  culmen repair hotels.index -o mended.index\n"
      "  culmen verify mended.index --deep");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
