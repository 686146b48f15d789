#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coding/partitioning_names.h"
#include "coding/printable.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "culmen/table_io.h"
#include "tools/column_types.h"
#include "tools/column_value.h"
#include "tools/commands.h"
#include "tools/device_number.h"
#include "tools/dialect_options.h"
#include "tools/interrupt.h"
#include "tools/item_list.h"
#include "tools/missing.h"
#include "tools/numbers.h"
#include "tools/odd_cells.h"
#include "tools/progress_bar.h"
#include "tools/rejects.h"
#include "tools/streams.h"
#include "tools/table_hints.h"
#include "tools/temp_directory_option.h"
#include "tools/value_text.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

namespace fs = std::filesystem;

struct BuildArguments {
  std::string input;
  std::string directory;
  std::string attributes;
  std::string id_column;
  std::string id_type = "auto";
  std::string label_column;
  std::optional<std::string> columns;
  std::string stored;
  std::string types;
  std::string missing;
  DialectArguments dialect;
  std::string rejects;
  std::string partition = "auto";
  std::string type = "auto";
  std::string nulls = "keep";
  std::string duplicates = "error";
  std::string device = "cpu";
  std::optional<std::uint32_t> num_shards;
  std::string temp_directory;
  BuildOptions build;  // splits, partitions, leaf rows and threads
  bool force = false;
};

class Stopwatch {
 public:
  // Seconds since the last lap.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Seconds {
  double read = 0;
  double build = 0;
  double save = 0;
  double total() const { return read + build + save; }
};

// Checks before the input is read, which may take long. save() checks again, so a race cannot replace an index.
void check_directory(const std::string& directory, bool force) {
  const fs::file_status status = fs::status(directory);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status))
    throw InvalidArgument(fmt::format("{}: is not a directory; choose another name for -o", directory));
  if (fs::is_empty(directory)) return;
  if (!ShardedIndex::is_at(directory) && !fs::exists(fs::path(directory) / "CURRENT"))
    throw InvalidArgument(
        fmt::format("{}: holds files but no index; choose a new or empty directory for -o", directory));
  if (!force) throw InvalidArgument(fmt::format("{}: holds an index; --force replaces it", directory));
}

// The type of ids has an option of its own.
void refuse_type_of_ids(const ReadOptions& options) {
  const auto is_id = [&](const GivenType& type) { return type.column == options.id_column; };
  if (std::ranges::any_of(options.types, is_id))
    throw InvalidArgument(
        fmt::format("--types: {} is the column of ids: --id-type text, int64 or uint64 says what they are",
                    printable(options.id_column)));
}

ReadOptions read_options(const BuildArguments& arguments, ProgressBar& bar) {
  ReadOptions options;
  if (!arguments.attributes.empty()) options.attributes = parse_attributes(arguments.attributes);
  options.id_column = arguments.id_column;
  if (arguments.id_type != "auto") options.id_type = parse_id_type(arguments.id_type);
  options.label_column = arguments.label_column;
  if (arguments.columns) options.columns = split_names(*arguments.columns);
  options.stored = split_names(arguments.stored);
  options.types = parse_column_types(arguments.types);
  refuse_type_of_ids(options);
  options.nulls = parse_null_policy(arguments.nulls);
  options.unique_ids = arguments.duplicates == "error";
  options.dialect = parse_dialect(arguments.dialect);
  options.num_threads = arguments.build.num_threads;
  options.temp_directory = arguments.temp_directory;
  options.on_progress = [&bar](std::uint64_t done, std::uint64_t total) {
    throw_if_interrupted();
    bar.show("reading", total == 0 ? -1 : static_cast<double>(done) / static_cast<double>(total));
  };
  return options;
}

BuildOptions build_options(const Table& table, const BuildArguments& arguments, ProgressBar& bar) {
  BuildOptions options = arguments.build;
  if (std::vector<int> devices = parse_devices(arguments.device); devices.size() > 1) {
    options.devices = std::move(devices);
  } else {
    options.device = devices.front();
  }
  options.temp_directory = arguments.temp_directory;
  set_partitioning(arguments.partition, options);
  options.duplicates = parse_duplicates(arguments.duplicates);
  if (arguments.type == "f32") options.value_type = ValueType::float32;
  // Without a value to go by, a later insert must not be refused.
  if (arguments.type == "f64" || (arguments.type == "auto" && table.num_rows == 0))
    options.value_type = ValueType::float64;
  options.on_progress = [&bar](std::string_view phase, double fraction) {
    throw_if_interrupted();
    bar.show(phase, fraction);
  };
  return options;
}

// Returns the first column with a value that float32 would change.
std::optional<std::string> column_beyond_float32(const Table& table) {
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    for (std::size_t row = 0; row < table.num_rows; ++row)
      if (const double value = column_value(table.columns[column], row);
          !std::isnan(value) && !is_float32(value))
        return table.attributes[column].name;
  return std::nullopt;
}

