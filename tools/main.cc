// culmen: exact top-k over many attributes, with weights chosen at query time.
#include <string>

#include "culmen/error.h"
#include "tools/command_line.h"
#include "tools/commands.h"
#include "tools/result.h"
#include "tools/streams.h"

namespace {

using namespace culmen::tools;

void describe(CLI::App& app) {
  app.name("culmen");
  app.description(
      "Exact top-k over many attributes, with weights chosen at query time.\n"
      "Data goes to standard output, everything else to standard error.");
  app.set_version_flag("--version", "culmen " CULMEN_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 the operating system refused, 2 wrong usage, 3 bad or corrupt data,\n"
      "4 out of memory, 130 interrupted. Messages that cannot be written to standard error do not change\n"
      "them. Standard output that is closed early, as by head, is no error; a full disk is 1.\n\n"
      "Examples:\n"
      "  culmen generate hotels --rows 100000 -o hotels.csv\n"
      "  culmen build hotels.csv -o hotels.index --id id --label name --force\n"
      "  culmen query hotels.index -w price=-1,rating=2 -k 5 --scale minmax\n\n"
      "culmen COMMAND --help, or culmen help COMMAND, explains one command.");
}

ExitCode run(int argc, char** argv) {
  Program program;
  describe(program.app);
  add_generate(program);
  add_inspect(program);
  add_build(program);
  add_query(program);
  add_shell(program);
  add_insert(program);
  add_upsert(program);
  add_delete(program);
  add_get(program);
  add_export(program);
  add_info(program);
  add_compact(program);
  add_verify(program);
  add_repair(program);
  add_rebalance(program);
  add_serve(program);
  add_help(program);
  check_command(program.app, argc, argv);
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_result(program.app.help() + '\n');  // the help of the command, if one was named
  } catch (const CLI::CallForVersion& version) {
    return print_result(version.what() + std::string("\n"));
  } catch (const CLI::ExtrasError&) {
    throw culmen::InvalidArgument(unexpected_argument(program.app));
  }
  return program.run();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    prepare_streams();
    return static_cast<int>(run(argc, argv));
  } catch (...) {
    return static_cast<int>(report_current_exception());
  }
}
