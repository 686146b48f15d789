#include "tools/odd_cells.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <variant>
#include <vector>

#include "coding/printable.h"
#include "table/number.h"
#include "table/text.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

constexpr std::size_t kMostWords = 3;  // that are suggested as gaps
constexpr std::size_t kFewestTexts =
    1000;  // after so many a column is one of texts if they are the larger part

struct OddCells {
  std::size_t num_numbers = 0;
  std::size_t num_texts = 0;
  std::size_t first_row = 0;            // of the texts
  std::vector<std::string_view> words;  // that differ, kMostWords + 1 of them at most

  bool are_few() const {
    const bool are_words = words.size() <= kMostWords && num_texts <= num_numbers;
    return num_texts > 0 && num_numbers > 0 && (are_words || num_texts <= num_numbers / 10);
  }
};

bool is_number(std::string_view text) {
  const io::NumberKind kind = io::parse_number(text).kind;
  return kind == io::NumberKind::finite || kind == io::NumberKind::inexact_integer;
}

// None of a column with numbers that have a leading zero, which are texts on purpose.
OddCells odd_cells_of(const TextView& column, std::size_t num_rows) {
  OddCells cells;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (column.validity.is_missing(row)) continue;
    const std::string_view text = column.texts[row];
    if (io::has_leading_zero(text)) return {};
    if (is_number(text)) {
      ++cells.num_numbers;
      continue;
    }
    if (cells.num_texts++ == 0) cells.first_row = row;
    if (cells.words.size() <= kMostWords && std::ranges::find(cells.words, text) == cells.words.end())
      cells.words.push_back(text);
    if (cells.num_texts > kFewestTexts && cells.num_texts > cells.num_numbers) return {};
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

}  // namespace

std::string odd_cells_text(const Table& table, std::string_view indent) {
  const TableView view = table.view();
  std::string lines;
  for (std::size_t i = 0; i < view.fields.size(); ++i) {
    const auto* const texts = std::get_if<TextView>(&view.field_views[i]);
    const OddCells cells = texts == nullptr ? OddCells() : odd_cells_of(*texts, view.num_rows);
    if (!cells.are_few()) continue;
    lines += fmt::format(
        "{}{} is text: {} of {} cells {}, the first {} at {}", indent, printable(view.fields[i].name),
        grouped(cells.num_texts), grouped(cells.num_texts + cells.num_numbers),
        cells.num_texts == 1 ? "is no number" : "are no numbers", quote_excerpt(cells.words.front()),
        table.location_of_row ? table.location_of_row(cells.first_row)
                              : fmt::format("row {}", grouped(cells.first_row + 1)));
    if (cells.words.size() <= kMostWords && are_plain(cells.words))
      lines += fmt::format("; --null {} takes {} as missing", fmt::join(cells.words, ","),
                           cells.words.size() == 1 ? "it" : "them");
    lines += '\n';
  }
  return lines;
}

}  // namespace culmen::tools
