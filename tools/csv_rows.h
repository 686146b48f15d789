// Rows of an index as CSV with every digit, which build, insert and upsert read back.
#pragma once

#include <string>
#include <vector>

#include "culmen/schema.h"
#include "culmen/search.h"
#include "tools/value_text.h"

namespace culmen::tools {

// The columns before those that are shown: ids, and labels if there are any.
std::vector<std::string> own_columns(const Schema& schema);

std::string csv_header(const std::vector<std::string>& own, const std::vector<ShownColumn>& columns);
std::string csv_line(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns);

}  // namespace culmen::tools
