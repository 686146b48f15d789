// Reads matrices in batches of rows.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "table/matrix.h"

namespace culmen::io {
namespace {

void skip_rows(ByteSource& source, const MatrixFormat& format, std::uint64_t num_rows,
               const std::string& name) {
  constexpr std::uint64_t kSkippedAtOnce = std::uint64_t{1} << 20;
  const std::uint64_t row_elements = format.num_columns + (format.has_row_prefix ? 1 : 0);
  std::vector<char> window(kSkippedAtOnce);
  for (std::uint64_t left = num_rows * row_elements * element_bytes(format.type); left > 0;) {
    const auto count = static_cast<std::size_t>(std::min(left, kSkippedAtOnce));
    if (source.read(window.data(), count) != count) throw_too_short(name);
    left -= count;
  }
}

// A row-major file is read in the order of its rows.
BatchTotals read_row_major(ByteSource& source, const MatrixFormat& format, const std::string& name,
                           const ReadOptions& options, const BatchOptions& batches,
                           const std::function<void(const TableBatch&)>& take) {
  BatchTotals totals;
  MatrixFormat part = format;
  part.first_row = std::min(format.num_rows, batches.skip_rows);
  skip_rows(source, format, part.first_row, name);
  do {
    part.num_rows = std::min<std::uint64_t>(format.num_rows - part.first_row, batches.batch_rows);
    const Table table = read_matrix(source, part, name, options);
    if (part.num_rows > 0) take({table.view(), part.first_row, part.num_rows, table.location_of_row});
    totals.num_rows += table.num_rows;
    totals.num_dropped_rows += table.num_dropped_rows;
    part.first_row += part.num_rows;
  } while (part.first_row < format.num_rows);
  return totals;
}

TableView rows_of(const TableView& whole, std::size_t first_row, std::size_t num_rows) {
  TableView rows = whole;
  rows.num_rows = num_rows;
  const auto cut = [&](ColumnView& column) {
    column.data += static_cast<std::ptrdiff_t>(first_row) * column.stride_bytes;
    column.size = num_rows;
  };
  for (ColumnView& column : rows.columns) cut(column);
  for (FieldView& field : rows.field_views) cut(std::get<ColumnView>(field));  // a matrix has no texts
  if (!whole.ids.empty()) rows.ids = whole.ids.subspan(first_row, num_rows);
  return rows;
}

BatchTotals read_column_major(ByteSource& source, const MatrixFormat& format, const std::string& name,
                              const ReadOptions& options, const BatchOptions& batches,
                              const std::function<void(const TableBatch&)>& take) {
  MatrixFormat unchecked = format;
  unchecked.num_unchecked_rows = batches.skip_rows;
  const Table table = read_matrix(source, unchecked, name, options);
  const TableView whole = table.view();
  // The number of rows of the table that are among the first `input_row` rows of the file.
  const auto num_kept = [&](std::uint64_t input_row) {
    const auto after = std::lower_bound(table.dropped_rows.begin(), table.dropped_rows.end(), input_row);
    return static_cast<std::size_t>(input_row) - static_cast<std::size_t>(after - table.dropped_rows.begin());
  };
  std::vector<std::uint64_t> dropped;
  BatchTotals totals;
  for (std::uint64_t row = batches.skip_rows; row < format.num_rows;) {
    const std::uint64_t num_input_rows = std::min<std::uint64_t>(format.num_rows - row, batches.batch_rows);
    const std::size_t first = num_kept(row);
    const std::size_t num_rows = num_kept(row + num_input_rows) - first;
    const auto first_dropped = table.dropped_rows.begin() + static_cast<std::ptrdiff_t>(row - first);
    const std::uint64_t num_dropped = num_input_rows - num_rows;
    dropped.assign(first_dropped, first_dropped + static_cast<std::ptrdiff_t>(num_dropped));
    for (std::uint64_t& number : dropped) number -= row;
    TableView rows = rows_of(whole, first, num_rows);
    rows.dropped_rows = dropped;
    take({rows, row, num_input_rows,
          [&table, first](std::size_t r) { return table.location_of_row(first + r); }});
    totals.num_rows += num_rows;
    totals.num_dropped_rows += num_dropped;
    row += num_input_rows;
  }
  return totals;
}

}  // namespace

BatchTotals read_matrix_in_batches(ByteSource& source, const MatrixFormat& format, const std::string& name,
                                   const ReadOptions& options, const BatchOptions& batches,
                                   const std::function<void(const TableBatch&)>& take) {
  const auto read = format.column_major ? read_column_major : read_row_major;
  return read(source, format, name, options, batches, take);
}

}  // namespace culmen::io
