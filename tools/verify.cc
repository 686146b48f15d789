#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/output.h"

namespace culmen::tools {
namespace {

struct Arguments {
  std::string directory;
  bool deep = false;
};

ExitCode run(const Arguments& arguments) {
  const Index index = Index::open(arguments.directory);
  const std::vector<std::string> faults = index.verify(arguments.deep);
  Output out("");
  for (const std::string& fault : faults) out.write(fault + '\n');
  if (faults.empty())
    out.write(fmt::format("{}: no fault found in {}\n", arguments.directory,
                          counted(index.info().num_tuples, "row")));
  out.finish();
  return faults.empty() ? ExitCode::ok : ExitCode::bad_data;
}

}  // namespace

void add_verify(Program& program) {
  CLI::App& command = *program.app.add_subcommand("verify", "Check an index for faults");
  const auto arguments = std::make_shared<Arguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  command.add_flag("--deep", arguments->deep, "Recompute the subset maxima of every block as well (slower)");
  add_quiet(command, program);
  command.footer(
      "Reads every byte, compares all checksums, and recomputes order, ids, bounds and counts.\n"
      "Prints one line a fault and ends with 3 if there is any.\n\n"
      "Examples:\n"
      "  culmen verify hotels.index\n"
      "  culmen verify hotels.index --deep");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
