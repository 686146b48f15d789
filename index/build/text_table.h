// A table whose ids are texts, with numbers that stand in for them.
#pragma once

#include <cstdint>
#include <vector>

#include "culmen/table.h"

namespace culmen {

// For each row of a table of IdType::text the number that stands in for its id, which is its label. Equal texts have equal
// numbers. By the texts alone: the same with any number of threads. Throws InputError for a table with numbers as ids or
// without labels, and, if duplicates are errors, for a text that two rows have.
std::vector<std::int64_t> ids_of_texts(const TableView& table, Duplicates duplicates);

}  // namespace culmen
