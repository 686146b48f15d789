// The command lines of insert and upsert.
#include <fmt/core.h>

#include <memory>
#include <string_view>

#include "tools/commands.h"
#include "tools/duration.h"
#include "tools/insert_rows.h"
#include "tools/max_memory.h"
#include "tools/rejects.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

void add_table_options(CLI::App& command, InsertArguments& arguments, Change change) {
  command.add_option("DIR", arguments.directory, "The index")->required();
  command
      .add_option(
          "INPUT", arguments.input,
          ".csv, .tsv, .txt or .jsonl (also with .gz, .bz2, .xz or .zst), .npy, .fvecs, .fbin; - reads CSV\n"
          "or JSON Lines from standard input, as it arrives")
      ->required();
  command
      .add_option("--id", arguments.id_column,
                  change == Change::insert
                      ? "Column of ids (default: the column that build --id named; if INPUT has none,\n"
                        "the next free id + the row's number)"
                      : "Column of ids; rows with the same ids are replaced (default: the column that\n"
                        "build --id named)")
      ->type_name("COLUMN")
      ->group("Table");
  if (change == Change::insert)
    command.add_flag("--new-ids", arguments.new_ids, "Give the rows the next free ids, though INPUT has ids")
        ->excludes(command.get_option("--id"))
        ->group("Table");
  if (change == Change::upsert)
    command
        .add_flag(
            "--partial", arguments.is_partial,
            "Columns that INPUT does not have keep their values, the label too. An empty cell is a missing\n"
            "value, and replaces the one that is there. All ids must be in the index already")
        ->group("Table");
  CLI::Option* label =
      command
          .add_option("--label", arguments.label_column,
                      "Column of labels, if the index has labels (default: the one that build --label named)")
          ->type_name("COLUMN")
          ->group("Table");
  command.add_flag("--no-labels", arguments.no_labels, "The rows have no labels, though the index has")
      ->excludes(label)
      ->group("Table");
  command
      .add_option(
          "--attributes", arguments.attributes,
          "Columns of INPUT that hold the attributes of the index, in its order. Default: those of the\n"
          "same names, or in .npy, .fvecs and .fbin all but the id, by position")
      ->type_name("A,B,...")
      ->group("Table");
  command
      .add_option(
          "--columns", arguments.columns,
          "Columns to read besides attributes, id and label (default: all). A column that the index\n"
          "does not have is an error unless this leaves it out; one that INPUT does not have is missing\n"
          "in its rows")
      ->type_name("A,B,...")
      ->group("Table");
  command
      .add_option("--nulls", arguments.nulls,
                  change == Change::insert ? "Rows that miss a value of an attribute: keep them, reject the "
                                             "input, or drop the rows, those\n"
                                             "with infinities too (default keep)"
                                           : "Rows that miss a value of an attribute: keep them, reject the "
                                             "input, or drop the rows, those\n"
                                             "with infinities too (default keep). Rows of the index that "
                                             "dropped ones would have replaced\n"
                                             "stay as they are, and the command names their ids")
      ->check(CLI::IsMember({"keep", "reject", "drop"}))
      ->group("Table");
  command
      .add_option("--type", arguments.type,
                  "f32: round values to float32 in an index of float32. Without it such an index refuses\n"
                  "values that float32 cannot hold exactly")
      ->check(CLI::IsMember({"f32"}))
      ->group("Table");
  if (change == Change::insert)
    command
        .add_option(
            "--duplicates", arguments.duplicates,
            "Of several rows of INPUT with one id: an error, or with --atomic insert the first or the\n"
            "last of them (default error)")
        ->check(CLI::IsMember({"error", "first", "last"}))
        ->group("Table");
  if (change == Change::upsert)
    command
        .add_option("--duplicates", arguments.duplicates,
                    "Of several rows of INPUT with one id the last wins, or with --atomic they are an error\n"
                    "(default last)")
        ->check(CLI::IsMember({"last", "error"}))
        ->group("Table");
  add_dialect_options(command, arguments.dialect);
  add_rejects_option(command, arguments.rejects);
}

