// The tables of the GPU benchmarks: those of generate_table, and one more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "culmen/table.h"

namespace culmen::bench {

// `kind` is one of parse_table_kind's, or "ascending": each column of an independent table sorted, so that a scan from
// the first row on finds only better and better rows.
Table make_table(const std::string& kind, std::uint64_t num_rows, int dims);

// A column of a table with float32 columns: num_rows values without gaps.
const float* float_column(const TableView& table, std::size_t attribute);

}  // namespace culmen::bench
