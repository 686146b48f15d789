// Reads the fields of a caller's table: checks, and the keys or texts of some rows.
#pragma once

#include <cstdint>
#include <span>

#include "culmen/schema.h"
#include "culmen/table.h"
#include "index/dictionary.h"
#include "index/leaf_fields.h"

namespace culmen {

// Checks the fields of a table, whose attributes have passed check_shape: number, names, sizes, pointers and every
// value. Throws InputError, or RowError, which names the first bad row of a column.
//
// NaN is missing, infinity an error. Numbers of any ElementType are fine if the field's type holds them exactly: 3.0 in
// a column of integers, 0 or 1 as booleans.
void check_fields(const TableView& table);

// A field of the rows `rows` of a table that has passed check_fields. The texts of a filter field become codes of the
// dictionary, -1 if they are not in it; without a dictionary they stay texts, as those of stored fields do. Texts are
// views of the caller's memory.
FieldRows read_field(const Field& field, const FieldView& view, std::span<const std::uint64_t> rows,
                     const Dictionary* dictionary);

}  // namespace culmen
