#include "tools/odd_cells.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "base/calendar.h"
#include "coding/printable.h"
#include "table/cell_form.h"
#include "table/number.h"
#include "table/text.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

constexpr std::size_t kMostWords = 3;  // that are suggested as gaps
constexpr std::size_t kFewestTexts =
    1000;  // after so many a column is one of texts if they are the larger part

// What a column of texts would hold.
enum class Wanted : std::uint8_t { numbers, times };

struct OddCells {
  std::size_t num_wanted = 0;
  std::size_t num_texts = 0;
  std::size_t first_row = 0;            // of the texts
  std::vector<std::string_view> words;  // that differ, kMostWords + 1 of them at most
  bool has_timestamps = false;          // else the times are dates

  bool are_few() const {
    const bool are_words = words.size() <= kMostWords && num_texts <= num_wanted;
    return num_texts > 0 && num_wanted > 0 && (are_words || num_texts <= num_wanted / 10);
  }
};

bool is_number(std::string_view text) {
  const io::NumberKind kind = io::parse_number(text).kind;
  return kind == io::NumberKind::finite || kind == io::NumberKind::inexact_integer;
}

// Of the dates that may begin with the day or the month, all: the odd cells may have kept the order from being found.
bool is_time(std::string_view text, const io::CellForm& form, bool& is_timestamp) {
  std::string scratch;
  const std::string_view iso = form.iso_time(text, scratch);
  const bool is_date = parse_date(iso).has_value();
  const bool is_either = !is_date && (parse_timestamp(iso) || io::date_shape_of(text).is_date);
  is_timestamp = is_either && text.find(':') != std::string_view::npos;
  return is_date || is_either;
}

// No numbers of a column in which some have a leading zero, which are texts on purpose.
OddCells odd_cells_of(const TextView& column, std::size_t num_rows, Wanted wanted, const io::CellForm& form) {
  OddCells cells;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (column.validity.is_missing(row)) continue;
    const std::string_view text = column.texts[row];
    if (wanted == Wanted::numbers && io::has_leading_zero(text)) return {};
    bool is_timestamp = false;
    if (wanted == Wanted::numbers ? is_number(text) : is_time(text, form, is_timestamp)) {
      ++cells.num_wanted;
      cells.has_timestamps |= is_timestamp;
      continue;
    }
    if (cells.num_texts++ == 0) cells.first_row = row;
    if (cells.words.size() <= kMostWords && std::ranges::find(cells.words, text) == cells.words.end())
      cells.words.push_back(text);
    if (cells.num_texts > kFewestTexts && cells.num_texts > cells.num_wanted) return {};
  }
  return cells;
}

// Words that --null takes as they are.
bool are_plain(const std::vector<std::string_view>& words) {
  constexpr std::string_view kOthers = " ,'\"\\$`!*?;&|<>()[]{}~#\t\r\n";
  return std::ranges::all_of(words, [&](std::string_view word) {
    return !word.empty() && word.front() != '-' && word.find_first_of(kOthers) == std::string_view::npos;
  });
}

// "is no date", "are no numbers"
std::string what_they_are(const OddCells& cells, Wanted wanted) {
  const char* const noun = wanted == Wanted::numbers ? "number" : cells.has_timestamps ? "timestamp" : "date";
  return cells.num_texts == 1 ? fmt::format("is no {}", noun) : fmt::format("are no {}s", noun);
}

// How such cells can be left out.
std::string advice(const OddCells& cells, Wanted wanted, const std::string& name, bool is_impossible) {
  if (cells.words.size() <= kMostWords && are_plain(cells.words) && !is_impossible)
    return fmt::format("; --null {} takes {} as missing", fmt::join(cells.words, ","),
                       cells.words.size() == 1 ? "it" : "them");
  if (wanted == Wanted::numbers) return "";
  return fmt::format("; --types {}={} and --rejects FILE leave such rows out", printable(name),
                     cells.has_timestamps ? "timestamp" : "date");
}

// Words that mean nothing else, and that a column of texts keeps as texts.
std::string null_words_text(const TextView& column, std::size_t num_rows, const std::string& name) {
  constexpr std::string_view kWords[] = {"NA", "N/A", "n/a", "NULL", "null"};
  std::size_t num_cells = 0;
  std::vector<std::string_view> words;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (column.validity.is_missing(row)) continue;
    const std::string_view text = column.texts[row];
    if (std::ranges::find(kWords, text) == std::end(kWords)) continue;
    ++num_cells;
    if (std::ranges::find(words, text) == words.end()) words.push_back(text);
  }
  if (num_cells == 0) return "";
  const std::string list = fmt::format("{}", fmt::join(words, ","));
  return fmt::format("{} has {} in {}; --null {} takes {} as missing\n", printable(name), list,
                     counted(num_cells, "cell"), list, words.size() == 1 ? "it" : "them");
}

}  // namespace

std::string odd_cells_text(const Table& table, std::string_view indent) {
  const TableView view = table.view();
  const io::CellForm form = {.dates = table.dialect.dates};
  std::string lines;
  for (std::size_t i = 0; i < view.fields.size(); ++i) {
    const auto* const texts = std::get_if<TextView>(&view.field_views[i]);
    if (texts == nullptr) continue;
    Wanted wanted = Wanted::numbers;
    OddCells cells = odd_cells_of(*texts, view.num_rows, wanted, form);
    if (!cells.are_few()) {
      wanted = Wanted::times;
      cells = odd_cells_of(*texts, view.num_rows, wanted, form);
    }
    const std::string& name = view.fields[i].name;
    if (!cells.are_few()) {
      const std::string line = null_words_text(*texts, view.num_rows, name);
      if (!line.empty()) lines.append(indent).append(line);
      continue;
    }
    const bool is_impossible = wanted == Wanted::times && io::looks_like_date(cells.words.front());
    lines += fmt::format("{}{} is text: {} of {} cells {}, the first {}{} at {}{}\n", indent, printable(name),
                         grouped(cells.num_texts), grouped(cells.num_texts + cells.num_wanted),
                         what_they_are(cells, wanted), quote_excerpt(cells.words.front()),
                         is_impossible ? " (there is no such day or time)" : "",
                         table.location_of_row ? table.location_of_row(cells.first_row)
                                               : fmt::format("row {}", grouped(cells.first_row + 1)),
                         advice(cells, wanted, name, is_impossible));
  }
  return lines;
}

}  // namespace culmen::tools
