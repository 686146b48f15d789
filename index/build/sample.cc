#include "index/build/sample.h"

#include <vector>

#include "index/columns.h"

namespace culmen {

RowChunk read_sample(const TableView& table, ValueType value_type, std::uint64_t sample_rows,
                     const std::shared_ptr<ArrayMemory>& memory) {
  std::vector<std::uint64_t> rows(sample_rows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = row_of_sample(i, sample_rows, table.num_rows);
  return read_rows(table, value_type, rows, memory);
}

}  // namespace culmen
