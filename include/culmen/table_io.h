// Reads tables from files (CSV, NPY, fvecs, fbin), writes them, and generates synthetic ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/table.h"

namespace culmen {

// What to do with a row that misses the value of an attribute (an empty cell, NaN). An infinity is an error, or with
// `drop` drops the row. If rows are dropped, the others keep their numbers, and so the ids that are assigned.
enum class NullPolicy : std::uint8_t { keep, reject, drop };

// A column of CSV whose type is not found from its cells. Timestamps count in the unit, and have the zone, of the cells.
struct GivenType {
  std::string column;
  ColumnType type = ColumnType::text;
};

// A row of a text file that is not read: a cell does not fit its column, or the line is no row.
struct RejectedRow {
  std::uint64_t line = 0;  // of the cell, from 1
  // Of the cell, from 1; 0: the whole row. Of JSON Lines the names count in the order in which they first occur.
  std::size_t column = 0;
  std::string problem = {};
  std::string text =
      {};  // the row as it is in the file; of JSON Lines an object of the same names and values
};

struct ReadOptions {
  // The columns to rank, in this order. Empty: all columns of numbers, at most kMaxAttributes. What else is kept becomes
  // fields, in the order of the file.
  std::vector<Attribute> attributes = {};
  // Without attributes: all columns are attributes, and must be numbers, but for those that `types` names. These are fields,
  // and may be absent.
  bool numbers_only = false;
  std::string id_column = {};  // integers or texts; empty: ids are assigned, by the rows' numbers
  // Of the ids. nullopt: text if most of the first thousand are texts, uint64 if one of them is 2^63 or more, else
  // int64. The type of a schema counts instead. Texts are in Table::labels.
  std::optional<IdType> id_type = {};
  std::string label_column = {};  // UTF-8 text; empty: no labels
  bool assign_ids = false;        // leave out the column of ids that the schema names
  // What is kept besides attributes, id and label. nullopt: every column.
  std::optional<std::vector<std::string>> columns = {};
  // Fields that are only shown. Others can be tested by filters, but for texts that nearly all differ: a column of more
  // than 1,000 rows is stored if more than half of its texts are distinct.
  std::vector<std::string> stored = {};
  // A cell that is not of its column's type is an error. The first timestamp says whether they have a
  // zone. Numbers and integers are ranked as if they had been found to be some. Attributes may have any type but text.
  std::vector<GivenType> types = {};
  CsvDialect dialect = {};  // of a text file; Table::dialect says what was found
  // Of an index that takes the rows: which columns are attributes and fields, and what they hold. A field may be absent
  // from the file; a column that the index does not have is an error unless `columns` leaves it out. Ids and labels are
  // read from the columns that the schema names, unless id_column and label_column name others. `attributes` then
  // renames: it has the file's columns for the index's attributes, in their order. Columns of a file without names are
  // matched by position.
  std::optional<Schema> schema = {};
  bool is_partial = false;  // attributes may be absent, too, as in columns for culmen::update
  NullPolicy nulls = NullPolicy::keep;
  std::optional<NullPolicy> json_lines_nulls =
      {};                  // of JSON Lines, whose objects may lack names; nullopt: as nulls
  bool unique_ids = true;  // false: ids may repeat, as in rows for Index::upsert
  int num_threads = 0;     // 0: all cores
  // For read_table, as BuildOptions::temp_directory: the arrays of the table are in files there. Empty: in memory.
  std::filesystem::path temp_directory = {};
  // Takes the rows of a text file that are refused; the others are read, and keep their numbers. Without it such rows are
  // an error. It names the first ten, counts the others by kind, up to a thousand, and is thrown at the end: of a pipe
  // that is read in batches, at the end of what has arrived. Rows are taken in order, once types are settled; of batches,
  // once the rows around them are handed out.
  std::function<void(const RejectedRow&)> on_rejected_row = {};
  // Takes the ids of the rows of a text file that NullPolicy::drop leaves out, but for those that miss their id; `text` is that
  // of IdType::text. The schema or id_type must say the type. Called in order, before the batch is handed out in whose place
  // they were, or at the end of read_table.
  std::function<void(std::int64_t id, std::string_view text)> on_dropped_row = {};
  // total_bytes is 0 where the length is unknown.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> on_progress = {};
};

// Reads a table. The format follows the name: .csv, .tsv or .txt, JSON Lines as .jsonl or .ndjson (each also with .gz,
// .bz2, .xz or .zst), .npy, .fvecs, .fbin; "-", /dev/stdin and /dev/fd/N read what is piped or redirected, JSON
// Lines if it begins with an object, else CSV. Columns of files without names are called a0, a1, ...,
// and a column of CSV or JSON Lines whose own name is empty by its place, from 0: column0.
//
// The delimiter of CSV, the marks in its numbers, and whether its first line is a header are found in its first megabyte,
// but for what ReadOptions::dialect says. A number may have a sign of a currency or a percent sign beside it (12% is 12),
// the same one in the whole column. Where no number tells whether a point or comma is the decimal mark, as in a file
// whose only ones are like 15.990, that is an error. Blank lines are skipped where there are several columns.
//
// A column of CSV is what all of its cells are: integers, other numbers (read as the nearest float64), true and false,
// dates (YYYY-MM-DD), timestamps (a date, T or a blank, HH:MM, possibly seconds, a fraction and a zone), or else text.
// Digits behind a leading zero (00501) are text, too, unless ReadOptions::attributes names the column, or types types it.
// Timestamps count in the unit of the finest fraction; either all have a zone or none. An empty cell is a missing
// value; quoted, in a column of text, it is an empty text. In other columns than text, NA, N/A, NULL, none, NaN, - and the
// like are missing values, too. The type of a column may depend on its last cell: then the file is read twice, or kept in memory
// if it is a pipe. NPY columns keep the element type of the file, and NaN is a missing value. Messages count lines, rows
// and columns from 1.
// Throws IoError when the file cannot be read, InputError naming file, line and column when a value or the
// shape is refused, InvalidArgument for an unknown format or column (the text lists the known ones).
Table read_table(const std::string& path, const ReadOptions& options = {});

// Consecutive rows of a table that is read in batches. It may have no rows, if all in its range were dropped.
struct TableBatch {
  TableView rows;  // as from read_table, numbered from the batch's first row on; valid during the call
  std::uint64_t first_row = 0;       // the number of input rows before the batch
  std::uint64_t num_input_rows = 0;  // in the batch, dropped rows included
  std::function<std::string(std::size_t row)> location_of_row = {};  // as Table's, for a row of the batch
};

struct BatchOptions {
  std::size_t batch_rows = 10'000;  // at most, in one batch
  std::uint64_t skip_rows = 0;      // input rows at the beginning to skip, whatever they hold
  // How long the first row of a batch may wait for others, in a pipe. nullopt: until nothing has come for a second.
  std::optional<std::chrono::milliseconds> max_delay = {};
};

struct BatchTotals {
  std::uint64_t num_rows = 0;           // delivered
  std::uint64_t num_dropped_rows = 0;   // those that were rejected too
  std::uint64_t num_rejected_rows = 0;  // by ReadOptions::on_rejected_row
};

// Reads a table in batches, for tables larger than memory and endless streams. Calls `take` in this thread with full
// batches in order, and with the rest at the end; an exception from it stops the reading and propagates. Ids are
// checked to be unique only within a batch. All full batches before a faulty row are delivered before the error is
// thrown. Without a schema, the types of CSV columns are those of the first rows.
//
// A pipe, as standard input may be, is read as data arrives: after a pause of a second, or BatchOptions::max_delay after
// its first row was read, a batch is delivered with the rows that it has. A compressed pipe and one of a matrix fill their
// batches; with a max_delay they are InvalidArgument. Memory: the batch, and some MB of the file; an NPY file in Fortran
// order is read as a whole.
BatchTotals read_table_in_batches(const std::string& path, const ReadOptions& options,
                                  const BatchOptions& batches,
                                  const std::function<void(const TableBatch&)>& take);

// Parses CSV text in memory; error texts call it `name`. The delimiter is that of the options, if they have one. Otherwise
// as read_table.
Table parse_csv(std::string_view text, const std::string& name, const ReadOptions& options = {},
                char delimiter = ',');

// Parses JSON Lines in memory: an object on each line, whose names are columns. Otherwise as read_table.
Table parse_json_lines(std::string_view text, const std::string& name, const ReadOptions& options = {});

// Parses NPY, fvecs or fbin bytes in memory. Otherwise as read_table.
Table parse_npy(std::string_view bytes, const std::string& name, const ReadOptions& options = {});
Table parse_fvecs(std::string_view bytes, const std::string& name, const ReadOptions& options = {});
Table parse_fbin(std::string_view bytes, const std::string& name, const ReadOptions& options = {});

// "price:low,rating,stars" -> attributes. Throws InvalidArgument naming the part that it could not parse.
std::vector<Attribute> parse_attributes(std::string_view text);

enum class TableKind : std::uint8_t {
  independent,
  correlated,
  anticorrelated,
  ratings,
  zipf,
  clusters,
  hotels,
  gaussian,
  weather,
  heavytailed,
  sparse,
  series,
  compositional
};

struct GenerateOptions {
  TableKind kind = TableKind::independent;
  std::uint64_t num_rows = 0;
  int num_attributes = 8;  // hotels has its own columns and ignores it
  std::uint64_t seed = 1;
  int num_threads = 0;  // 0: all cores; never changes a byte of the result
};

// Generates a synthetic table. Row r depends only on the seed and r (Philox counters), so the same options give the
// same bytes on every machine. Values are float32 (hotels: float64), attributes are a0, a1, ...
Table generate_table(const GenerateOptions& options);

// "anticorrelated" -> TableKind; throws InvalidArgument listing the kinds.
TableKind parse_table_kind(std::string_view name);

// Writes a table as CSV (.csv, numbers in the shortest form that reads back to the same bits, missing values as empty
// cells) or NPY (.npy, float32 or float64, row-major, attributes only, missing values as NaN). Throws IoError and leaves no partial file.
void write_table(const Table& table, const std::string& path);

}  // namespace culmen
