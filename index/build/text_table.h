// A table whose ids are texts, with numbers that stand in for them.
#pragma once

#include <cstdint>
#include <memory>

#include "culmen/table.h"

namespace culmen {

// For each row of a table of IdType::text the number that stands in for its id, which is its label. Equal texts have equal
// numbers. By the texts alone: the same with any number of threads. Throws InputError for a table with numbers as ids or
// without labels, and, if duplicates are errors, RowError for the first row with the text of a row before. All that grows with rows is in `memory`; texts
// are compared where they lie, in no order.
Array<std::int64_t> ids_of_texts(const TableView& table, Duplicates duplicates,
                                 const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen
