// ArrangedTable: a caller's table whose columns are matched by name to those of the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

class ArrangedTable {
 public:
  // Throws InvalidArgument for unknown or missing columns and for types that do not match, and RowError for a timestamp
  // that the index's unit cannot hold. table_stats() checks all else. The caller's memory must outlive this.
  ArrangedTable(const TableView& given, const Snapshot& snapshot);
  ArrangedTable(ArrangedTable&&) = default;
  ArrangedTable& operator=(ArrangedTable&&) = default;
  ArrangedTable(const ArrangedTable&) = delete;  // columns point into converted_
  ArrangedTable& operator=(const ArrangedTable&) = delete;

  // With the attributes of the index, and as many of its fields as the caller has, both in the index's order.
  const TableView& view() const { return view_; }
  // The column of a field of the index; null: the table lacks it.
  const FieldView* field(std::size_t f) const {
    return position_of_field_[f] ? &view_.field_views[*position_of_field_[f]] : nullptr;
  }

 private:
  struct Timestamps {
    std::vector<std::int64_t> values;
    std::vector<std::uint8_t> validity;
  };

  void convert_unit(const std::string& name, ColumnView& column, TimeUnit from, TimeUnit to);

  TableView view_;
  std::vector<std::optional<std::size_t>> position_of_field_;  // [num_fields] in view_
  std::vector<Timestamps> converted_;                          // columns point into it
};

}  // namespace culmen
