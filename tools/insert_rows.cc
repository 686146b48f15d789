#include "tools/insert_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/excerpt.h"
#include "base/number_text.h"
#include "coding/any_index.h"
#include "coding/empty_filter.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/table_io.h"
#include "table/column_selection.h"
#include "tools/column_value.h"
#include "tools/interrupt.h"
#include "tools/item_list.h"
#include "tools/numbers.h"
#include "tools/progress_bar.h"
#include "tools/rejects.h"
#include "tools/streams.h"
#include "tools/table_hints.h"

namespace culmen::tools {
namespace {

std::string input_name(const InsertArguments& arguments) {
  return arguments.input == "-" ? "standard input" : arguments.input;
}

// Refuses options that do not match the index.
void check_options(const InsertArguments& arguments, const IndexInfo& info) {
  const std::string& directory = arguments.directory;
  if (!info.has_labels && !arguments.label_column.empty())
    throw InvalidArgument(fmt::format("{} keeps no labels: leave --label out", directory));
  if (info.value_type == ValueType::float64 && !arguments.type.empty())
    throw InvalidArgument(
        fmt::format("{} keeps float64, which holds every value: leave --type out", directory));
}

// Reads columns in the index's order: by name if the file has names, else by position.
ReadOptions read_options(const InsertArguments& arguments, const Schema& schema, ProgressBar& bar) {
  ReadOptions options;
  options.schema = schema;
  if (arguments.no_labels) options.schema->has_labels = false;
  if (!arguments.attributes.empty()) options.attributes = parse_attributes(arguments.attributes);
  if (arguments.columns) options.columns = split_names(*arguments.columns);
  options.assign_ids = arguments.new_ids;
  options.id_column = arguments.id_column;
  options.label_column = arguments.label_column;
  options.nulls = parse_null_policy(arguments.nulls);
  options.dialect = parse_dialect(arguments.dialect);
  options.is_partial = arguments.is_partial;
  options.unique_ids = arguments.duplicates == "error";
  options.num_threads = arguments.num_threads;
  options.on_progress = [&bar](std::uint64_t done, std::uint64_t total) {
    throw_if_interrupted();
    bar.show("inserting", total == 0 ? -1 : static_cast<double>(done) / static_cast<double>(total));
  };
  return options;
}

// Writes batches and counts what is in the index.
class Writer {
 public:
  Writer(const InsertArguments& arguments, Change change)
      : arguments_(arguments),
        change_(change),
        index_(AnyIndex::open_on_touch(arguments.directory,
                                       {.writable = true,
                                        .durability = parse_durability(arguments.durability),
                                        .num_threads = arguments.num_threads,
                                        .max_memory = arguments.max_memory})),
        before_(index_.info()) {
    if (arguments.expire) expire_ = index_.columns().filter(*arguments.expire);
  }

  const IndexInfo& info() const { return before_; }
  Schema schema() const { return index_.schema(); }

  void write(const TableBatch& batch) {
    throw_if_interrupted();
    const bool has_texts = batch.rows.id_type == IdType::text && !batch.rows.labels.empty();
    const bool needs_ids = change_ == Change::upsert || before_.id_type == IdType::text;
    if (needs_ids && batch.rows.num_rows > 0 && batch.rows.ids.empty() && !has_texts)
      throw InvalidArgument(fmt::format("{} has no column {}: name the column of ids with --id COLUMN",
                                        input_name(arguments_), io::id_title(index_.schema())));
    const bool exact_only = before_.value_type == ValueType::float32 && arguments_.type.empty();
    if (exact_only) check_float32(batch);
    TableView rows = batch.rows;
    if (arguments_.is_partial) return count_batch(rows, batch);
    rows.attributes.clear();  // the columns are in the index's order already
    if (before_.has_labels && rows.labels.empty()) {
      if (!arguments_.no_labels) throw InvalidArgument(no_labels_text());
      no_labels_.resize(rows.num_rows + 1);
      rows.labels.offsets = no_labels_;
    }
    count_batch(rows, batch);
  }

  // An id of the next batch whose row is left out.
  void note_dropped(std::int64_t id, std::string_view text) {
    if (before_.id_type == IdType::text) {
      dropped_texts_.emplace(text);
    } else {
      dropped_numbers_.insert(id);
    }
  }

  // The number of rows at the beginning of the input that are in the index or were dropped.
  std::uint64_t num_input_rows() const { return num_input_rows_; }
  bool has_written() const { return num_batches_ > 0; }

  // Makes all written batches as durable as requested. Throws if that fails.
  void close() {
    if (arguments_.durability == "batch") index_.flush();
    index_.close();
  }

  void print_summary(std::uint64_t num_dropped_rows, double seconds) const;

 private:
  static constexpr std::uint64_t kMostShown = 10;  // ids

  std::string no_labels_text() const;
  void check_float32(const TableBatch& batch) const;
  WriteResult change_rows(const TableView& rows, const TableBatch& batch);

