#include "table/find_dialect.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/calendar.h"
#include "culmen/error.h"
#include "table/csv_parser.h"
#include "table/csv_record.h"
#include "table/text.h"

namespace culmen::io {
namespace {

constexpr std::string_view kDelimiters = ",\t;|";

// Walks over the complete records of a sample that are not blank, and can be split.
class SampleRecords {
 public:
  // is_json_lines: each record is one line of the file, in which the header is none.
  SampleRecords(std::string_view sample, bool is_whole, char delimiter, bool is_json_lines = false)
      : splitter_(delimiter, kMaxColumns, is_json_lines),
        pos_(sample.data()),
        end_(sample.data() + sample.size()),
        is_whole_(is_whole),
        is_json_lines_(is_json_lines),
        next_line_(is_json_lines ? 0 : 1) {}

  bool next() {
    while (pos_ != end_) {
      const RecordState state = splitter_.split(pos_, end_, is_whole_);
      const char* const behind = state == RecordState::complete  ? splitter_.next()
                                 : state == RecordState::refused ? splitter_.line_after_fault()
                                                                 : nullptr;
      if (behind == nullptr) return false;
      line_ = next_line_;
      next_line_ += is_json_lines_ ? 1 : static_cast<std::uint64_t>(std::count(pos_, behind, '\n'));
      pos_ = behind;
      if (state == RecordState::complete && !splitter_.is_blank()) return true;
    }
    return false;
  }
  const std::vector<CsvField>& fields() const { return splitter_.fields(); }
  std::uint64_t line() const { return line_; }

 private:
  RecordSplitter splitter_;
  const char* pos_;
  const char* end_;
  bool is_whole_;
  bool is_json_lines_;
  std::uint64_t line_ = 1, next_line_;
};

// How well a delimiter fits: the number of columns, and whether all of the first records have so many.
struct Fit {
  std::size_t num_columns = 0;
  bool is_regular = false;
  bool has_rows = false;  // with so many cells

  bool is_better_than(const Fit& other) const {
    if (is_regular != other.is_regular) return is_regular;
    return num_columns > other.num_columns;
  }
};

Fit fit_of(std::string_view sample, bool is_whole, char delimiter) {
  constexpr int kMaxRecords = 100;
  SampleRecords records(sample, is_whole, delimiter);
  if (!records.next()) return {};
  Fit fit = {.num_columns = records.fields().size(), .is_regular = records.fields().size() > 1};
  for (int i = 0; i < kMaxRecords && records.next(); ++i) {
    const bool matches = records.fields().size() == fit.num_columns;
    fit.is_regular &= matches;
    fit.has_rows |= matches;
  }
  return fit;
}

// The usual one, unless another fits better.
char find_delimiter(std::string_view sample, bool is_whole, char usual) {
  char best = usual;
  Fit best_fit = fit_of(sample, is_whole, usual);
  for (const char delimiter : kDelimiters) {
    const Fit fit = fit_of(sample, is_whole, delimiter);
    // Ragged files are reported by their usual delimiter, if their header has it.
    const bool may_be_ragged = fit.has_rows && best_fit.num_columns <= 1;
    if (!fit.is_better_than(best_fit) || (!fit.is_regular && !may_be_ragged)) continue;
    best = delimiter;
    best_fit = fit;
  }
  return best;
}

struct Place {
  std::uint64_t line = 0;
  std::size_t column = 0;
  std::string text;
};

// A cell that is looked at.
struct SampledCell {
  std::uint64_t line = 0;
  std::size_t column = 0;
  std::string_view text;

  Place place() const { return {line, column, std::string(text)}; }
};

// What the numbers of some cells tell.
struct Evidence {
  std::optional<Place> point,
      comma;  // the first number whose mark is a decimal one for certain, as its groups may tell
  std::optional<Place> open;  // the first that may be read in two ways
  std::size_t num_open_points = 0;
  bool has_open_comma = false;
  bool has_open_zero = false;  // one that may be read in two ways ends with a zero
  bool is_comma_sure = false;  // 0,5 or 1.234,5: no list of two numbers
  bool by_point = false, by_comma = false, by_apostrophe = false, by_blank = false;