void add_writing_options(CLI::App& command, InsertArguments& arguments) {
  CLI::Option* batch = command
                           .add_option("--batch", arguments.batch_rows,
                                       "Rows that become visible, and durable, together (default 10000)")
                           ->transform(whole_number<std::uint64_t>(1))
                           ->type_name("ROWS")
                           ->group("Writing");
  CLI::Option* delay =
      command
          .add_option_function<std::string>(
              "--max-delay",
              [&arguments](const std::string& text) {
                arguments.max_delay = parse_duration(text, "--max-delay");
              },
              "From a pipe, write rows at the latest so long after the first of a batch was read, also if "
              "no\n"
              "others come, as in 200ms, 5s or 2min (default: when none has come for a second)")
          ->type_name("DURATION")
          ->group("Writing");
  CLI::Option* skip = command
                          .add_option("--skip", arguments.skip_rows,
                                      "Skip so many rows at the beginning, to continue after an error")
                          ->transform(whole_number<std::uint64_t>(0))
                          ->type_name("ROWS")
                          ->group("Writing");
  command
      .add_flag("--atomic", arguments.atomic,
                "Write all rows of INPUT or none: reads all of it into memory first")
      ->excludes(batch)
      ->excludes(delay)
      ->excludes(skip)
      ->group("Writing");
  CLI::Option* expire =
      command
          .add_option(
              "--expire", arguments.expire,
              "With each batch, in one step, delete the rows that pass, those of the batch too, as in\n"
              "\"second < 3600\"; the language is that of query --where")
          ->type_name("FILTER")
          ->group("Writing");
  if (CLI::Option* partial = command.get_option_no_throw("--partial")) expire->excludes(partial);
  add_durability(command, arguments.durability);
  command.get_option("--durability")->group("Writing");
  add_max_memory_of_writer(command, arguments.max_memory, "Writing");
  command.add_option("--threads", arguments.num_threads, "Threads (default: all)")
      ->transform(whole_number<int>(0))
      ->type_name("T")
      ->group("Writing");
}

constexpr std::string_view kBatches =
    "Rows are written in batches, in order; each batch is written completely or not at all. After an error\n"
    "or Ctrl-C the command says how many rows of INPUT are in the index, if it wrote any, and --skip "
    "continues\n"
    "after them; else start again with the same --skip.\n"
    "From a pipe a batch also ends when no data has arrived for a second, or as --max-delay says.\n\n";

void add_change(Program& program, Change change, CLI::App& command, std::string_view footer) {
  const auto arguments = std::make_shared<InsertArguments>();
  if (change == Change::upsert) arguments->duplicates = "last";
  add_table_options(command, *arguments, change);
  add_writing_options(command, *arguments);
  add_quiet(command, program);
  command.footer(fmt::format("{}{}", kBatches, footer));
  command.callback([&program, arguments, change] {
    program.run = [&program, arguments, change] { return insert_rows(*arguments, change, program.quiet); };
  });
}

}  // namespace

void add_insert(Program& program) {
  CLI::App& command = *program.app.add_subcommand("insert", "Add the rows of a table to an index");
  add_change(program, Change::insert, command,
             "An id that is in the index already is an error; culmen upsert replaces its row.\n\n"
             "Examples:\n"
             "  culmen generate hotels --rows 500 --seed 2 -o new.csv\n"
             "  culmen insert hotels.index new.csv --new-ids\n"
             "  cat new.csv | culmen insert hotels.index - --new-ids --batch 100");
}

void add_upsert(Program& program) {
  CLI::App& command = *program.app.add_subcommand(
      "upsert", "Add the rows of a table to an index, or replace those with the same ids");
  add_change(program, Change::upsert, command,
             "A row replaces the one with the same id, if there is one. Of several rows with one id the last "
             "wins.\n\n"
             "Examples:\n"
             "  culmen upsert hotels.index new.csv\n"
             "  culmen upsert hotels.index new.csv --id id --no-labels --atomic");
}

}  // namespace culmen::tools
