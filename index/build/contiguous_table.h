// ContiguousTable: a table on a disk of which each column is in one piece.
//
// A build makes several passes over single columns. In a row-major matrix each of them would read the whole matrix, so its
// columns are first copied into temporary files, in one pass.
#pragma once

#include <memory>
#include <vector>

#include "base/pages.h"
#include "culmen/table.h"

namespace culmen {

class ContiguousTable {
 public:
  // The table's shape and fields have been checked. It must outlive this: other columns are not copied.
  ContiguousTable(const TableView& table, std::shared_ptr<TemporaryFiles> files);

  const TableView& view() const { return view_; }

 private:
  struct Copied {
    ColumnView from;
    std::byte* to = nullptr;
  };

  void add(ColumnView& column);
  void copy() const;

  const std::shared_ptr<TemporaryFiles> files_;
  std::vector<PageBuffer<std::byte>> arrays_;
  std::vector<Copied> copied_;
  TableView view_;
};

}  // namespace culmen