  void count_batch(const TableView& rows, const TableBatch& batch) {
    count(change_rows(rows, batch), rows);
    num_input_rows_ = batch.first_row + batch.num_input_rows;
    note_unchanged(batch.rows);
  }

  // Ids of dropped rows that no other row of the batch has.
  NamedIds take_dropped(const TableView& rows) {
    NamedIds ids = {.type = before_.id_type};
    if (dropped_numbers_.empty() && dropped_texts_.empty()) return ids;
    for (const std::int64_t id : rows.ids) dropped_numbers_.erase(id);
    if (ids.type == IdType::text)
      for (std::size_t row = 0; row < rows.num_rows; ++row)
        dropped_texts_.erase(std::string(rows.labels[row]));
    ids.numbers.assign(dropped_numbers_.begin(), dropped_numbers_.end());
    ids.texts.assign(dropped_texts_.begin(), dropped_texts_.end());
    dropped_numbers_.clear();
    dropped_texts_.clear();
    return ids;
  }

  // Rows that were to be replaced, and are as they were since the new ones are dropped.
  void note_unchanged(const TableView& rows) {
    const NamedIds ids = take_dropped(rows);
    if (ids.size() == 0) return;
    const std::vector<std::optional<Row>> found = index_.get(ids);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i] || ++num_unchanged_ > kMostShown) continue;
      const std::string id = ids.type == IdType::text ? quote_excerpt(ids.texts[i]) : ids.text(i);
      unchanged_ids_ += (unchanged_ids_.empty() ? "" : ", ") + id;
    }
  }

  void count(const WriteResult& result, const TableView& rows) {
    ++num_batches_;
    inserted_ += result.inserted;
    replaced_ += result.replaced;
    if (change_ == Change::insert) left_out_ += rows.num_rows - result.inserted;
    expired_ += result.erased;
    version_ = result.version;
    if (result.first_id < 0) return;
    const auto id_of = [&](std::size_t row) {
      return result.first_id + static_cast<std::int64_t>(row_number(row, rows.dropped_rows));
    };
    if (first_id_ < 0) first_id_ = id_of(0);
    last_id_ = id_of(rows.num_rows - 1);
  }

  const InsertArguments& arguments_;
  const Change change_;
  AnyIndex index_;
  const IndexInfo before_;
  std::optional<Filter> expire_;
  std::vector<std::uint64_t> no_labels_;  // zeros

  std::uint64_t num_batches_ = 0;
  std::uint64_t num_input_rows_ = 0;
  std::uint64_t inserted_ = 0;
  std::uint64_t replaced_ = 0;
  std::uint64_t left_out_ = 0;  // others had their ids
  std::uint64_t expired_ = 0;
  std::set<std::int64_t> dropped_numbers_;  // of the next batch
  std::set<std::string> dropped_texts_;     // so
  std::string unchanged_ids_;               // the first of those whose new rows were dropped
  std::uint64_t num_unchanged_ = 0;
  std::uint64_t version_ = 0;
  std::int64_t first_id_ = -1;
  std::int64_t last_id_ = -1;
};

std::string Writer::no_labels_text() const {
  return fmt::format(
      "{} keeps a label a row, and {} has no column {}: name the column with --label COLUMN, or give "
      "--no-labels for rows without",
      arguments_.directory, input_name(arguments_), io::label_title(index_.schema()));
}

// The library refuses such a value too, but cannot name the options of this program.
void Writer::check_float32(const TableBatch& batch) const {
  const TableView& rows = batch.rows;
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    for (std::size_t row = 0; row < rows.num_rows; ++row) {
      const double value = column_value(rows.columns[column], row);
      if (std::isnan(value) || is_float32(value)) continue;
      throw InputError(
          fmt::format("{}: column {}: {} is no float32, and {} keeps float32: --type f32 rounds such "
                      "values, and an index built with --type f64 holds them",
                      batch.location_of_row(row), rows.attributes[column].name, number_text(value),
                      arguments_.directory));
    }
  }
}

// `rows`: the batch's, with the columns of the index.
WriteResult Writer::change_rows(const TableView& rows, const TableBatch& batch) {
  const WriteOptions options = {
      .round_to_float32 = !arguments_.type.empty(),
      .duplicates = change_ == Change::insert ? parse_duplicates(arguments_.duplicates) : Duplicates::error};
  try {
    if (arguments_.is_partial) return index_.update(rows, options);
    WriteBatch steps;
    if (change_ == Change::insert) {
      steps.insert(rows);
    } else {
      steps.upsert(rows);
    }
    if (expire_) steps.erase_where(*expire_);
    return index_.write(steps, options);
  } catch (const RowError& error) {
    throw InputError(fmt::format("{}: {}", batch.location_of_row(error.row()), error.problem()));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", input_name(arguments_), error.what()));
  }
}