  void add(const NumberShape& shape, const SampledCell& cell) {
    if ((shape.has_point || shape.groups_by_comma) && !point) point = cell.place();
    if ((shape.has_comma || shape.groups_by_point) && !comma) comma = cell.place();
    const bool is_open = shape.may_have_point || shape.may_have_comma;
    if (is_open && !open) open = cell.place();
    num_open_points += shape.may_have_point ? 1 : 0;
    has_open_comma |= shape.may_have_comma;
    has_open_zero |= is_open && shape.ends_with_zero;
    is_comma_sure |= shape.has_comma && (shape.has_groups() || cell.text.starts_with("0,"));
    by_point |= shape.groups_by_point;
    by_comma |= shape.groups_by_comma;
    by_apostrophe |= shape.groups_by_apostrophe;
    by_blank |= shape.groups_by_blank;
  }

  void merge(const Evidence& other) {
    if (!point) point = other.point;
    if (!comma) comma = other.comma;
    if (!open) open = other.open;
    num_open_points = std::max(num_open_points, other.num_open_points);
    has_open_comma |= other.has_open_comma;
    has_open_zero |= other.has_open_zero;
    is_comma_sure |= other.is_comma_sure;
    by_point |= other.by_point;
    by_comma |= other.by_comma;
    by_apostrophe |= other.by_apostrophe;
    by_blank |= other.by_blank;
  }
};

// What the dates of some cells begin with.
struct DateEvidence {
  std::optional<Place> day, month;           // the first that can begin with nothing else
  std::optional<Place> open;                 // the first that may begin with either
  std::size_t num_days = 0, num_months = 0;  // that can begin with nothing else

  void add(const DateShape& shape, const SampledCell& cell) {
    const bool is_open = shape.may_be_day_first && shape.may_be_month_first;
    std::optional<Place>& first = is_open ? open : shape.may_be_day_first ? day : month;
    if (!first) first = cell.place();
    if (!is_open) ++(shape.may_be_day_first ? num_days : num_months);
  }

  // The rarer ones are faults.
  void keep_most() {
    if (num_days > num_months) month.reset();
    if (num_months > num_days) day.reset();
  }

  void merge(const DateEvidence& other) {
    if (!day) day = other.day;
    if (!month) month = other.month;
    if (!open) open = other.open;
  }
};

// What columns are said to hold, whatever is in their cells.
struct GivenColumn {
  bool is_text = false;    // cells tell nothing
  bool is_number = false;  // cells that are none are faults
  bool is_time = false;    // dates or timestamps, and others are faults

  void take(ColumnType type) {
    is_text |= type == ColumnType::text;
    is_number |= type == ColumnType::floating || type == ColumnType::integer;
    is_time |= type == ColumnType::date || type == ColumnType::timestamp;
  }
};

// A column of labels, or of ids that are said to be texts.
bool is_of_texts(std::string_view name, const ReadOptions& options) {
  if (name.empty()) return false;
  if (name == options.label_column) return true;
  if (given_id_type(options) != IdType::text) return false;
  if (!options.id_column.empty() || !options.schema) return name == options.id_column;
  return name == options.schema->id_name || name == id_title(*options.schema);
}

std::vector<GivenColumn> given_columns(const SampleRecords& records, const ReadOptions& options,
                                       bool has_header) {
  std::vector<GivenColumn> columns(records.fields().size());
  std::string scratch;
  for (std::size_t i = 0; i < columns.size() && has_header; ++i) {
    const std::string_view name = trim_blanks(field_value(records.fields()[i], scratch));
    const auto is_called = [&](const auto& column) { return column.name == name; };
    columns[i].is_text = is_of_texts(name, options);
    for (const GivenType& type : options.types)
      if (type.column == name) columns[i].take(type.type);
    columns[i].is_number |= !columns[i].is_time && std::ranges::any_of(options.attributes, is_called);
    if (!options.schema) continue;
    for (const Attribute& attribute : options.schema->attributes)
      if (is_called(attribute)) columns[i].take(attribute.format.type);
    for (const Field& field : options.schema->fields)
      if (is_called(field)) columns[i].take(field.format.type);
  }
  return columns;
}

struct SampledColumn {
  Evidence evidence;
  DateEvidence dates;
  ColumnForm form;
  bool holds_numbers = true;  // and missing values alone
  bool holds_dates = true;    // so
  bool is_number = false;     // though some cells are none
  bool is_time = false;       // so
  bool may_group_by_blank = false;

