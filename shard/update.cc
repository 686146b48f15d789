#include "culmen/update.h"

#include "shard/complete_rows.h"

namespace culmen {

WriteResult update(Index& index, const TableView& table, const WriteOptions& options) {
  return index.upsert(CompleteRows(index, table).view(), options);
}

WriteResult update(ShardedIndex& index, const TableView& table, const WriteOptions& options) {
  return index.upsert(CompleteRows(index, table).view(), options);
}

}  // namespace culmen
