#include "tools/run_query.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/scale_names.h"
#include "coding/any_index.h"
#include "coding/cursor_text.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "tools/answers.h"
#include "tools/codes.h"
#include "tools/column_names.h"
#include "tools/device_number.h"
#include "tools/id_list.h"
#include "tools/interrupt.h"
#include "tools/numbers.h"
#include "tools/output.h"
#include "tools/plans.h"
#include "tools/profile.h"
#include "tools/row_questions.h"
#include "tools/streams.h"
#include "tools/weights.h"

namespace culmen::tools {
namespace {

constexpr std::size_t kDefaultK = 10;
// From here on a GPU would pay for copying the index: users without one are told.
constexpr std::size_t kWorthAGpu = 10'000;
// Fewer queries are answered before CUDA has started, which takes some 0.3 s.
constexpr std::size_t kWorthAskingCuda = 1'000;

// Plans are text, or JSON where the format says so.
std::string plan_format(const QueryArguments& arguments) {
  const std::string ending = lower_case(std::filesystem::path(arguments.output).extension().string());
  std::string format = arguments.format.empty() && !ending.empty() ? ending.substr(1) : arguments.format;
  if (format == "json" || format == "jsonl") return format;
  if (!arguments.format.empty() && format != "table")
    throw InvalidArgument(
        fmt::format("--explain prints text, or JSON with --format json or jsonl, but no {}", format));
  return "table";
}

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
  if (arguments.weights.empty() && arguments.weights_file.empty() && arguments.terms.empty())
    throw InvalidArgument(
        "weights are missing: give -w name=value,... or --weights-file FILE, or only --terms");
  if (!arguments.explain && chosen_format(arguments) == "npy" && arguments.output.empty() &&
      stdout_is_terminal())
    throw InvalidArgument("npy is binary: give -o FILE or a pipe");
  const bool is_one_query =
      !arguments.weights.empty() || (arguments.weights_file.empty() && !arguments.terms.empty());
  if (asks_about_rows(arguments) && !is_one_query)
    throw InvalidArgument(
        "--rank-of, --count-above and --why are about one query: give its weights with -w, or only --terms");
  const bool wants_csv = arguments.format == "csv" ||
                         (arguments.format.empty() && lower_case(arguments.output).ends_with(".csv"));
  if (num_row_questions(arguments) > 0 && (wants_csv || chosen_format(arguments) == "npy"))
    throw InvalidArgument(
        "--rank-of, --count-above and --why print text, or JSON with --format json or jsonl, but no csv or "
        "npy");
  if (num_row_questions(arguments) > 1 && chosen_format(arguments) == "json")
    throw InvalidArgument(
        "--format json is one document: give one of --rank-of, --count-above and --why, or --format jsonl");
  const auto files = {&arguments.weights_file, &arguments.ids_file, &arguments.not_ids_file};
  if (std::ranges::count_if(files, [](const std::string* file) { return *file == "-"; }) > 1)
    throw InvalidArgument("standard input can be one file: weights, ids, or ids to leave out");
  if (arguments.device != "auto") parse_devices(arguments.device, "auto, ");
  static_cast<void>(parse_device_memory(arguments.memory));  // throws for an unknown kind
  static_cast<void>(parse_device_layout(arguments.layout));
}

Filter filter_of(const QueryArguments& arguments, const Index& index) {
  Filter filter;
  if (!arguments.where.empty()) filter = index.filter(arguments.where);
  const IdType type = index.schema().id_type;
  if (!arguments.ids_file.empty()) filter = filter && read_id_filter(arguments.ids_file, type);
  if (!arguments.not_ids_file.empty()) filter = filter && !read_id_filter(arguments.not_ids_file, type);
  return filter;
}

// What all queries of one command share, unless a row of a file of weights says otherwise.
Query common_query(const QueryArguments& arguments, const Index& index) {
  Query query;
  query.k = arguments.k;
  if (!arguments.k && !arguments.min_score) query.k = kDefaultK;
  query.where = filter_of(arguments, index);
  if (arguments.min_score) query.min_score = parse_number(*arguments.min_score, "--min-score");
  if (arguments.after) query.after = parse_cursor(*arguments.after, "--after", index.schema().id_type);
  if (arguments.per) query.per = parse_rows_per(*arguments.per);
  query.scale = kScaleNames.parse(arguments.scale);
  query.missing = arguments.missing == "fill" ? Missing::fill : Missing::skip;
  query.terms = index.terms(arguments.terms);
  return query;
}

// A row's own k and minimum score count instead of those of the options; its filter counts besides.
void take_row(WeightsRow row, const QueryArguments& arguments, Query& query) {
  query.weights = std::move(row.weights);
  query.where = query.where && row.where;
  if (row.min_score) query.min_score = row.min_score;
  if (row.min_score && !arguments.k) query.k = std::nullopt;
  if (row.k) query.k = row.k;
}

std::vector<Query> make_queries(const QueryArguments& arguments, const Index& index) {
  const Query common = common_query(arguments, index);
  if (!arguments.weights_file.empty()) {
    std::vector<WeightsRow> rows = read_weights_file(arguments.weights_file, index);
    std::vector<Query> queries(rows.size(), common);
    for (std::size_t i = 0; i < queries.size(); ++i) take_row(std::move(rows[i]), arguments, queries[i]);
    return queries;
  }
  Query query = common;
  query.weights = arguments.weights.empty() ? std::vector<double>(index.schema().attributes.size())
                                            : parse_weights(arguments.weights, index);
  return {std::move(query)};
}

std::vector<SearchResult> search_on_cpu(const AnyIndex& index, const std::vector<Query>& queries,
                                        const SearchOptions& options) {
  std::vector<SearchResult> results;
  if (queries.size() == 1) {
    results.push_back(index.search(queries.front(), options));
  } else {
    results = index.search(queries, options);
  }
  return results;
}

// On one GPU or on several.
std::vector<SearchResult> search_there(const auto& on_gpu, const std::vector<Query>& queries,
                                       const SearchOptions& options) {
  if (queries.size() == 1) {
    std::vector<SearchResult> results;
    results.push_back(on_gpu.search(queries.front(), options));
    return results;
  }
  return on_gpu.search(queries, options);
}

// Returns ask(copy) of the copy on these GPUs.
auto on_gpus(const Index& index, const std::vector<int>& devices, const DeviceGroupOptions& group,
             const auto& ask) {
  if (devices.size() == 1) return ask(index.to_device({.device = devices.front(), .memory = group.memory}));
  return ask(index.to_devices(devices, group));
}

std::vector<SearchResult> search_on_gpu(const Index& index, const std::vector<Query>& queries,
                                        const SearchOptions& options, const std::vector<int>& devices,
                                        const DeviceGroupOptions& group) {
  return on_gpus(index, devices, group,
                 [&](const auto& on_gpu) { return search_there(on_gpu, queries, options); });
}

DeviceGroupOptions group_options(const QueryArguments& arguments) {
  return {.memory = parse_device_memory(arguments.memory), .layout = parse_device_layout(arguments.layout)};
}

// The GPU that is worth it, or kNoDevice.
int worthy_gpu(const Index& index, const std::vector<Query>& queries, const SearchOptions& options) {
  if (options.engine != Engine::automatic && options.engine != Engine::bounded) return kNoDevice;
  if (queries.size() < kWorthAskingCuda) return kNoDevice;
  if (num_devices() == 0)
    return queries.size() >= kWorthAGpu ? 0 : kNoDevice;  // the error says that there is none
  return index.place(queries, {.num_threads = options.num_threads}).device;
}

std::vector<SearchResult> search(const AnyIndex& any, const std::vector<Query>& queries,
                                 const SearchOptions& options, const QueryArguments& arguments, bool quiet) {
  const bool stays = any.sharded() != nullptr || arguments.max_memory != kUnlimitedMemory;
  const bool on_cpu = arguments.device == "auto" && stays;
  if (on_cpu || arguments.device == "cpu") return search_on_cpu(any, queries, options);
  const Index& index = any.only("--device " + arguments.device);
  const DeviceGroupOptions group = group_options(arguments);
  if (arguments.device != "auto")
    return search_on_gpu(index, queries, options, parse_devices(arguments.device), group);
  if (const int device = worthy_gpu(index, queries, options); device != kNoDevice) {
    try {
      return search_on_gpu(index, queries, options, {device}, group);
    } catch (const CudaError& error) {  // there is no usable GPU, or it has not enough memory
      if (!quiet) say("culmen: answering on the CPU: {}\n", error.what());
    }
  }
  return search_on_cpu(any, queries, options);
}

// On the CPU, unless a GPU is named: for one question copying the index there is not worth the time.
void answer_about_rows(const AnyIndex& any, const Query& query, const SearchOptions& options,
                       const QueryArguments& arguments) {
  Output out(arguments.output);
  const auto answer = [&](const auto& index) {
    const Ranking ranking = ranking_of(index, query, options, any.schema().id_type);
    answer_about_rows(arguments, any, query, ranking, chosen_format(arguments), out);
  };
  if (arguments.device == "auto" || arguments.device == "cpu") {
    answer(any);
  } else {
    on_gpus(any.only("--device " + arguments.device), parse_devices(arguments.device),
            group_options(arguments), answer);
  }
  out.finish();
}

// Of a table, the columns that are left out; --show chooses any.
void print_left_out(const std::vector<std::string>& columns, std::size_t width) {
  constexpr std::size_t kMostShown = 10;
  if (columns.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(kMostShown, columns.size()); ++i)
    names += (i == 0 ? "" : ", ") + columns[i];
  if (columns.size() > kMostShown) names += fmt::format(" and {} more", columns.size() - kMostShown);
  say("not shown in {} columns: {} (--show chooses)\n", width, names);
}

void write_answers(const Answers& answers, const std::string& format, Output& out, bool quiet) {
  if (format == "table") {
    const std::vector<std::string> left_out = write_table(answers, out);
    if (!quiet) print_left_out(left_out, answers.width);
  }
  if (format == "csv") write_csv(answers, out);
  if (format == "json") write_json(answers, out);
  if (format == "jsonl") write_jsonl(answers, out);
  if (format == "npy") write_npy(answers, out);
}

}  // namespace

