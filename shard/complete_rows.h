// CompleteRows: rows of which a table has some columns, with all columns of the index that they are in.
#pragma once

#include <vector>

#include "culmen/search.h"
#include "culmen/table.h"
#include "index/write/user_rows.h"

namespace culmen {

class CompleteRows {
 public:
  // Columns that the table lacks, and labels, are those of the index, an Index or a ShardedIndex. The table must live as
  // long as this. Throws RowError for an id that is not in the index, and InvalidArgument for a table without ids or with
  // a column that the index does not have.
  template <typename AnyIndex>
  CompleteRows(const AnyIndex& index, const TableView& table);
  CompleteRows(const CompleteRows&) = delete;
  CompleteRows& operator=(const CompleteRows&) = delete;

  // In the order of the index.
  const TableView& view() const { return view_; }

 private:
  void complete(const Schema& schema, const TableView& table);
  void add_attribute(const Attribute& attribute, const TableView& table, std::size_t position);
  void add_field(const Field& field, const TableView& table, std::size_t position);

  std::vector<Row> rows_;
  TableView view_;
  std::vector<std::vector<double>> attributes_;
  std::vector<UserField> fields_;
  Labels labels_;
};

}  // namespace culmen
