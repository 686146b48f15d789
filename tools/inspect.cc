// The command inspect: what a file holds, and the command that builds an index of it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/lower_case.h"
#include "base/quoted.h"
#include "coding/json_text.h"
#include "coding/printable.h"
#include "culmen/table_io.h"
#include "tools/commands.h"
#include "tools/dialect_options.h"
#include "tools/interrupt.h"
#include "tools/numbers.h"
#include "tools/odd_cells.h"
#include "tools/progress_bar.h"
#include "tools/result.h"
#include "tools/table_hints.h"
#include "tools/table_summary.h"
#include "tools/value_text.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

struct InspectArguments {
  std::string input;
  std::string name;  // of the file, where the input is a pipe that was made for it

  const std::string& shown_name() const { return name.empty() ? input : name; }

  DialectArguments dialect;
  int num_threads = 0;
  bool json = false;
};

// The rows that cannot be read.
struct Refused {
  static constexpr std::size_t kMostShown = 10;

  std::uint64_t num_rows = 0;
  std::vector<RejectedRow> first;

  void add(const RejectedRow& row) {
    if (num_rows++ < kMostShown) first.push_back(row);
  }
};

Table read(const InspectArguments& arguments, Refused& refused, ProgressBar& bar) try {
  ReadOptions options;
  options.is_partial = true;  // a table with nothing to rank is described, too
  options.on_rejected_row = [&refused](const RejectedRow& row) { refused.add(row); };
  options.dialect = parse_dialect(arguments.dialect);
  options.num_threads = arguments.num_threads;
  options.on_progress = [&bar](std::uint64_t done, std::uint64_t total) {
    throw_if_interrupted();
    bar.show("reading", total == 0 ? -1 : static_cast<double>(done) / static_cast<double>(total));
  };
  return read_table(arguments.input, options);
} catch (const InputError& error) {
  throw_with_hint(error);
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

// Such characters would act on the terminal. $'...' is of bash, zsh and ksh.
std::string ansi_c_word(std::string_view text) {
  std::string quoted = "$'";
  for (const char c : text) {
    if (is_control(c)) {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
  }
  return quoted + "'";
}

// A word of a command line, in quotes where the shell would change it.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:/=+-@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  if (std::ranges::any_of(text, is_control)) return ansi_c_word(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// A name in a list of names.
std::string listed_name(const std::string& name) {
  if (name.find_first_of(",\"= ") == std::string::npos && name.find(':') == std::string::npos) return name;
  return in_quotes(name);
}

std::string names_of(const std::vector<ColumnSummary>& columns, const auto& is_meant) {
  std::string names;
  for (const ColumnSummary& column : columns)
    if (is_meant(column)) names += (names.empty() ? "" : ",") + listed_name(column.name);
  return names;
}

// A file whose name could be an option.
std::string path_word(const std::string& path) {
  return shell_word(path.size() > 1 && path.starts_with('-') ? "./" + path : path);
}

// " --id price", or " --id=-1" where the value could be an option.
std::string option_with(std::string_view option, const std::string& value) {
  return fmt::format(" {}{}{}", option, value.starts_with('-') ? "=" : " ", shell_word(value));
}

// What `build` does without options; empty if there is nothing to rank.
std::string build_line(const InspectArguments& arguments, const Table& table,
                       const std::vector<ColumnSummary>& columns) {
  if (table.attributes.empty()) return "";
  std::string stem =
      arguments.input == "-" ? "table" : std::filesystem::path(arguments.shown_name()).filename().string();
  stem.erase(std::min(stem.find('.', 1), stem.size()));
  std::string line = fmt::format("culmen build {} -o {}{}", path_word(arguments.shown_name()),
                                 path_word(stem + ".index"), dialect_options(table.dialect));
  if (arguments.dialect.null_words) line += option_with("--null", *arguments.dialect.null_words);
  line += option_with("--attributes",
                      names_of(columns, [](const ColumnSummary& column) { return column.is_attribute; }));
  const std::string stored = names_of(columns, [](const ColumnSummary& column) {
    return !column.is_attribute && column.role == FieldRole::stored;
  });
  if (!stored.empty()) line += option_with("--stored", stored);
  if (table.num_rejected_rows > 0) line += " --rejects " + path_word(stem + ".rejects.csv");
  return line;
}

std::string use_of(const ColumnSummary& column) {
  return column.is_attribute ? "ranked" : column.role == FieldRole::filter ? "for filters" : "only shown";
}

bool all_differ(const ColumnSummary& column, std::size_t num_rows) {
  return column.num_missing == 0 && num_rows > 1 && column.num_distinct == num_rows;
}

// Whether a name ends with a word for ids, as hotel_id, hotelId and "Product SKU" do.
bool is_named_like_ids(const std::string& name) {
  constexpr std::array<std::string_view, 12> kWords = {"id",  "ids",  "key",  "uuid", "guid", "sku",
                                                       "ean", "gtin", "isbn", "isin", "asin", "upc"};
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_letter = [&](char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); };
  const std::string lower = lower_case(name);
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    if (!lower.ends_with(word)) return false;
    const std::size_t start = name.size() - word.size();
    return start == 0 || !is_letter(name[start - 1]) || (is_upper(name[start]) && !is_upper(name[start - 1]));
  });
}

