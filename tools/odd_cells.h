// Columns of texts that would hold numbers, dates or timestamps but for a few cells: a word for a gap that is not known, or a slip.
#pragma once

#include <string>
#include <string_view>

#include "culmen/table.h"

namespace culmen::tools {

// A line for each such column: how many cells are none, where the first is, and the option that takes them as
// gaps if they are a few words. Each begins with `indent`.
std::string odd_cells_text(const Table& table, std::string_view indent);

}  // namespace culmen::tools
