#include "index/build/contiguous_table.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "index/column_element.h"

namespace culmen {

ContiguousTable::ContiguousTable(const TableView& table, std::shared_ptr<TemporaryFiles> files)
    : files_(std::move(files)), view_(table) {
  if (table.num_rows == 0) return;
  for (ColumnView& column : view_.columns) add(column);
  for (FieldView& field : view_.field_views)
    if (auto* const column = std::get_if<ColumnView>(&field)) add(*column);
  copy();
}

void ContiguousTable::add(ColumnView& column) {
  const std::size_t bytes = visit_element_type(column, []<typename T>(T) { return sizeof(T); });
  if (column.stride_bytes == static_cast<std::ptrdiff_t>(bytes)) return;
  arrays_.emplace_back(bytes * column.size, bytes * column.size, PageSize::small, files_);
  copied_.push_back({column, arrays_.back().data()});
  column.data = arrays_.back().data();
  column.stride_bytes = static_cast<std::ptrdiff_t>(bytes);
}

void ContiguousTable::copy() const {
  constexpr std::uint64_t kRowsAtOnce = 1 << 14;
  for (std::uint64_t first = 0; first < view_.num_rows; first += kRowsAtOnce) {
    const std::uint64_t end = std::min<std::uint64_t>(view_.num_rows, first + kRowsAtOnce);
    tbb::parallel_for(std::size_t{0}, copied_.size(), [&](std::size_t c) {
      visit_element_type(copied_[c].from, [&]<typename T>(T) {
        T* const to = reinterpret_cast<T*>(copied_[c].to);
        for (std::uint64_t row = first; row < end; ++row) to[row] = column_element<T>(copied_[c].from, row);
      });
    });
  }
}

}  // namespace culmen
