#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/elapsed.h"
#include "coding/any_index.h"
#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/streams.h"
#include "tools/temp_directory_option.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

namespace fs = std::filesystem;

struct CompactArguments {
  std::string directory;
  std::string temp_directory;
  int num_threads = 0;
};

struct Size {
  IndexInfo info;
  std::uint64_t bytes_on_disk = 0;
};

std::uint64_t bytes_on_disk(const std::string& directory) {
  std::uint64_t num_bytes = 0;
  std::error_code ignored;  // a file may be removed meanwhile
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file(ignored)) num_bytes += entry.file_size(ignored);
  return num_bytes;
}

std::string text(const Size& size) {
  return fmt::format("{}, {} of data, {} of tree and bounds, {} on disk",
                     counted(size.info.num_leaves, "leaf", "leaves"), in_bytes(size.info.data_bytes),
                     in_bytes(size.info.overhead_bytes), in_bytes(size.bytes_on_disk));
}

ExitCode run(const CompactArguments& arguments, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  const Loading loading = arguments.temp_directory.empty() ? Loading::whole : Loading::on_touch;
  AnyIndex index = AnyIndex::open(
      arguments.directory, {.writable = true, .num_threads = arguments.num_threads, .loading = loading});
  const Size before = {index.info(), bytes_on_disk(arguments.directory)};
  index.compact({.temp_directory = arguments.temp_directory});
  index.close();
  const Size after = {index.info(), bytes_on_disk(arguments.directory)};
  const double elapsed = microseconds_since(start);
  if (quiet) return ExitCode::ok;
  say("{}: {}, compacted in {}\n", arguments.directory, counted(after.info.num_rows, "row"),
      in_time(elapsed));
  say("  before: {}\n  after:  {}\n", text(before), text(after));
  return ExitCode::ok;
}

}  // namespace

void add_compact(Program& program) {
  CLI::App& command = *program.app.add_subcommand("compact", "Rebuild an index from its rows");
  const auto arguments = std::make_shared<CompactArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  command.add_option("--threads", arguments->num_threads, "Threads (default: all)")
      ->transform(whole_number<int>(0))
      ->type_name("T");
  add_temp_directory_option(
      command, arguments->temp_directory,
      "For an index larger than memory: where the new one is built, as for culmen build\n"
      "(default: in memory)");
  add_quiet(command, program);
  command.footer(
      "After many changes leaves may be only partly filled: answers stay exact, but the index is larger\n"
      "than necessary, and searches read more. culmen info says when compacting is worth it. Rows, ids and\n"
      "answers do not change, and other processes can search meanwhile. Takes the time of a build, and\n"
      "memory for a second index, or room in --temp-directory.\n\n"
      "Examples:\n"
      "  culmen compact hotels.index\n"
      "  culmen compact hotels.index --threads 1");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
