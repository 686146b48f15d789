#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/elapsed.h"
#include "culmen/sharded_index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/streams.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

struct RebalanceArguments {
  std::string directory;
  std::uint32_t num_shards = 0;
  int num_threads = 0;
};

ExitCode run(const RebalanceArguments& arguments, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  ShardedIndex::rebalance(arguments.directory, arguments.num_shards, {.num_threads = arguments.num_threads});
  const double elapsed = microseconds_since(start);
  if (!quiet)
    say("{}: {}, written in {}\n", arguments.directory, counted(arguments.num_shards, "shard"),
        in_time(elapsed));
  return ExitCode::ok;
}

}  // namespace

void add_rebalance(Program& program) {
  CLI::App& command =
      *program.app.add_subcommand("rebalance", "Distribute a sharded index over other shards");
  const auto arguments = std::make_shared<RebalanceArguments>();
  command.add_option("DIR", arguments->directory, "The sharded index")->required();
  command.add_option("--shards", arguments->num_shards, "How many shards there will be")
      ->required()
      ->transform(whole_number<std::uint32_t>(1))
      ->type_name("S");
  command.add_option("--threads", arguments->num_threads, "Threads (default: all)")
      ->transform(whole_number<int>(0))
      ->type_name("T");
  add_quiet(command, program);
  command.footer(
      "Writes the new shards beside the old ones, then replaces the list of shards, then removes the old "
      "ones:\n"
      "after an error or a crash the old ones are still there. Reads the old shards for each new one, and "
      "needs\n"
      "memory for one of each. Answers do not change.\n\n"
      "Examples:\n"
      "  culmen build hotels.csv -o hotels.shards --shards 4 --id id --label name\n"
      "  culmen rebalance hotels.shards --shards 8");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
