// Changes some columns of rows that are in an index.
#pragma once

#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "culmen/table.h"
#include "culmen/write.h"

namespace culmen {

// Replaces the rows with the table's ids: columns of the table, matched by name, have its values, missing ones too, and the
// others and the label keep theirs. Of several rows with one id the last counts. Reads the rows and upserts them, as one
// batch: a change that another thread makes in between is lost. Throws RowError for an id that is not in the index,
// InvalidArgument for a table without ids and for a column that the index does not have, and what upsert throws.
WriteResult update(Index& index, const TableView& table, const WriteOptions& options = {});
WriteResult update(ShardedIndex& index, const TableView& table, const WriteOptions& options = {});

}  // namespace culmen
