#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "tools/answers.h"
#include "tools/column_names.h"
#include "tools/commands.h"
#include "tools/device_number.h"
#include "tools/numbers.h"
#include "tools/output.h"
#include "tools/profile.h"
#include "tools/streams.h"
#include "tools/weights.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

constexpr std::size_t kDefaultK = 10;
// So many queries would be worth copying the index to a GPU: users without one are told.
constexpr std::size_t kWorthAGpu = 10'000;
// Fewer are answered before CUDA has started, which takes some 0.3 s.
constexpr std::size_t kWorthAskingCuda = 1'000;

struct QueryArguments {
  std::string directory;
  std::string weights;
  std::string weights_file;
  std::optional<std::size_t> k;
  std::string where;
  std::optional<std::string> min_score;
  std::string scale = "none";
  std::string engine = "auto";
  int num_threads = 0;
  std::string device = "auto";
  std::string memory = "auto";
  std::string format;
  std::string output;
  bool explain = false;
  bool profile = false;
};

std::string chosen_format(const QueryArguments& arguments) {
  if (!arguments.format.empty()) return arguments.format;
  if (arguments.output.empty()) return stdout_is_terminal() ? "table" : "csv";
  const std::string ending = lower_case(std::filesystem::path(arguments.output).extension().string());
  if (ending.empty()) return "csv";
  for (std::string_view format : {"csv", "json", "jsonl", "npy"})
    if (ending.substr(1) == format) return std::string(format);
  throw InvalidArgument(
      fmt::format("{}: cannot tell the format by the ending {}; known are .csv, .json, .jsonl "
                  "and .npy, and --format chooses one whatever the ending",
                  arguments.output, ending));
}

void check_usage(const QueryArguments& arguments) {
  if (arguments.weights.empty() && arguments.weights_file.empty())
    throw InvalidArgument("weights are missing: give -w name=value,... or --weights-file FILE");
  if (!arguments.explain && chosen_format(arguments) == "npy" && arguments.output.empty() &&
      stdout_is_terminal())
    throw InvalidArgument("npy is binary: give -o FILE or a pipe");
  if (arguments.device != "auto") parse_device(arguments.device, "auto, ");
  static_cast<void>(parse_device_memory(arguments.memory));  // for its errors
}

// What the queries of one command have in common; the weights differ.
Query common_query(const QueryArguments& arguments, const Index& index) {
  Query query;
  query.k = arguments.k;
  if (!arguments.k && !arguments.min_score) query.k = kDefaultK;
  if (!arguments.where.empty()) query.where = index.filter(arguments.where);
  if (arguments.min_score) query.min_score = parse_number(*arguments.min_score, "--min-score");
  query.scale = arguments.scale == "minmax" ? Scale::minmax : Scale::none;
  return query;
}

std::vector<Query> make_queries(const QueryArguments& arguments, const Index& index) {
  std::vector<std::vector<double>> weights;
  if (arguments.weights_file.empty()) {
    weights.push_back(parse_weights(arguments.weights, index));
  } else {
    weights = read_weights_file(arguments.weights_file, index);
  }
  std::vector<Query> queries(weights.size(), common_query(arguments, index));
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i].weights = std::move(weights[i]);
  return queries;
}

void explain(const Index& index, const std::vector<Query>& queries, const SearchOptions& options, bool batch,
             Output& out) {
  const IndexInfo info = index.info();
  for (std::size_t i = 0; i < queries.size(); ++i) {
    if (batch) out.write(fmt::format("query {}: {}\n", i + 1, weights_text(queries[i].weights, info)));
    std::string text = index.explain(queries[i], options).text;
    if (!text.ends_with('\n')) text += '\n';
    out.write(text);
  }
  if (batch && !queries.empty()) {
    const Placement place = index.place(queries, {.num_threads = options.num_threads});
    out.write(fmt::format("all {} queries: on {}, {}\n", queries.size(),
                          place.device == kNoDevice ? "the CPU" : fmt::format("GPU {}", place.device),
                          place.reason));
  }
}