struct ColumnsOfIds {
  std::vector<const ColumnSummary*> proposed;
  std::vector<const ColumnSummary*> others;  // whose values all differ, too, but names say nothing

  bool has(const ColumnSummary& column) const {
    return std::ranges::find(proposed, &column) != proposed.end();
  }
};

// Integers and texts that all differ may be ids: those whose names say so, else integers, else texts.
ColumnsOfIds columns_of_ids(const std::vector<ColumnSummary>& columns, std::size_t num_rows) {
  std::vector<const ColumnSummary*> named, integers, texts;
  for (const ColumnSummary& column : columns) {
    const bool is_text = column.format.type == ColumnType::text;
    if (!all_differ(column, num_rows) || !(is_text || column.format.type == ColumnType::integer)) continue;
    (is_named_like_ids(column.name) ? named : is_text ? texts : integers).push_back(&column);
  }
  if (named.empty()) return {integers.empty() ? texts : integers, {}};
  return {named, integers};
}

std::string text_of(const ColumnsOfIds& ids) {
  std::string out, others;
  for (const ColumnSummary* column : ids.proposed)
    out += fmt::format("all values of {} differ{}:{}{} takes them as ids{}\n", printable(column->name),
                       ids.others.empty() ? "" : ", and its name is one of ids",
                       option_with("--id", column->name),
                       column->format.type == ColumnType::text ? " --id-type text" : "",
                       column->role == FieldRole::stored ? "; then --stored does not name them" : "");
  for (const ColumnSummary* column : ids.others)
    others += (others.empty() ? "" : ", ") + printable(column->name);
  return others.empty() ? out : out + fmt::format("the values of {} differ, too\n", others);
}

std::string text_of(const Refused& refused, const std::string& input) {
  if (refused.num_rows == 0) return "";
  std::string out = fmt::format("{} cannot be read:\n", counted(refused.num_rows, "row"));
  for (const RejectedRow& row : refused.first)
    out += fmt::format("  {}:{}{}: {}\n", printable(input), row.line,
                       row.column == 0 ? "" : fmt::format(":{}", row.column), printable(row.problem));
  const std::uint64_t num_others = refused.num_rows - refused.first.size();
  return num_others == 0 ? out : out + fmt::format("  and {} more\n", grouped(num_others));
}

constexpr std::string_view kNothingToRank =
    "no index can be built yet: no column holds numbers. build --attributes COLUMN ranks one of dates, "
    "timestamps or booleans, and one of numbers but for some cells, whose rows --rejects FILE leaves out\n";

