#include "index/build/filled_table.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "index/build/stand_ins.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

// As given, not oriented.
Array<double> filled_column(const ColumnView& column, std::uint64_t num_rows, double stand_in,
                            const std::shared_ptr<ArrayMemory>& memory) {
  constexpr std::uint64_t kChunk = 1 << 14;
  Array<double> values(num_rows, memory);
  tbb::parallel_for(std::uint64_t{0}, (num_rows + kChunk - 1) / kChunk, [&](std::uint64_t chunk) {
    std::vector<std::uint64_t> rows(std::min(kChunk, num_rows - chunk * kChunk));
    std::iota(rows.begin(), rows.end(), chunk * kChunk);
    double* out = values.data() + chunk * kChunk;
    gather_column(column, Preference::high, rows, out);
    std::replace_if(
        out, out + rows.size(), [](double value) { return std::isnan(value); }, stand_in);
  });
  return values;
}

}  // namespace

FilledTable::FilledTable(const TableView& table, TableStats stats, std::span<const double> stand_ins,
                         const std::shared_ptr<ArrayMemory>& memory)
    : stats_(std::move(stats)), filled_(table) {
  if (!stand_ins.empty()) {
    stand_ins_ = stored_stand_ins(table, stats_.value_type, stand_ins);
  } else if (table.num_rows > 0) {
    stand_ins_ = stand_ins_of(table, stats_, memory);
  }
  columns_.reserve(table.columns.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!stats_.has_gaps[i]) continue;
    const double stand_in = oriented(stand_ins_[i], table.attributes[i].preference);
    filled_.columns[i] =
        columns_.emplace_back(filled_column(table.columns[i], table.num_rows, stand_in, memory));
  }
}

std::vector<AttributeStats> FilledTable::filled_stats() const {
  std::vector<AttributeStats> result = stats_.attributes;
  for (std::size_t i = 0; i < result.size(); ++i)
    if (stats_.has_gaps[i]) add_value(result[i], stand_ins_[i]);
  return result;
}

}  // namespace culmen