void Writer::print_summary(std::uint64_t num_dropped_rows, double seconds) const {
  const IndexInfo after = index_.info();
  std::string changes = fmt::format("{} inserted", counted(inserted_, "row"));
  if (change_ == Change::upsert) changes += fmt::format(", {} replaced", grouped(replaced_));
  say("{}: {}\n", arguments_.directory, changes);
  if (left_out_ > 0) say("  {} left out: another has its id\n", counted(left_out_, "row"));
  if (expire_) say("  {} expired\n", counted(expired_, "row"));
  if (num_dropped_rows > 0)
    say("  {} dropped for missing or infinite values\n", counted(num_dropped_rows, "row"));
  if (num_unchanged_ > 0)
    say("  {}, since the new {} dropped: {}{}\n",
        num_unchanged_ == 1 ? "1 id keeps its row"
                            : fmt::format("{} ids keep their rows", grouped(num_unchanged_)),
        num_unchanged_ == 1 ? "one was" : "ones were", unchanged_ids_,
        num_unchanged_ > kMostShown ? fmt::format(" and {} more", grouped(num_unchanged_ - kMostShown)) : "");
  if (first_id_ >= 0) say("  ids assigned: {} to {}\n", first_id_, last_id_);
  const std::uint64_t num_rounded = after.rounded_values - before_.rounded_values;
  if (num_rounded > 0) say("  values rounded to float32: {}\n", grouped(num_rounded));
  const double rows_per_second = static_cast<double>(inserted_ + replaced_) / std::max(seconds, 1e-9);
  say("  version {}, {} in all; took {}: {} rows/s\n", after.version, counted(after.num_rows, "row"),
      in_time(1e6 * seconds), grouped(static_cast<std::uint64_t>(rows_per_second)));
  if (after.compact_advised)
    say("  the leaves are far from full: culmen compact {} would make the index smaller\n",
        arguments_.directory);
}

// Call it inside a catch block. Reports the error, and how much of the input is in the index.
ExitCode report_failure(Writer& writer, const InsertArguments& arguments) {
  const ExitCode code = report_current_exception();
  if (!writer.has_written()) return code;
  try {
    writer.close();
  } catch (const Error& error) {
    return report_error(fmt::format("how much of {} is in {} is not certain: {}", input_name(arguments),
                                    arguments.directory, error.what()),
                        code);
  }
  return report_error(fmt::format("the first {} of {} went into {}; --skip {} continues after them",
                                  counted(writer.num_input_rows(), "row"), input_name(arguments),
                                  arguments.directory, writer.num_input_rows()),
                      code);
}

BatchTotals read_and_write(const InsertArguments& arguments, Change change, const ReadOptions& options,
                           Writer& writer) try {
  if (!arguments.atomic)
    return read_table_in_batches(arguments.input, options,
                                 {.batch_rows = arguments.batch_rows,
                                  .skip_rows = arguments.skip_rows,
                                  .max_delay = arguments.max_delay},
                                 [&](const TableBatch& batch) { writer.write(batch); });
  const Table table = read_table(arguments.input, options);
  if (table.num_rows > 0 || table.num_dropped_rows > 0)
    writer.write({table.view(), 0, table.num_rows + table.num_dropped_rows, table.location_of_row});
  return {table.num_rows, table.num_dropped_rows, table.num_rejected_rows};
} catch (const InputError& error) {
  throw_with_hint(error);
} catch (const io::MissingColumn& error) {
  if (change == Change::insert || arguments.is_partial || !arguments.attributes.empty()) throw;
  throw InvalidArgument(
      fmt::format("{} (--partial keeps the values of the columns that the input lacks)", error.what()));
}

}  // namespace

ExitCode insert_rows(const InsertArguments& arguments, Change change, bool quiet) {
  if (arguments.expire) refuse_empty_filter("--expire", *arguments.expire);
  const bool is_usual = arguments.duplicates == (change == Change::insert ? "error" : "last");
  if (!is_usual && !arguments.atomic)
    throw InvalidArgument(
        fmt::format("--duplicates {} needs --atomic: only within a batch rows with one id are seen together. "
                    "Of rows that "
                    "come in batches, culmen upsert keeps the last with an id",
                    arguments.duplicates));
  const InterruptGuard guard;
  ProgressBar bar(quiet);
  const auto start = std::chrono::steady_clock::now();
  Writer writer(arguments, change);
  check_options(arguments, writer.info());
  BatchTotals totals;
  RejectsFile rejects(arguments.rejects, arguments.skip_rows > 0);
  ReadOptions options = read_options(arguments, writer.schema(), bar);
  rejects.listen(options);
  if (change == Change::upsert)
    options.on_dropped_row = [&](std::int64_t id, std::string_view text) { writer.note_dropped(id, text); };
  try {
    totals = read_and_write(arguments, change, options, writer);
    writer.close();
  } catch (...) {
    bar.wipe();
    return report_failure(writer, arguments);
  }
  bar.wipe();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (!quiet) writer.print_summary(totals.num_dropped_rows - totals.num_rejected_rows, elapsed.count());
  rejects.finish(quiet);
  if (!quiet && arguments.skip_rows > 0 && !writer.has_written())
    say("  {} has no row after the first {} (--skip)\n", input_name(arguments), grouped(arguments.skip_rows));
  return ExitCode::ok;
}

}  // namespace culmen::tools
