#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coding/answer_rows.h"
#include "coding/printable.h"
#include "tools/answers.h"
#include "tools/numbers.h"
#include "tools/weights.h"

namespace culmen::tools {
namespace {

constexpr std::size_t kNameWidth = 40;
constexpr std::size_t kShortNameWidth = 20;  // where the table is too wide
constexpr std::size_t kGap = 2;              // between columns

struct Column {
  std::string title;
  bool left_aligned = false;
  std::vector<std::string> cells;
  bool is_own = true;  // of answers, not of the index
  bool has_weight = false;
};

bool continues_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t num_code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); }));
}

// The offset of code point number `count`. The text must have more.
std::size_t offset_of_code_point(std::string_view text, std::size_t count) {
  std::size_t offset = 0;
  for (; count > 0; --count) {
    do ++offset;
    while (continues_code_point(text[offset]));
  }
  return offset;
}

std::string cut(const std::string& cell, std::size_t width) {
  if (num_code_points(cell) <= width) return cell;
  return cell.substr(0, offset_of_code_point(cell, width - 1)) + "…";
}

// A name as one cell: long names are truncated.
std::string name_cell(std::string_view name) {
  return cut(printable(std::string(name)), kNameWidth);
}

std::vector<Column> columns_of(const Answers& answers, const Query& query, const SearchResult& result) {
  Column rank{"rank", false, {}}, id{"id", answers.info.id_type == IdType::text, {}},
      score{"score", false, {}}, label{"label", true, {}};
  std::vector<Column> values;
  for (const ShownColumn& column : answers.columns) {
    values.push_back({name_cell(column.title), column.format.type == ColumnType::text, {}});
    values.back().is_own = false;
    values.back().has_weight = column.is_attribute && query.weights[column.position] != 0;
  }
  const ValueType type = answers.info.value_type;
  for_rows(result, [&](std::size_t i, const Row& row) {
    rank.cells.push_back(std::to_string(i + 1));
    id.cells.push_back(name_cell(id_text(row, answers.info.id_type)));
    score.cells.push_back(recognisable(result.hits[i].score, type));
    if (answers.info.has_labels) label.cells.push_back(name_cell(row.label));
    for (std::size_t c = 0; c < values.size(); ++c) {
      const ShownColumn& column = answers.columns[c];
      values[c].cells.push_back(name_cell(readable_text(value_of(row, column), column.format, type)));
    }
  });
  std::vector<Column> columns = {std::move(rank), std::move(id), std::move(score)};
  if (answers.info.has_labels) columns.push_back(std::move(label));
  columns.insert(columns.end(), values.begin(), values.end());
  return columns;
}

std::size_t width_of(const Column& column) {
  std::size_t width = num_code_points(column.title);
  for (const std::string& cell : column.cells) width = std::max(width, num_code_points(cell));
  return width;
}

std::string aligned(const std::string& cell, bool left, std::size_t width) {
  const std::string padding(width - num_code_points(cell), ' ');
  return left ? cell + padding : padding + cell;
}

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t width = 0;
  for (const Column& column : columns) width += (width == 0 ? 0 : kGap) + width_of(column);
  return width;
}

// The column to leave out first, if there is one.
auto least_wanted(std::vector<Column>& columns) {
  auto least = columns.end();
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (column->is_own) continue;
    if (least == columns.end() || least->has_weight || !column->has_weight) least = column;
  }
  return least;
}

// Returns the titles of the columns that are left out.
std::vector<std::string> fit(std::vector<Column>& columns, std::size_t width) {
  if (width == 0 || width_of(columns) <= width) return {};
  for (Column& column : columns)
    if (column.left_aligned && column.title != "id")
      for (std::string& cell : column.cells) cell = cut(cell, kShortNameWidth);
  std::vector<std::string> left_out;
  for (std::size_t present = width_of(columns); present > width;) {
    const auto least = least_wanted(columns);
    if (least == columns.end()) break;
    present -= width_of(*least) + kGap;
    left_out.push_back(least->title);
    columns.erase(least);
  }
  std::ranges::reverse(left_out);
  return left_out;
}

void write_columns(const std::vector<Column>& columns, std::size_t num_rows, Output& out) {
  std::vector<std::size_t> widths;
  for (const Column& column : columns) widths.push_back(width_of(column));
  const auto write_line = [&](auto cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i)
      line += std::string(i == 0 ? 0 : kGap, ' ') +
              aligned(cell_of(columns[i]), columns[i].left_aligned, widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out.write(line + '\n');
  };
  write_line([](const Column& column) { return column.title; });
  for (std::size_t row = 0; row < num_rows; ++row)
    write_line([row](const Column& column) { return column.cells[row]; });
}

}  // namespace

std::vector<std::string> write_table(const Answers& answers, Output& out) {
  std::vector<std::string> left_out;
  for (std::size_t query = 0; query < answers.results.size(); ++query) {
    const SearchResult& result = answers.results[query];
    if (query != 0) out.write("\n");
    if (answers.batch)
      out.write("query " + std::to_string(query + 1) + ": " +
                printable(weights_text(answers.queries[query].weights, answers.info)) + '\n');
    std::vector<Column> columns = columns_of(answers, answers.queries[query], result);
    for (std::string& title : fit(columns, answers.width))
      if (std::ranges::find(left_out, title) == left_out.end()) left_out.push_back(std::move(title));
    write_columns(columns, result.hits.size(), out);
  }
  return left_out;
}

}  // namespace culmen::tools