std::string value_type_text(const Table& table, const IndexInfo& info, const std::string& type) {
  if (type == "f32")
    return fmt::format("stored as float32, as asked; values rounded: {}", grouped(info.rounded_values));
  if (type == "f64") return "stored as float64, as asked";
  if (info.value_type == ValueType::float32) return "stored as float32: every value is one exactly";
  if (table.num_rows == 0) return "stored as float64: there is no value yet";
  return fmt::format("stored as float64: column {} has values that are not exact in float32",
                     column_beyond_float32(table).value_or("?"));
}

Table read(const BuildArguments& arguments, RejectsFile& rejects, ProgressBar& bar) try {
  ReadOptions options = read_options(arguments, bar);
  rejects.listen(options);
  Table table = read_table(arguments.input, options);
  if (table.num_rows == 0 && table.num_dropped_rows > 0)
    throw InputError(fmt::format("{}: no row is left: all {} miss a value or hold an infinity{}",
                                 arguments.input, grouped(table.num_dropped_rows),
                                 table.num_rejected_rows > 0 ? ", or are refused" : ""));
  if (!arguments.missing.empty()) set_stand_ins(arguments.missing, table.attributes);
  return table;
} catch (const InputError& error) {
  throw_with_hint(error);
}

// Calls make(), which builds from the table; an error of a row names its place in the file.
template <typename Make>
auto locating_rows(const Table& table, const Make& make) {
  try {
    return make();
  } catch (const RowError& error) {
    throw InputError(fmt::format("{}: {}", table.location_of_row(error.row()), error.problem()));
  }
}

Index build(const Table& table, const BuildArguments& arguments, ProgressBar& bar) {
  const BuildOptions options = build_options(table, arguments, bar);
  return locating_rows(table, [&] { return Index::build(table.view(), options); });
}

void print_reading(const Table& table) {
  if (const std::string found = describe(table.dialect); !found.empty()) say("  read with {}\n", found);
  say("{}", odd_cells_text(table, "  "));
}

void print_sharded_summary(const BuildArguments& arguments, const Table& table, const Seconds& seconds) {
  std::uint64_t fewest = table.num_rows, most = 0, num_rows = 0;
  for (const ShardInfo& shard : ShardedIndex::listed(arguments.directory)) {
    num_rows += shard.statistics.num_rows;
    fewest = std::min(fewest, shard.statistics.num_rows);
    most = std::max(most, shard.statistics.num_rows);
  }
  say("{}: {}, {}, {} of {} to {} rows\n", arguments.directory, counted(num_rows, "row"),
      counted(table.attributes.size(), "attribute"), counted(*arguments.num_shards, "shard"), grouped(fewest),
      grouped(most));
  print_reading(table);
  if (table.num_rows > num_rows)
    say("  {} left out: another has its id\n", counted(table.num_rows - num_rows, "row"));
  if (const std::uint64_t num_dropped = table.num_dropped_rows - table.num_rejected_rows; num_dropped > 0)
    say("  {} dropped for missing or infinite values\n", counted(num_dropped, "row"));
  const double rows_per_second = static_cast<double>(table.num_rows) / std::max(seconds.total(), 1e-9);
  say("  read {}, built and saved {}: {} rows/s\n", in_time(1e6 * seconds.read), in_time(1e6 * seconds.build),
      grouped(static_cast<std::uint64_t>(rows_per_second)));
}

void build_shards(const Table& table, const BuildArguments& arguments, ProgressBar& bar) {
  const ShardedBuildOptions options = {.num_shards = *arguments.num_shards,
                                       .build = build_options(table, arguments, bar),
                                       .overwrite = arguments.force};
  locating_rows(table, [&] { ShardedIndex::build(table.view(), arguments.directory, options); });
}

// "city (text), opened (date)": the fields of a role.
std::string field_list(const IndexInfo& info, FieldRole role) {
  std::string list;
  for (const FieldInfo& field : info.fields) {
    if (field.field.role != role) continue;
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", printable(field.field.name),
                        format_text(field.field.format));
  }
  return list;
}

void print_columns(const IndexInfo& info) {
  if (const std::string filters = field_list(info, FieldRole::filter); !filters.empty())
    say("  filters may also test {}\n", filters);
  if (const std::string stored = field_list(info, FieldRole::stored); !stored.empty())
    say("  only shown: {}\n", stored);
  std::string gaps;
  for (const AttributeInfo& attribute : info.attributes)
    if (attribute.has_missing) gaps.append(gaps.empty() ? "" : ", ").append(printable(attribute.name));
  if (!gaps.empty())
    say("  some rows miss {}: queries that rank it leave them out, or fill the gaps with --missing fill\n",
        gaps);
}