std::string text(const InspectArguments& arguments, const Table& table,
                 const std::vector<ColumnSummary>& columns, const Refused& refused) {
  const std::string dialect = describe(table.dialect);
  std::string out =
      fmt::format("{}: {}, {}{}\n", printable(arguments.shown_name()), counted(table.num_rows, "row"),
                  counted(columns.size(), "column"), dialect.empty() ? "" : "; read with " + dialect);
  for (const ColumnSummary& column : columns) {
    out +=
        fmt::format("  {:<20} {:<11} {}", printable(column.name), use_of(column), format_text(column.format));
    if (column.num_distinct > 0)
      out += fmt::format(", {} distinct, {} to {}", grouped(column.num_distinct), printable(column.first),
                         printable(column.last));
    out += column.num_missing > 0 ? fmt::format("; {} missing\n", grouped(column.num_missing)) : "\n";
  }
  out += odd_cells_text(table, "");
  out += text_of(columns_of_ids(columns, table.num_rows));
  out += text_of(refused, arguments.shown_name());
  const std::string line = build_line(arguments, table, columns);
  return out + (line.empty() ? std::string(kNothingToRank) : line + "\n");
}

std::string json(const InspectArguments& arguments, const Table& table,
                 const std::vector<ColumnSummary>& columns, const Refused& refused) {
  const ColumnsOfIds of_ids = columns_of_ids(columns, table.num_rows);
  Json problems = Json::array();
  for (const RejectedRow& row : refused.first)
    problems.push_back({{"line", row.line}, {"column", row.column}, {"problem", row.problem}});
  Json list = Json::array();
  for (const ColumnSummary& column : columns)
    list.push_back({{"name", column.name},
                    {"use", use_of(column)},
                    {"type", format_text(column.format)},
                    {"missing", column.num_missing},
                    {"distinct", column.num_distinct},
                    {"first", column.first},
                    {"last", column.last},
                    {"may_be_ids", of_ids.has(column)}});
  return json_text({{"rows", table.num_rows},
                    {"dialect", describe(table.dialect)},
                    {"columns", std::move(list)},
                    {"refused", refused.num_rows},
                    {"problems", std::move(problems)},
                    {"build", build_line(arguments, table, columns)}}) +
         "\n";
}

ExitCode run(const InspectArguments& arguments, bool quiet) {
  const InterruptGuard guard;
  ProgressBar bar(quiet);
  Refused refused;
  const Table table = read(arguments, refused, bar);
  const std::vector<ColumnSummary> columns = summaries_of(table.view());
  bar.wipe();
  return print_result(arguments.json ? json(arguments, table, columns, refused)
                                     : text(arguments, table, columns, refused));
}

}  // namespace

void add_inspect(Program& program) {
  CLI::App& command = *program.app.add_subcommand(
      "inspect", "Describe a table, and print the command that builds an index of it");
  const auto arguments = std::make_shared<InspectArguments>();
  command.add_option("INPUT", arguments->input, "A table, as for build")->required();
  command.add_option("--name", arguments->name, "What to call INPUT in the output, if it is a pipe")
      ->type_name("FILE")
      ->group("");  // for the Python package, which converts files to pipes of CSV
  command.add_flag("--json", arguments->json, "Print JSON");
  add_dialect_options(command, arguments->dialect);
  command.add_option("--threads", arguments->num_threads, "Threads (default: all)")
      ->transform(whole_number<int>(0))
      ->type_name("T");
  add_quiet(command, program);
  command.footer(
      "Of each column: its use and type, how many values differ, the least and the greatest, and how many "
      "are\n"
      "missing. Rows that cannot be read are left out, counted, and the first ten are shown. The command "
      "that "
      "it\nprints does what culmen build does without options, but leaves such rows out.\n\n"
      "Examples:\n"
      "  culmen inspect hotels.csv\n"
      "  culmen inspect prices.txt --decimal comma");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
