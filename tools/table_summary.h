// What the columns of a table hold: for the command inspect.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "culmen/table.h"

namespace culmen::tools {

struct ColumnSummary {
  std::string name;
  ColumnFormat format;
  bool is_attribute = false;
  FieldRole role = FieldRole::filter;  // of another column
  std::size_t num_missing = 0;
  std::size_t num_distinct = 0;  // of the values that are there
  std::string first, last;       // the least and the greatest, with every digit; empty without values
};

// In the order of the table: attributes, then fields.
std::vector<ColumnSummary> summaries_of(const TableView& table);

}  // namespace culmen::tools