void print_build_summary(const BuildArguments& arguments, const Table& table, const IndexInfo& info,
                         const Seconds& seconds) {
  say("{}: {}, {}{}\n", arguments.directory, counted(info.num_rows, "row"),
      counted(info.attributes.size(), "attribute"),
      info.has_labels                ? ", labels"
      : info.id_type == IdType::text ? ", ids are texts"
                                     : "");
  print_reading(table);
  if (const std::uint64_t num_dropped = table.num_dropped_rows - table.num_rejected_rows; num_dropped > 0)
    say("  {} dropped for missing or infinite values\n", counted(num_dropped, "row"));
  if (table.num_rows > info.num_rows)
    say("  {} left out: another has its id\n", counted(table.num_rows - info.num_rows, "row"));
  print_columns(info);
  say("  {}\n", value_type_text(table, info, arguments.type));
  say("  {} by {}, {} of up to {} rows\n", counted(info.num_partitions, "partition"), partitioning_text(info),
      counted(info.num_leaves, "leaf", "leaves"), info.leaf_rows);
  say("  {} of data, {} of tree and bounds\n", in_bytes(info.data_bytes), in_bytes(info.overhead_bytes));
  const double rows_per_second = static_cast<double>(info.num_rows) / std::max(seconds.total(), 1e-9);
  say("  read {}, built {}, saved {}: {} rows/s\n", in_time(1e6 * seconds.read), in_time(1e6 * seconds.build),
      in_time(1e6 * seconds.save), grouped(static_cast<std::uint64_t>(rows_per_second)));
}

ExitCode run(const BuildArguments& arguments, bool quiet) {
  check_directory(arguments.directory, arguments.force);
  for (const int device : parse_devices(arguments.device))
    if (device != kNoDevice && device >= num_devices())
      throw CudaError(fmt::format("there is no GPU {} here, {} can be used; build with --device cpu", device,
                                  num_devices() == 0 ? "none" : std::to_string(num_devices())));
  const InterruptGuard guard;
  ProgressBar bar(quiet);
  Stopwatch watch;
  Seconds seconds;
  RejectsFile rejects(arguments.rejects);
  const Table table = read(arguments, rejects, bar);
  seconds.read = watch.lap();
  if (arguments.num_shards) {
    build_shards(table, arguments, bar);
    seconds.build = watch.lap();
    bar.wipe();
    if (!quiet) print_sharded_summary(arguments, table, seconds);
    rejects.finish(quiet);
    return ExitCode::ok;
  }
  const Index index = build(table, arguments, bar);
  seconds.build = watch.lap();
  throw_if_interrupted();  // after this the index is published
  bar.show("saving", -1);
  index.save(arguments.directory, {.overwrite = arguments.force});
  seconds.save = watch.lap();
  bar.wipe();
  if (!quiet) print_build_summary(arguments, table, index.info(), seconds);
  rejects.finish(quiet);
  return ExitCode::ok;
}

void add_table_options(CLI::App& command, BuildArguments& arguments) {
  command
      .add_option(
          "INPUT", arguments.input,
          ".csv, .tsv, .txt or .jsonl (also with .gz, .bz2, .xz or .zst), .npy, .fvecs, .fbin; - reads CSV\n"
          "or JSON Lines from standard input")
      ->required();
  command
      .add_option("--attributes", arguments.attributes,
                  "Columns to rank by, as in price:low,rating; :low says that low is usually better.\n"
                  "Weights of either sign remain possible. Default: every column of numbers. The other\n"
                  "columns are kept for filters and answers")
      ->type_name("A,B:low,...")
      ->group("Table");
  CLI::Option* id = command
                        .add_option("--id", arguments.id_column,
                                    "Column of ids, integers or texts, unique (default: 0, 1, 2, ...)")
                        ->type_name("COLUMN")
                        ->group("Table");
  command
      .add_option(
          "--id-type", arguments.id_type,
          "What ids are: int64, uint64, from 0 to 2^64 - 1, or text (default: text if most of the first are\n"
          "no numbers, uint64 if one is 2^63 or more)")
      ->check(CLI::IsMember({"auto", "int64", "uint64", "text"}))
      ->needs(id)
      ->group("Table");
  command.add_option("--label", arguments.label_column, "Column of text, such as a name, to show in answers")
      ->type_name("COLUMN")
      ->group("Table");
  command
      .add_option("--columns", arguments.columns,
                  "Columns to keep besides attributes, id and label (default: all)")
      ->type_name("A,B,...")
      ->group("Table");
  command
      .add_option(
          "--stored", arguments.stored,
          "Columns that are only shown, and take less memory than those that filters test. Text that\n"
          "differs in most rows always is")
      ->type_name("A,B,...")
      ->group("Table");
  command
      .add_option("--types", arguments.types,
                  "What columns of CSV hold, where their cells do not tell: number, integer, boolean, date,\n"
                  "timestamp or text, as in zip=text,day=date. Any other cell is an error")
      ->type_name("A=TYPE,...")
      ->group("Table");
  command
      .add_option(
          "--missing", arguments.missing,
          "What stands in for missing values if a query asks to fill them (query --missing fill): worst,\n"
          "median, mean, a number, or refuse such a table; for all attributes or for some, as in\n"
          "price=median,rating=0 (default worst)")
      ->type_name("POLICY")
      ->group("Table");
  command
      .add_option(
          "--nulls", arguments.nulls,
          "Rows that miss a value of an attribute: keep them, reject the table, or drop the rows, those\n"
          "with infinities too (default keep)")
      ->check(CLI::IsMember({"keep", "reject", "drop"}))
      ->group("Table");
  command
      .add_option("--duplicates", arguments.duplicates,
                  "Of several rows with one id: an error, or keep the first or the last of them\n"
                  "(default error)")
      ->check(CLI::IsMember({"error", "first", "last"}))
      ->group("Table");
  add_dialect_options(command, arguments.dialect);
  add_rejects_option(command, arguments.rejects);
}