  void add_number(const NumberShape& shape, const SampledCell& cell) {
    holds_numbers = shape.is_number || is_number;
    if (!shape.is_number) return;
    if (!form.unit) form.unit = shape.unit;
    form.has_groups |= shape.has_groups();
    may_group_by_blank |= shape.may_group_by_blank;
    evidence.add(shape, cell);
  }

  void add_date(const DateShape& shape, const SampledCell& cell) {
    if (shape.is_date) dates.add(shape, cell);
    const bool are_of_one_kind = !dates.day || !dates.month;
    const bool is_date = shape.is_date || parse_date(cell.text) || parse_timestamp(cell.text);
    holds_dates = is_time || (is_date && are_of_one_kind);
  }
};

std::vector<SampledColumn> sample_columns(SampleRecords& records, const std::vector<GivenColumn>& given,
                                          const CellForm& words) {
  const std::size_t num_columns = given.size();
  std::vector<SampledColumn> columns(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) {
    columns[i].holds_numbers = columns[i].holds_dates = !given[i].is_text;
    columns[i].is_number = given[i].is_number;
    columns[i].is_time = given[i].is_time;
  }
  std::string scratch;
  while (records.next()) {
    if (records.fields().size() != num_columns) continue;
    for (std::size_t i = 0; i < num_columns; ++i) {
      SampledColumn& column = columns[i];
      if (!column.holds_numbers && !column.holds_dates) continue;
      const std::string_view cell = trim_blanks(field_value(records.fields()[i], scratch));
      if (cell.empty() || words.is_null_word(cell)) continue;
      const SampledCell sampled = {records.line(), i + 1, cell};
      if (column.holds_numbers) column.add_number(shape_of(cell), sampled);
      if (column.holds_dates) column.add_date(date_shape_of(cell), sampled);
    }
  }
  for (SampledColumn& column : columns) {
    column.holds_numbers &= !column.may_group_by_blank || column.evidence.by_blank;
    column.dates.keep_most();
  }
  return columns;
}

[[noreturn]] void ask_for_decimal(const std::string& name, const Place& place, const std::string& what) {
  throw_csv_fault(name, place.line, place.column, what, InputError::Remedy::give_decimal);
}

void find_dates(const DateEvidence& evidence, FoundDialect& found, const std::string& name) {
  std::optional<DateOrder>& order = found.dialect.dates;
  const auto ask = [&](const Place& place, const std::string& what) {
    throw_csv_fault(name, place.line, place.column, what, InputError::Remedy::give_dates);
  };
  if (!order && evidence.day && evidence.month)
    ask(*evidence.month,
        "expected dates of one kind in the whole file, found " + quote_excerpt(evidence.month->text) +
            " beside " + quote_excerpt(evidence.day->text) + " in line " +
            std::to_string(evidence.day->line) + ": do dates begin with the day or the month?");
  if (!order && !evidence.day && !evidence.month && evidence.open)
    ask(*evidence.open,
        "no date says whether " + quote_excerpt(evidence.open->text) + " begins with the day or the month");
  if (!order && evidence.day) order = DateOrder::day_first;
  if (!order && evidence.month) order = DateOrder::month_first;
  found.form.dates = order;
}

// In a file with commas between cells, numbers have decimal points, unless what they hold speaks against it. Numbers that
// programs write end with no zero behind the point, and do not all have three digits there.
bool is_usual_point(const Evidence& evidence, char delimiter) {
  constexpr std::size_t kFewNumbers = 20;
  return delimiter == ',' && !evidence.has_open_comma && !evidence.has_open_zero &&
         evidence.num_open_points < kFewNumbers;
}

void find_marks(const Evidence& evidence, FoundDialect& found, const std::string& name) {
  CsvDialect& dialect = found.dialect;
  // Of a point and a comma the one that is not between thousands is the decimal mark.
  if (!dialect.decimal && dialect.thousands == ',') dialect.decimal = '.';
  if (!dialect.decimal && dialect.thousands == '.') dialect.decimal = ',';
  const bool is_decimal_given = dialect.decimal.has_value();
  if (!is_decimal_given) {
    const char delimiter = *dialect.delimiter;
    if (evidence.point && evidence.comma && (delimiter != ',' || evidence.open))
      ask_for_decimal(
          name, *evidence.comma,
          "expected one decimal mark in the whole file, found " + quote_excerpt(evidence.comma->text) +
              " beside " + quote_excerpt(evidence.point->text) + " in line " +
              std::to_string(evidence.point->line) + ": which of point and comma is the decimal mark?");
    if (delimiter == ',' && evidence.comma && !evidence.point && !evidence.is_comma_sure)
      ask_for_decimal(name, *evidence.comma,
                      "with commas between cells, is " + quote_excerpt(evidence.comma->text) +
                          " a number with a decimal comma, or a text?");
    if (!evidence.point && !evidence.comma && evidence.open && !is_usual_point(evidence, delimiter))
      ask_for_decimal(name, *evidence.open,
                      "no number says whether " + quote_excerpt(evidence.open->text) +
                          " has a decimal mark or one between thousands");
    dialect.decimal = evidence.comma && !evidence.point ? ',' : '.';
    found.form.is_settled = delimiter == ',' || evidence.point || evidence.comma || evidence.open;
  }
  if (!dialect.thousands) {
    const bool is_point = *dialect.decimal == '.';
    // Beside a decimal mark that is given, the other one can only be between thousands.
    const bool by_other = (is_decimal_given && !evidence.by_apostrophe && !evidence.by_blank) ||
                          (is_point ? evidence.by_comma || evidence.has_open_comma
                                    : evidence.by_point || evidence.num_open_points > 0);
    dialect.thousands = by_other                 ? (is_point ? ',' : '.')
                        : evidence.by_apostrophe ? '\''
                        : evidence.by_blank      ? ' '
                                                 : '\0';
  }
}

[[noreturn]] void ask_for_header(const std::string& name, std::uint64_t line, std::size_t field,
                                 const std::string& found) {
  throw_csv_fault(name, line, field + 1,
                  "expected a header line, found " + found + " the first row of a file without a header?",
                  InputError::Remedy::give_header);
}

// A number that hardly names a column, as a year may.
bool has_fraction_or_minus(const CsvField& field) {
  const NumberShape shape = shape_of(field.text);
  return !field.quoted && shape.is_number &&
         (shape.has_point || shape.has_comma || field.text.find('-') != std::string_view::npos);
}

// If one of the next rows has a text of the first line in its column again. A letter may be a name and a mark below it.
void ask_if_repeated(SampleRecords records, const std::string& name) {
  constexpr std::size_t kFewestBytes = 2;
  constexpr int kMaxRecords = 100;
  std::string scratch;
  const std::uint64_t first_line = records.line();
  std::vector<std::string> first;
  for (const CsvField& field : records.fields()) first.emplace_back(field_value(field, scratch));
  for (int i = 0; i < kMaxRecords && records.next(); ++i) {
    if (records.fields().size() != first.size()) continue;
    for (std::size_t c = 0; c < first.size(); ++c)
      if (first[c].size() >= kFewestBytes && field_value(records.fields()[c], scratch) == first[c])
        ask_for_header(name, first_line, c,
                       quote_excerpt(first[c]) + ", which line " + std::to_string(records.line()) +
                           " has in the same column: is it a name, or is this");
  }
}

// Whether the first line holds names.
bool find_header(const SampleRecords& records, std::size_t num_columns, const ReadOptions& options,
                 const std::string& name) {
  const std::vector<CsvField>& fields = records.fields();
  const auto is_number = [](const CsvField& field) {
    return !field.quoted && shape_of(field.text).is_number;
  };
  const bool are_names_known = !options.attributes.empty() || options.schema || !options.id_column.empty() ||
                               !options.label_column.empty();
  if (are_names_known || num_columns == 0) return true;
  const auto telling = std::ranges::find_if(fields, has_fraction_or_minus);
  if (std::ranges::all_of(fields, is_number)) {
    if (telling != fields.end()) return false;
    ask_for_header(name, records.line(), 0, "only numbers: are they names, which may have quotes, or");
  }
  if (telling != fields.end())
    ask_for_header(
        name, records.line(), static_cast<std::size_t>(telling - fields.begin()),
        "the number " + quote_excerpt(telling->text) + ": is it a name, which may have quotes, or is this");
  ask_if_repeated(records, name);
  return true;
}

}  // namespace

std::optional<bool> begins_like_json_lines(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  if (kByteOrderMark.starts_with(text)) return std::nullopt;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  if (text[first] != '{') return false;
  const std::size_t second = text.find_first_not_of(kBlanks, first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return text[second] == '"' || text[second] == '}';  // else it may be a name
}

namespace {

// An array of objects. A header may begin with a bracket, too.
bool begins_like_json_array(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos || text[first] != '[') return false;
  const std::size_t second = text.find_first_not_of(kBlanks, first + 1);
  return second != std::string_view::npos && begins_like_json_lines(text.substr(second)).value_or(false);
}

// "sep=;", a line of its own.
bool begins_with_separator_line(std::string_view text) {
  constexpr std::string_view kBegin = "sep=";
  constexpr std::size_t kEnd = kBegin.size() + 1;
  return text.starts_with(kBegin) && text.size() > kEnd && (text[kEnd] == '\r' || text[kEnd] == '\n');
}

}  // namespace

void check_dialect(const CsvDialect& dialect) {
  const auto check = [](const std::optional<char>& mark, std::string_view known, const char* what) {
    if (mark && known.find(*mark) == std::string_view::npos)
      throw InvalidArgument(std::string("expected ") + what + ", found " + quote_excerpt({&*mark, 1}));
  };
  check(dialect.delimiter, kDelimiters, "a comma, tab, semicolon or bar as the delimiter");
  check(dialect.decimal, ".,", "a point or comma as the decimal mark");
  check(dialect.thousands, {",.' \0", 5}, "a comma, point, apostrophe or blank between thousands");
  if (dialect.decimal && dialect.decimal == dialect.thousands)
    throw InvalidArgument("the decimal mark and the mark between thousands are both " +
                          quote_excerpt({&*dialect.decimal, 1}));
}

FoundDialect find_dialect(std::string_view sample, bool is_whole, char usual, const ReadOptions& options,
                          const std::string& name) {
  if (begins_like_json_lines(sample).value_or(false))
    throw_csv_fault(
        name, 1, 1,
        "expected CSV, found an object as in JSON Lines, which are read from files named .jsonl or "
        ".ndjson, and from standard input");
  if (begins_like_json_array(sample))
    throw_csv_fault(name, 1, 1, "expected CSV, found a JSON array (jq -c '.[]' makes JSON Lines of it)");
  if (sample.starts_with(kByteOrderMark)) sample.remove_prefix(kByteOrderMark.size());
  if (begins_with_separator_line(sample))
    throw_csv_fault(
        name, 1, 1,
        "expected a header or a row, found the line in which Excel names the delimiter: remove it "
        "(tail -n +2)");
  FoundDialect found = {
      .dialect = options.dialect, .form = {.null_words = options.dialect.null_words}, .columns = {}};
  CsvDialect& dialect = found.dialect;
  if (!dialect.delimiter) dialect.delimiter = find_delimiter(sample, is_whole, usual);
  SampleRecords records(sample, is_whole, *dialect.delimiter);
  const bool has_records = records.next();
  const std::size_t num_columns = has_records ? records.fields().size() : 0;
  if (!dialect.has_header)
    dialect.has_header = !has_records || find_header(records, num_columns, options, name);
  const std::vector<GivenColumn> given =
      has_records ? given_columns(records, options, *dialect.has_header) : std::vector<GivenColumn>();
  if (!*dialect.has_header) records = SampleRecords(sample, is_whole, *dialect.delimiter);
  Evidence evidence;
  DateEvidence dates;
  const std::vector<SampledColumn> columns = sample_columns(records, given, found.form);
  for (const SampledColumn& column : columns) {
    if (column.holds_numbers) evidence.merge(column.evidence);
    if (column.holds_dates) dates.merge(column.dates);
  }
  find_marks(evidence, found, name);
  find_dates(dates, found, name);
  for (const SampledColumn& column : columns) {
    found.columns.push_back(column.holds_numbers ? column.form : ColumnForm{});
    found.columns.back().has_groups |= (dialect.thousands == '.' && column.evidence.num_open_points > 0) ||
                                       (dialect.thousands == ',' && column.evidence.has_open_comma);
  }
  found.form.decimal = *dialect.decimal;
  found.form.thousands = *dialect.thousands;
  return found;
}

FoundDialect find_dialect_of_json_lines(std::string_view sample, bool is_whole, const ReadOptions& options,
                                        const std::string& name) {
  FoundDialect found = {.dialect = {.delimiter = ',',
                                    .has_header = true,
                                    .decimal = '.',
                                    .thousands = '\0',
                                    .dates = options.dialect.dates,
                                    .null_words = options.dialect.null_words},
                        .form = {.quoted_are_texts = true, .null_words = options.dialect.null_words},
                        .columns = {},
                        .is_json_lines = true};
  SampleRecords records(sample, is_whole, ',', true);
  DateEvidence dates;
  if (records.next())
    for (const SampledColumn& column :
         sample_columns(records, given_columns(records, options, true), found.form))
      if (column.holds_dates) dates.merge(column.dates);
  find_dates(dates, found, name);
  return found;
}

}  // namespace culmen::io

namespace culmen {
namespace {

std::string_view delimiter_text(char delimiter) {
  return delimiter == ';' ? "semicolons" : delimiter == '\t' ? "tabs" : delimiter == '|' ? "bars" : "commas";
}

std::string_view thousands_text(char mark) {
  return mark == '.' ? "points" : mark == ',' ? "commas" : mark == '\'' ? "apostrophes" : "blanks";
}

}  // namespace

std::string describe(const CsvDialect& dialect) {
  std::string text;
  const auto add = [&](const std::string& part) { text.append(text.empty() ? "" : ", ").append(part); };
  if (dialect.delimiter && *dialect.delimiter != ',')
    add(std::string(delimiter_text(*dialect.delimiter)) + " between cells");
  if (dialect.decimal && *dialect.decimal == ',') add("decimal commas");
  if (dialect.thousands && *dialect.thousands != '\0')
    add(std::string(thousands_text(*dialect.thousands)) + " between thousands");
  if (dialect.dates)
    add(*dialect.dates == DateOrder::day_first ? "days before months" : "months before days");
  if (dialect.has_header && !*dialect.has_header) add("no header");
  return text;
}

}  // namespace culmen