void answer_query(const AnyIndex& index, QueryArguments arguments, bool quiet, bool can_stop) {
  if (arguments.output == "-") arguments.output.clear();  // standard output, as elsewhere
  check_usage(arguments);
  SearchOptions options = {parse_engine(arguments.engine), arguments.num_threads};
  if (can_stop) options.on_progress = [](std::size_t, std::size_t) { throw_if_interrupted(); };
  const std::vector<Query> queries = make_queries(arguments, index.columns());
  const std::vector<ShownColumn> columns =
      shown_columns(index.info(), index.schema(), arguments.show, kAnswerColumns);
  const bool batch = !arguments.weights_file.empty();
  if (asks_about_rows(arguments)) {
    answer_about_rows(index, queries.front(), options, arguments);
    return;
  }
  if (arguments.explain) {
    const std::string format = plan_format(arguments);
    Output out(arguments.output);
    write_plans({index.only("--explain"), queries, options, batch}, format, out);
    out.finish();
    return;
  }
  // Predictions are for a warm index.
  if (arguments.profile) static_cast<void>(search(index, queries, options, arguments, quiet));
  const std::uint64_t reads_before = arguments.profile ? index.info().num_reads : 0;
  const auto start = std::chrono::steady_clock::now();
  const std::vector<SearchResult> results = search(index, queries, options, arguments, quiet);
  const double elapsed = microseconds_since(start);
  const IndexInfo info = index.info();
  Output out(arguments.output);  // after the search: a query that is refused touches no file
  const bool may_leave_out = arguments.output.empty() && !arguments.show;
  write_answers({info, columns, queries, results, batch, may_leave_out ? stdout_width() : 0},
                chosen_format(arguments), out, quiet);
  out.finish();
  if (arguments.profile) {
    const std::uint64_t num_reads = info.num_reads - reads_before;
    print_profile(results, num_reads, elapsed);
    SearchOptions planned = options;
    if (queries.size() > 1) planned.num_threads = 1;  // a batch searches each query on one thread
    if (index.sharded() == nullptr && num_reads == 0)
      print_prediction(index.columns(), queries, results, planned);
  }
  if (arguments.profile || (stdout_is_terminal() && !quiet)) print_summary(results);
}

ExitCode run_query(QueryArguments arguments, bool quiet) {
  check_usage(arguments);
  OpenOptions opening = {.max_memory = arguments.max_memory};
  set_codes(arguments.codes, opening);
  const AnyIndex index = AnyIndex::open_on_touch(arguments.directory, opening);
  answer_query(index, std::move(arguments), quiet, false);
  return ExitCode::ok;
}

}  // namespace culmen::tools
