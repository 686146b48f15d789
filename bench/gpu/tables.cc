#include "bench/gpu/tables.h"

#include <tbb/parallel_sort.h>

#include <variant>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"

namespace culmen::bench {

Table make_table(const std::string& kind, std::uint64_t num_rows, int dims) {
  const bool ascending = kind == "ascending";
  Table table = generate_table({.kind = ascending ? TableKind::independent : parse_table_kind(kind),
                                .num_rows = num_rows,
                                .num_attributes = dims});
  if (ascending)
    for (Table::Values& column : table.storage) tbb::parallel_sort(std::get<Array<float>>(column));
  return table;
}

const float* float_column(const TableView& table, std::size_t attribute) {
  const ColumnView& column = table.columns[attribute];
  if (column.type != ElementType::float32 || column.stride_bytes != sizeof(float))
    throw InvalidArgument("the column " + table.attributes[attribute].name + " is not one of float32 alone");
  return reinterpret_cast<const float*>(column.data);
}

}  // namespace culmen::bench
