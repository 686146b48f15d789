#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tools/commands.h"
#include "tools/numbers.h"
#include "tools/streams.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

struct GenerateArguments {
  std::string kind;
  GenerateOptions options;
  std::optional<int> num_attributes;
  std::string output;
};

// write_table refuses such a name too, but only after the table is generated.
void check_ending(const std::string& path) {
  if (path.ends_with(".csv") || path.ends_with(".npy")) return;
  throw InvalidArgument(fmt::format("{}: name the file .csv or .npy, so that its format is known", path));
}

// A pipe has no size.
std::string size_text(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? "" : ", " + in_bytes(bytes);
}

ExitCode run(const GenerateArguments& arguments, bool quiet) {
  GenerateOptions options = arguments.options;
  options.kind = parse_table_kind(arguments.kind);
  check_ending(arguments.output);
  if (arguments.num_attributes) {
    if (options.kind == TableKind::hotels)
      throw InvalidArgument("hotels has its own attributes: leave --dims out");
    options.num_attributes = *arguments.num_attributes;
  }
  const Table table = generate_table(options);
  write_table(table, arguments.output);
  if (!quiet)
    say("{}: {}, {}{}\n", arguments.output, counted(table.num_rows, "row"),
        counted(table.attributes.size(), "attribute"), size_text(arguments.output));
  return ExitCode::ok;
}

}  // namespace

void add_generate(Program& program) {
  CLI::App& command = *program.app.add_subcommand("generate", "Make a synthetic table");
  const auto arguments = std::make_shared<GenerateArguments>();
  command
      .add_option("KIND", arguments->kind,
                  "independent, correlated, anticorrelated, ratings, zipf, clusters, hotels, gaussian, "
                  "weather, heavytailed, "
                  "sparse, series or compositional")
      ->required();
  command.add_option("--rows", arguments->options.num_rows, "Number of rows")
      ->required()
      ->transform(whole_number<std::uint64_t>(0))
      ->type_name("N");
  command
      .add_option("--dims", arguments->num_attributes,
                  "Number of attributes, 1 to 1024, of anticorrelated to 32; hotels has its own (default 8)")
      ->transform(whole_number<int>(1, kMaxAttributes))
      ->type_name("D");
  command
      .add_option("--seed", arguments->options.seed,
                  "The same seed gives the same bytes on every machine (default 1)")
      ->transform(whole_number<std::uint64_t>(0))
      ->type_name("S");
  command
      .add_option("-o,--output", arguments->output,
                  "File to write; its extension, .csv or .npy, is the format")
      ->required()
      ->type_name("FILE");
  add_quiet(command, program);
  command.footer(
      "Hotels have an id and a name; NPY files hold attributes only.\n\n"
      "Examples:\n"
      "  culmen generate hotels --rows 100000 -o hotels.csv\n"
      "  culmen generate anticorrelated --rows 100000 --dims 4 --seed 7 -o points.npy");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
