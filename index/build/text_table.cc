#include "index/build/text_table.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/excerpt.h"
#include "base/text_id_space.h"
#include "culmen/error.h"
#include "index/table_shape.h"

namespace culmen {
namespace {

// The rows by their texts, those of one text in the table's order.
Array<std::uint64_t> rows_by_text(const LabelsView& texts, std::size_t num_rows,
                                  const std::shared_ptr<ArrayMemory>& memory) {
  Array<std::uint64_t> rows(num_rows, memory);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  tbb::parallel_sort(rows.begin(), rows.end(), [&](std::uint64_t a, std::uint64_t b) {
    const int order = texts[a].compare(texts[b]);
    return order != 0 ? order < 0 : a < b;
  });
  return rows;
}

}  // namespace

Array<std::int64_t> ids_of_texts(const TableView& table, Duplicates duplicates,
                                 const std::shared_ptr<ArrayMemory>& memory) {
  if (!table.ids.empty())
    throw InputError("the ids are texts, which are the table's labels: leave out the numbers");
  check_shape(table);
  const LabelsView& texts = table.labels;
  const Array<std::uint64_t> rows = rows_by_text(texts, table.num_rows, memory);
  Array<std::uint64_t> positions(rows.size(), memory);  // of each row's text among the distinct ones
  std::uint64_t num_texts = 0;
  std::optional<std::pair<std::uint64_t, std::uint64_t>>
      again;  // the first row whose text is there before, and where
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_new = i == 0 || texts[rows[i]] != texts[rows[i - 1]];
    if (!is_new && (!again || rows[i] < again->first)) again = {rows[i], rows[i - 1]};
    if (is_new) ++num_texts;
    positions[rows[i]] = num_texts - 1;
  }
  if (again && duplicates == Duplicates::error)
    throw RowError(again->first, "id " + quote_excerpt(texts[again->first]) + " stands in row " +
                                     std::to_string(again->second + 1) + " as well; ids must be unique");
  Array<std::int64_t> ids(rows.size(), memory);
  std::ranges::transform(positions, ids.begin(),
                         [&](std::uint64_t position) { return spread_id(position, num_texts); });
  return ids;
}

}  // namespace culmen
