// The command line of query.
#include <memory>

#include "tools/codes.h"
#include "tools/commands.h"
#include "tools/max_memory.h"
#include "tools/question_options.h"
#include "tools/run_query.h"
#include "tools/shell.h"
#include "tools/streams.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

void add_query_options(CLI::App& command, QueryArguments& arguments) {
  CLI::Option* weights =
      command
          .add_option("-w,--weights", arguments.weights,
                      "By name, as in price=-0.4,rating=1.2 (attributes not named get 0), or one number per\n"
                      "attribute, in order, as in -0.4,1.2. Double quotes enclose a name with a comma")
          ->type_name("WEIGHTS")
          ->group("Query");
  command
      .add_option(
          "--weights-file", arguments.weights_file,
          "Many queries, one per row: CSV or JSON Lines whose columns are called as attributes, or .npy,\n"
          ".fvecs or .fbin by position; - reads CSV or JSON Lines from standard input. Columns called "
          "where,\n"
          "k and min_score have those of the row, if no attribute is called so")
      ->excludes(weights)
      ->type_name("FILE")
      ->group("Query");
  command.add_option("-k", arguments.k, "Number of rows (default 10; with --min-score all that reach it)")
      ->transform(whole_number<std::size_t>(1))
      ->type_name("K")
      ->group("Query");
  command
      .add_option(
          "--where", arguments.where,
          "Only rows that pass, as in \"price<=200 and not city in ('Roma', 'Paris')\": = != < <= > >=,\n"
          "between, in, like 'prefix%' and is null, joined by and, or and not, with parentheses; id is the\n"
          "row's id")
      ->type_name("FILTER")
      ->group("Query");
  command
      .add_option(
          "--ids-file", arguments.ids_file,
          "Only rows with the ids in a file, one per line, or in a Roaring bitmap (portable format for\n"
          "64 bits) called *.roaring; - for standard input")
      ->type_name("FILE")
      ->group("Query");
  command
      .add_option("--not-ids-file", arguments.not_ids_file,
                  "No rows with the ids in a file, as of --ids-file")
      ->type_name("FILE")
      ->group("Query");
  command.add_option("--min-score", arguments.min_score, "Only rows with at least this score")
      ->type_name("X")
      ->group("Query");
  command
      .add_option(
          "--after", arguments.after,
          "The next page: only rows behind this score and id, those of the last row of the page\n"
          "before; as JSON has them after its results. A text may be in quotes, as in CSV: 0.5,\"a,b\". A\n"
          "change of the index may move rows between pages")
      ->type_name("SCORE,ID")
      ->group("Query");
  command
      .add_option("--per", arguments.per,
                  "At most N rows for each value of a column, as in brand=2. Rows of pages before --after\n"
                  "count")
      ->type_name("COLUMN=N")
      ->group("Query");
  command
      .add_option(
          "--scale", arguments.scale,
          "minmax: weights apply to attributes scaled to 0..1 by their range in the index; zscore: to\n"
          "their distances from the mean, in standard deviations, which costs a pass over the index;\n"
          "rank: to the share of the build's rows with lower values, whatever the outliers\n"
          "(default none: to the attributes as they are)")
      ->check(CLI::IsMember({"none", "minmax", "zscore", "rank"}))
      ->group("Query");
  command
      .add_option(
          "--missing", arguments.missing,
          "Rows that miss a value that is ranked: skip leaves them out, fill ranks the stand-ins that\n"
          "build --missing has chosen (default skip)")
      ->check(CLI::IsMember({"skip", "fill"}))
      ->group("Query");
  command
      .add_option(
          "--terms", arguments.terms,
          "What is added to the score besides the weights, as in \"2 * near(price, 100) + log1p(reviews)\n"
          "- 0.5 * [brand = 'Sony']\": functions of a column, near(column, value), decay(column, origin,\n"
          "scale[, linear|exp|gauss]), log, log1p, sqrt and saturate(column, half), and conditions in\n"
          "brackets, as for --where. Rows without a value that the functions take are left out.\n"
          "On a GPU not with the engine gta")
      ->type_name("TERMS")
      ->group("Query");
}