std::vector<SearchResult> search_on_cpu(const Index& index, const std::vector<Query>& queries,
                                        const SearchOptions& options) {
  std::vector<SearchResult> results;
  if (queries.size() == 1) {
    results.push_back(index.search(queries.front(), options));
  } else {
    results = index.search(queries, options);
  }
  return results;
}

std::vector<SearchResult> search_on_gpu(const Index& index, const std::vector<Query>& queries,
                                        const SearchOptions& options, const DeviceOptions& device) {
  const DeviceIndex on_gpu = index.to_device(device);
  if (queries.size() == 1) {
    std::vector<SearchResult> results;
    results.push_back(on_gpu.search(queries.front(), options));
    return results;
  }
  return on_gpu.search(queries, options);
}

bool is_worth_a_gpu(const Index& index, const std::vector<Query>& queries, const SearchOptions& options) {
  if (options.engine != Engine::automatic && options.engine != Engine::bounded) return false;
  if (queries.size() < kWorthAskingCuda) return false;
  if (num_devices() == 0) return queries.size() >= kWorthAGpu;
  return index.place(queries, {.num_threads = options.num_threads}).device != kNoDevice;
}

std::vector<SearchResult> search(const Index& index, const std::vector<Query>& queries,
                                 const SearchOptions& options, const QueryArguments& arguments, bool quiet) {
  DeviceOptions device = {.memory = parse_device_memory(arguments.memory)};
  if (arguments.device != "auto") {
    device.device = parse_device(arguments.device);
    return device.device == kNoDevice ? search_on_cpu(index, queries, options)
                                      : search_on_gpu(index, queries, options, device);
  }
  if (is_worth_a_gpu(index, queries, options)) {
    try {
      return search_on_gpu(index, queries, options, device);
    } catch (const CudaError& error) {  // there is none, or it has no room
      if (!quiet) say("culmen: answering on the CPU: {}\n", error.what());
    }
  }
  return search_on_cpu(index, queries, options);
}

void write_answers(const Answers& answers, const std::string& format, Output& out) {
  if (format == "table") write_table(answers, out);
  if (format == "csv") write_csv(answers, out);
  if (format == "json") write_json(answers, out);
  if (format == "jsonl") write_jsonl(answers, out);
  if (format == "npy") write_npy(answers, out);
}

ExitCode run(QueryArguments arguments, bool quiet) {
  if (arguments.output == "-") arguments.output.clear();  // standard output, as elsewhere
  check_usage(arguments);
  const SearchOptions options = {parse_engine(arguments.engine), arguments.num_threads};
  const Index index = Index::open(arguments.directory);
  const std::vector<Query> queries = make_queries(arguments, index);
  const bool batch = !arguments.weights_file.empty();
  if (arguments.explain) {
    Output out(arguments.output);
    explain(index, queries, options, batch, out);
    out.finish();
    return ExitCode::ok;
  }
  // What was predicted is the time of a warm index.
  if (arguments.profile) static_cast<void>(search(index, queries, options, arguments, quiet));
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SearchResult> results = search(index, queries, options, arguments, quiet);
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  const IndexInfo info = index.info();
  Output out(arguments.output);  // only now: a query that is refused touches no file
  write_answers({info, queries, results, batch}, chosen_format(arguments), out);
  out.finish();
  if (arguments.profile) {
    print_profile(results, elapsed.count());
    SearchOptions planned = options;
    if (queries.size() > 1) planned.num_threads = 1;  // each of a batch
    print_prediction(index, queries, results, planned);
  }
  if (arguments.profile || (stdout_is_terminal() && !quiet)) print_summary(results);
  return ExitCode::ok;
}

