// FilledTable: a table to be loaded, with stand-ins where values of its attributes are missing. Loaders need not know
// of missing values; which these were is written afterwards (index/build/load_fields.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "culmen/table.h"
#include "index/columns.h"

namespace culmen {

class FilledTable {
 public:
  // The stats are the table's. stand_ins: as BuildOptions has them; empty: they are computed if there are rows. The table
  // must outlive this. Copies only columns with gaps, into `memory`. Throws InvalidArgument for stand-ins that cannot be
  // stored.
  FilledTable(const TableView& table, TableStats stats, std::span<const double> stand_ins,
              const std::shared_ptr<ArrayMemory>& memory = nullptr);

  const TableView& view() const { return filled_; }
  const TableStats& stats() const { return stats_; }
  // [num_attributes] as stored; empty while no rows have determined them.
  const std::vector<double>& stand_ins() const { return stand_ins_; }
  // The statistics of the attributes with the stand-ins that are in use counted as values.
  std::vector<AttributeStats> filled_stats() const;

 private:
  TableStats stats_;
  std::vector<double> stand_ins_;
  std::vector<Array<double>> columns_;  // those with gaps
  TableView filled_;
};

}  // namespace culmen
