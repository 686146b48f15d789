#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coding/any_index.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/result.h"

namespace culmen::tools {
namespace {

struct VerifyArguments {
  std::string directory;
  bool deep = false;
};

std::string log_text(const std::string& directory, const RecoveryInfo& log) {
  std::string text;
  if (log.num_batches > 0)
    text +=
        fmt::format("{}: {} of the log applied\n", directory, counted(log.num_batches, "batch", "batches"));
  if (log.dropped_bytes > 0)
    text += fmt::format(
        "{}: {}: {} at its end skipped, as they are no whole batch: what a crash or a power failure left of "
        "the last write, or a last batch that is damaged\n",
        directory, log.dropped_from, in_bytes(log.dropped_bytes));
  return text;
}

// A shard that was repaired is another index, which the manifest does not list.
std::string_view remedy(const std::string& directory) {
  return ShardedIndex::is_at(directory) ? "restore the shard from a copy, or build the sharded index again; "
                                          "culmen repair DIR/SHARD -o NEWDIR "
                                          "saves the intact rows of a damaged shard\n"
                                        : "culmen repair DIR -o NEWDIR saves the intact rows\n";
}

// `first`: the one at which opening ended.
std::vector<std::string> all_faults(const std::string& directory, const Error& first) {
  std::vector<std::string> faults;
  if (!ShardedIndex::is_at(directory)) faults = Index::damage(directory);
  if (faults.empty()) faults.emplace_back(first.what());
  return faults;
}

// Opening reads every byte.
std::vector<std::string> faults_at_opening(const VerifyArguments& arguments,
                                           std::optional<AnyIndex>& index) try {
  index = AnyIndex::open(arguments.directory);
  return {};
} catch (const NoIndex&) {
  throw;
} catch (const FormatError& error) {
  return all_faults(arguments.directory, error);
} catch (const IoError& error) {  // a file of the index is missing or cannot be read
  return all_faults(arguments.directory, error);
}

std::string lines_of(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += fault + '\n';
  return text;
}

ExitCode run(const VerifyArguments& arguments) {
  std::optional<AnyIndex> opened;
  if (const std::vector<std::string> faults = faults_at_opening(arguments, opened); !faults.empty())
    return print_result(lines_of(faults).append(remedy(arguments.directory)), ExitCode::bad_data);
  const AnyIndex& index = *opened;
  const std::vector<std::string> faults = index.verify(arguments.deep);
  std::string text = lines_of(faults);
  if (!faults.empty())
    text += remedy(arguments.directory);
  else
    text +=
        fmt::format("{}: no fault found in {}\n", arguments.directory, counted(index.info().num_rows, "row"));
  text += log_text(arguments.directory, index.recovery());
  return print_result(text, faults.empty() ? ExitCode::ok : ExitCode::bad_data);
}

}  // namespace

void add_verify(Program& program) {
  CLI::App& command = *program.app.add_subcommand("verify", "Check an index for faults");
  const auto arguments = std::make_shared<VerifyArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  command.add_flag("--deep", arguments->deep, "Also recompute the bounds of sums in every leaf (slower)");
  add_quiet(command, program);
  command.footer(
      "Reads every byte, compares all checksums, and recomputes order, ids, bounds and counts; bounds of "
      "sums\n"
      "of several attributes in a leaf only with --deep. Prints one line per fault, and what the log holds:\n"
      "changes newer than the snapshot. Of wrong checksums it shows ten of a kind and counts the others, "
      "and\n"
      "checks nothing else; culmen repair saves the intact rows. The exit code is 3 if there is a fault.\n\n"
      "Examples:\n"
      "  culmen verify hotels.index\n"
      "  culmen verify hotels.index --deep");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