void add_question_options(CLI::App& command, QueryArguments& arguments) {
  command.add_option("DIR", arguments.directory, "The index")->required();
  CLI::Option* weights =
      command
          .add_option(
              "-w,--weights", arguments.weights,
              "By name, as in price=-0.4,rating=1.2 (attributes not named count 0), or one\n"
              "number an attribute in order, as in -0.4,1.2. A name with a comma stands in double quotes")
          ->type_name("WEIGHTS")
          ->group("Question");
  command
      .add_option("--weights-file", arguments.weights_file,
                  "Many queries, one a row: CSV whose header names attributes, or .npy by position;\n"
                  "- reads CSV from standard input")
      ->excludes(weights)
      ->type_name("FILE")
      ->group("Question");
  command.add_option("-k", arguments.k, "How many rows (default 10; with --min-score: all of them)")
      ->transform(whole_number<std::size_t>(1))
      ->type_name("K")
      ->group("Question");
  command
      .add_option(
          "--where", arguments.where,
          "Only rows that pass, as in \"price<=200 and not stars in (1, 2)\": = != < <= > >=, between,\n"
          "in and is null, joined by and, or and not, with parentheses; id is the row's id")
      ->type_name("FILTER")
      ->group("Question");
  command.add_option("--min-score", arguments.min_score, "Only rows with at least this score")
      ->type_name("X")
      ->group("Question");
  command
      .add_option("--scale", arguments.scale,
                  "minmax: weights count for attributes scaled to 0..1 by the index's own minimum and\n"
                  "maximum (default none: for attributes as they are)")
      ->check(CLI::IsMember({"none", "minmax"}))
      ->group("Question");
}

void add_running_options(CLI::App& command, QueryArguments& arguments) {
  command
      .add_option("--engine", arguments.engine,
                  "auto, scan, ta, gta or bounded: the answer is the same, the work is not (default auto)")
      ->type_name("ENGINE")
      ->group("Running");
  command
      .add_option("--threads", arguments.num_threads,
                  "Threads (default: one a query; all for a file, scan, gta)")
      ->transform(whole_number<int>(0))
      ->type_name("T")
      ->group("Running");
  command
      .add_option(
          "--device", arguments.device,
          "auto, cpu, or cuda:N for a GPU (default auto: the CPU, but a GPU for files of 1,000 queries\n"
          "and more, if they are predicted to pay for copying the index to it first)")
      ->type_name("DEVICE")
      ->group("Running");
  command
      .add_option(
          "--memory", arguments.memory,
          "Where a GPU finds the rows: auto, device, managed or host (default auto: device if they fit)")
      ->type_name("MEMORY")
      ->group("Running");
  command
      .add_flag("--explain", arguments.explain,
                "Print the plan and what each engine would take instead of the answer")
      ->group("Running");
  command
      .add_flag("--profile", arguments.profile,
                "Answer twice, and say on standard error how much was read the\nsecond time, the time, and "
                "the time that was predicted")
      ->group("Running");
}

void add_answer_options(CLI::App& command, QueryArguments& arguments) {
  command
      .add_option(
          "--format", arguments.format,
          "Default: by the ending of -o; without one, table on a terminal and csv elsewhere. All but\n"
          "table keep every digit; npy holds ids and scores. In table and csv an attribute that is\n"
          "called query, rank, id, score or label has \"attribute.\" in front")
      ->check(CLI::IsMember({"table", "csv", "json", "jsonl", "npy"}))
      ->group("Answer");
  command
      .add_option("-o,--output", arguments.output,
                  "File to write, whole or not at all (default: standard output)")
      ->type_name("FILE")
      ->group("Answer");
}

}  // namespace

void add_query(Program& program) {
  CLI::App& command = *program.app.add_subcommand("query", "Find the rows with the highest weighted sums");
  const auto arguments = std::make_shared<QueryArguments>();
  add_question_options(command, *arguments);
  add_running_options(command, *arguments);
  add_answer_options(command, *arguments);
  add_quiet(command, program);
  command.footer(
      "Score: the sum of weight * attribute. Higher scores come first, equal ones by smaller id.\n\n"
      "Examples:\n"
      "  culmen query hotels.index -w price=-1,rating=2 -k 5 --scale minmax\n"
      "  culmen query hotels.index -w rating=1 --where \"price<=200 and stars>=4\" --format json\n"
      "  culmen query hotels.index -w price=-0.4,rating=1.2 -k 100 --profile -o best.csv");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