void add_running_options(CLI::App& command, QueryArguments& arguments) {
  command
      .add_option("--engine", arguments.engine,
                  "auto, scan, ta, gta or bounded: the answer is the same, the work is not (default auto)")
      ->type_name("ENGINE")
      ->group("Running");
  command
      .add_option("--threads", arguments.num_threads,
                  "Threads that share a scan, gta or a file of queries (default: all cores)")
      ->transform(whole_number<int>(0))
      ->type_name("T")
      ->group("Running");
  command
      .add_option(
          "--device", arguments.device,
          "auto, cpu, cuda:N for a GPU, or cuda:N,M for several, among which queries are divided (default\n"
          "auto: the CPU, but for files of 1,000 queries and more the GPU with the most free memory, if\n"
          "that is predicted to be faster, including the copy of the index)")
      ->type_name("DEVICE")
      ->group("Running");
  command
      .add_option("--memory", arguments.memory,
                  "Where the rows are for a GPU: auto, device, managed, host or compressed, there in few "
                  "bits (default\n"
                  "auto: device if they fit, else compressed, else host)")
      ->type_name("MEMORY")
      ->group("Running");
  command
      .add_option(
          "--layout", arguments.layout,
          "What each of several GPUs has: replicate, a copy, for many queries, or shard, a part of the\n"
          "index, for an index that one has no room for (default replicate)")
      ->type_name("LAYOUT")
      ->group("Running");
  command
      .add_flag("--explain", arguments.explain,
                "Print the plan, with predicted times, instead of the answer: as text, or as JSON with\n"
                "--format json or jsonl")
      ->group("Running");
  command
      .add_flag("--profile", arguments.profile,
                "Answer twice; report on standard error what the second run read, its time, and the\n"
                "predicted time")
      ->group("Running");
}

void add_row_options(CLI::App& command, QueryArguments& arguments) {
  command
      .add_option(
          "--rank-of", arguments.rank_of,
          "Print where the rows with these ids stand among all that the query ranks, not the best rows")
      ->type_name("ID,...")
      ->group("Other questions");
  command.add_option("--count-above", arguments.count_above, "Print how many rows score more than this")
      ->type_name("SCORE")
      ->group("Other questions");
  command
      .add_option(
          "--why", arguments.why,
          "Print the part that each attribute has in the row's score; of two rows also the changes of\n"
          "one weight that would swap them")
      ->type_name("ID[,ID]")
      ->group("Other questions");
}

void add_answer_options(CLI::App& command, QueryArguments& arguments) {
  command
      .add_option(
          "--format", arguments.format,
          "Default: by the extension of -o; without -o, table on a terminal and csv elsewhere. All but\n"
          "table keep every digit; npy holds ids and scores. In table and csv a column called query, rank,\n"
          "id, score or label gets the prefix \"attribute.\" or \"field.\"")
      ->check(CLI::IsMember({"table", "csv", "json", "jsonl", "npy"}))
      ->group("Answer");
  command
      .add_option("--show", arguments.show,
                  "Columns to print, in this order (default: all; in a table on a terminal, those that fit)")
      ->type_name("A,B,...")
      ->group("Answer");
  command
      .add_option("-o,--output", arguments.output,
                  "File to write, completely or not at all (default: standard output)")
      ->type_name("FILE")
      ->group("Answer");
}

}  // namespace

void add_question_options(CLI::App& command, QueryArguments& arguments) {
  add_query_options(command, arguments);
  add_row_options(command, arguments);
  add_running_options(command, arguments);
  add_answer_options(command, arguments);
}

void add_query(Program& program) {
  CLI::App& command = *program.app.add_subcommand("query", "Find the rows with the highest weighted sums");
  const auto arguments = std::make_shared<QueryArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  add_question_options(command, *arguments);
  add_max_memory_of_reader(command, arguments->max_memory, "Running");
  add_codes(command, arguments->codes, "Running");
  add_quiet(command, program, "Write only errors, and what --profile asks for, to standard error");
  command.footer(
      "Without weights, on a terminal, it asks for questions, as culmen shell does.\n\n"
      "Score: the sum of weight * attribute, and of --terms. Higher scores come first, equal ones by smaller "
      "id.\n\n"
      "Examples:\n"
      "  culmen query hotels.index -w price=-1,rating=2 -k 5 --scale minmax\n"
      "  culmen query hotels.index -w rating=1 --where \"price<=200 and city='Roma'\" --format json\n"
      "  culmen query hotels.index -w rating=1 --not-ids-file seen.txt\n"
      "  culmen query hotels.index -w rating=1 --terms \"0.02 * near(price, 120)\"\n"
      "  culmen query hotels.index -w rating=1 --per city=2 --after 9.5,1000017\n"
      "  culmen query hotels.index -w price=-1,rating=20 --why 1000017,1000018\n"
      "  culmen query hotels.index -w price=-0.4,rating=1.2 -k 100 --profile -o best.csv");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] {
      const bool asks_nothing =
          arguments->weights.empty() && arguments->weights_file.empty() && arguments->terms.empty();
      return asks_nothing && stdin_is_terminal() && stdout_is_terminal()
                 ? run_shell(arguments->directory, arguments->max_memory, arguments->codes, program.quiet)
                 : run_query(*arguments, program.quiet);
    };
  });
}

}  // namespace culmen::tools
