#include <fmt/core.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lower_case.h"
#include "coding/answer_json.h"
#include "coding/any_index.h"
#include "culmen/error.h"
#include "culmen/row_reader.h"
#include "tools/commands.h"
#include "tools/csv_rows.h"
#include "tools/npy_header.h"
#include "tools/numbers.h"
#include "tools/output.h"
#include "tools/streams.h"
#include "tools/value_text.h"

namespace culmen::tools {
namespace {

constexpr std::size_t kRowsAtOnce = 4096;

struct ExportArguments {
  std::string directory;
  std::string file;
  std::string format;
  std::string where;
  std::optional<std::string> show;
};

std::string chosen_format(const ExportArguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  const std::string ending = lower_case(std::filesystem::path(arguments.file).extension().string());
  if (ending.empty() || ending == ".csv") return "csv";
  if (ending == ".npy") return "npy";
  if (ending == ".jsonl" || ending == ".ndjson") return "jsonl";
  throw InvalidArgument(
      fmt::format("{}: cannot tell the format by the ending {}; known are .csv, .jsonl, .ndjson and .npy, "
                  "and --format chooses one whatever the ending",
                  arguments.file, ending));
}

RowReader reader_of(const ExportArguments& arguments) {
  Filter where;
  if (!arguments.where.empty())
    where = AnyIndex::open_on_touch(arguments.directory).columns().filter(arguments.where);
  return RowReader::of_directory(arguments.directory, where);
}

// Calls use(row) for each row. Returns their number.
std::uint64_t for_each_row(RowReader& reader, const auto& use) {
  std::uint64_t num_rows = 0;
  for (std::vector<Row> part; !(part = reader.next(kRowsAtOnce)).empty(); num_rows += part.size())
    for (const Row& row : part) use(row);
  return num_rows;
}

std::uint64_t write_rows_as_csv(RowReader& reader, const std::vector<std::string>& own,
                                const std::vector<ShownColumn>& columns, Output& out) {
  const IndexInfo info = reader.info();
  out.write(csv_header(own, columns));
  return for_each_row(reader, [&](const Row& row) { out.write(csv_line(row, info, columns)); });
}

std::uint64_t write_rows_as_jsonl(RowReader& reader, const std::vector<std::string>& own,
                                  const std::vector<ShownColumn>& columns, Output& out) {
  const FlatRows rows(reader.info(), own, columns);
  return for_each_row(reader, [&](const Row& row) { out.write(rows.text(row) + '\n'); });
}

// Ids and attributes: NumPy has no missing integers, and texts of one length only.
std::vector<ShownColumn> numeric_columns(std::vector<ShownColumn> columns, bool all_are_named) {
  const auto field = std::ranges::find(columns, false, &ShownColumn::is_attribute);
  if (all_are_named && field != columns.end())
    throw InvalidArgument(fmt::format(
        "npy holds ids and attributes, and \"{}\" is neither: leave it out of --show, or write csv or jsonl",
        field->name));
  std::erase_if(columns, [](const ShownColumn& column) { return !column.is_attribute; });
  return columns;
}

std::string npy_name(const std::string& title) {
  std::string quoted = "'";
  for (const char c : title) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::uint64_t write_rows_as_npy(RowReader& reader, std::uint64_t num_rows,
                                const std::vector<std::string>& own, const std::vector<ShownColumn>& columns,
                                Output& out) {
  const IdType type = reader.schema().id_type;
  std::string descr = "[(" + npy_name(own.front()) + ", '" + std::string(npy_type_of(type)) + "')";
  for (const ShownColumn& column : columns) descr += ", (" + npy_name(column.title) + ", '<f8')";
  out.write(npy_header(descr + "]", fmt::format("({},)", num_rows)));
  std::string record((1 + columns.size()) * 8, '\0');
  return for_each_row(reader, [&](const Row& row) {
    const std::int64_t id = npy_id(row.id, type);
    std::memcpy(record.data(), &id, sizeof id);
    for (std::size_t i = 0; i < columns.size(); ++i)
      std::memcpy(record.data() + 8 * (1 + i), &row.values[columns[i].position], sizeof(double));
    out.write(record);
  });
}

std::uint64_t count_rows(const ExportArguments& arguments) {
  RowReader reader = reader_of(arguments);
  if (arguments.where.empty()) return reader.num_rows();
  return for_each_row(reader, [](const Row&) {});
}

ExitCode run(const ExportArguments& arguments, bool quiet) {
  const std::string format = chosen_format(arguments);
  if (format == "npy" && arguments.file.empty() && stdout_is_terminal())
    throw InvalidArgument("npy is binary: name a file, or use a pipe");
  RowReader reader = reader_of(arguments);
  if (format == "npy") refuse_texts_in_npy(reader.schema().id_type, "csv or jsonl");
  const std::vector<std::string> own = own_columns(reader.schema());
  std::vector<ShownColumn> columns = shown_columns(reader.info(), reader.schema(), arguments.show, own);
  if (format == "npy") columns = numeric_columns(std::move(columns), arguments.show.has_value());
  const std::uint64_t num_rows = format == "npy" ? count_rows(arguments) : 0;
  Output out(arguments.file);
  const std::uint64_t written = format == "npy"     ? write_rows_as_npy(reader, num_rows, own, columns, out)
                                : format == "jsonl" ? write_rows_as_jsonl(reader, own, columns, out)
                                                    : write_rows_as_csv(reader, own, columns, out);
  if (format == "npy" && written != num_rows)
    throw IoError(arguments.directory + " changed meanwhile: export it again");
  out.finish();
  if (!quiet && !arguments.file.empty())
    say("{} of {} written to {}\n", counted(written, "row"), arguments.directory, arguments.file);
  return ExitCode::ok;
}

}  // namespace

void add_export(Program& program) {
  CLI::App& command = *program.app.add_subcommand("export", "Write all rows to a file");
  const auto arguments = std::make_shared<ExportArguments>();
  command.add_option("DIR", arguments->directory, "The index, sharded or not")->required();
  command.add_option("FILE", arguments->file,
                     "File to write, completely or not at all (default: standard output)");
  command
      .add_option("--format", arguments->format,
                  "Default: by the extension of FILE, else csv. jsonl: an object on each line, missing\n"
                  "values null. npy: a structured array of ids and attributes (float64, NaN where they are\n"
                  "missing), without labels and other columns")
      ->check(CLI::IsMember({"csv", "jsonl", "npy"}));
  command.add_option("--where", arguments->where, "Only rows that pass, as of query")->type_name("FILTER");
  command.add_option("--show", arguments->show, "Columns to write, in this order (default: all)")
      ->type_name("A,B,...");
  add_quiet(command, program);
  command.footer(
      "CSV and JSON Lines have every digit, and build, insert and upsert read them back. Reads the index "
      "part\n"
      "by part, so it takes some megabytes of memory for an index of any size. The order of the rows is not\n"
      "promised.\n\n"
      "Examples:\n"
      "  culmen export hotels.index hotels.jsonl\n"
      "  culmen export hotels.index hotels.csv\n"
      "  culmen export hotels.index cheap.npy --where \"price<=200\" --show price,rating");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
