#include "culmen/calibrate.h"

#include <fmt/core.h>

#include <memory>

#include "tools/commands.h"

namespace culmen::tools {
namespace {

ExitCode run(bool show, bool quiet) {
  const Calibration costs = show ? calibration() : calibrate();
  for (const CalibratedCost& cost : costs.costs)
    fmt::print("{:<24} {:>10.2f}  {}\n", cost.name, cost.nanoseconds, cost.meaning);
  if (quiet) return ExitCode::ok;
  if (!costs.is_measured) {
    fmt::print(stderr, "built-in constants: this machine was not measured\n");
    return ExitCode::ok;
  }
  if (!costs.is_sure)
    fmt::print(stderr,
               "not sure: other programs keep the machine busy; measure again when it has less to do\n");
  if (costs.file.empty())
    fmt::print(stderr, "measured, but there is no file to keep it in: set CULMEN_CALIBRATION\n");
  else
    fmt::print(stderr, "{} {}\n", show ? "read from" : "kept in", costs.file.string());
  return ExitCode::ok;
}

}  // namespace

void add_calibrate(Program& program) {
  CLI::App& command =
      *program.app.add_subcommand("calibrate", "Measure what the planner's predictions are made of");
  const auto show = std::make_shared<bool>(false);
  command.add_flag("--show", *show, "Print the constants in use and measure nothing");
  add_quiet(command, program);
  command.footer(
      "Nanoseconds of each unit of work. Takes three to five seconds, on a busy machine longer: only the "
      "quickest\n"
      "runs count, which nothing disturbs. Constants that are not sure because the machine was too busy "
      "never\n"
      "take the place of sure ones. Kept in the file that\n"
      "CULMEN_CALIBRATION names, else in culmen's folder of the user's cache; without it the planner goes "
      "by\n"
      "built-in constants. Answers never depend on them.");
  command.callback(
      [&program, show] { program.run = [&program, show] { return run(*show, program.quiet); }; });
}

}  // namespace culmen::tools