void add_index_options(CLI::App& command, BuildArguments& arguments) {
  command.add_option("-o,--output", arguments.directory, "Directory of the index")
      ->required()
      ->type_name("DIR");
  command.add_flag("--force", arguments.force, "Replace an index that is there, sharded or not");
  command
      .add_option("--shards", arguments.num_shards,
                  "A sharded index: so many indexes that the other commands take as one (default: one index)")
      ->transform(whole_number<std::uint32_t>(1))
      ->type_name("S")
      ->group("Index");
  command
      .add_option("--type", arguments.type,
                  "auto: f32 if that holds every value exactly, else f64; f32 rounds (default auto)")
      ->check(CLI::IsMember({"auto", "f32", "f64"}))
      ->group("Index");
  command
      .add_option(
          "--partition", arguments.partition,
          "How rows are grouped; flat: without shells, sum: ordered by their sums (default auto: kd, or\n"
          "angle for more than 8 attributes; in large tables what reads least on a sample)")
      ->check(CLI::IsMember(partitioning_names()))
      ->group("Index");
  command
      .add_option(
          "--cluster", arguments.build.cluster,
          "Group rows by the values of an attribute or a filter column first: filters on it become much\n"
          "faster, other queries slower")
      ->type_name("COLUMN")
      ->group("Index");
  CLI::Option* partitions = command
                                .add_option("--partitions", arguments.build.num_partitions,
                                            "About how many groups (default: chosen)")
                                ->transform(whole_number<int>(1))
                                ->type_name("P")
                                ->group("Index");
  command
      .add_option("--splits", arguments.build.num_splits,
                  "Angle partitions with S parts per angle, instead of --partitions")
      ->transform(whole_number<int>(1))
      ->excludes(partitions)
      ->type_name("S")
      ->group("Index");
  command
      .add_option("--leaf-rows", arguments.build.leaf_rows,
                  "Rows per leaf, a multiple of 16 up to 4096 (default 96)")
      ->transform(whole_number<int>(1))
      ->type_name("B")
      ->group("Index");
  command
      .add_option("--threads", arguments.build.num_threads, "Threads; never changes the index (default: all)")
      ->transform(whole_number<int>(0))
      ->type_name("T");
  add_temp_directory_option(
      command, arguments.temp_directory,
      "For a table larger than memory: where the build keeps it meanwhile, in files that take about\n"
      "five times its room; a directory on a local disk. Never changes the index, which the CPU\n"
      "builds (default: in memory)");
  command
      .add_option("--device", arguments.device,
                  "cpu, cuda:N for a GPU that builds, or cuda:N,M,... for several that build together;\n"
                  "never changes the index (default cpu)")
      ->type_name("DEVICE");
}

}  // namespace

void add_build(Program& program) {
  CLI::App& command = *program.app.add_subcommand("build", "Build an index from a table");
  const auto arguments = std::make_shared<BuildArguments>();
  add_table_options(command, *arguments);
  add_index_options(command, *arguments);
  add_quiet(command, program);
  command.footer(
      "A build that fails or is interrupted leaves no files, and an old index unchanged.\n\n"
      "Examples:\n"
      "  culmen build hotels.csv -o hotels.index --id id --label name --attributes price:low,rating,stars\n"
      "  culmen build hotels.csv -o other.index --attributes price:low,rating --missing median --stored "
      "opened\n"
      "  culmen build hotels.csv -o by_stars.index --attributes price:low,rating --cluster stars\n"
      "  culmen build points.npy -o points.index --type f32 --partition random\n"
      "  cat hotels.csv | culmen build - -o hotels.index --id id --label name --force");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
