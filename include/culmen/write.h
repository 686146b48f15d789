// Changes of an index: what a batch is, and what it did.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "culmen/table.h"

namespace culmen {

// Several changes that become visible together, or not at all. Tables and ids are not copied: they must stay
// until the batch is written. A table's columns are those of the index, found by name, in any order; without
// names (no attributes in the view) they are taken in the index's order. Rows without ids get the next free
// id plus their number in the table. Rows without labels get empty ones in an index that keeps labels.
class WriteBatch {
 public:
  // New rows. An id that is in the index, or comes twice in the batch, makes the whole batch fail.
  WriteBatch& insert(TableView rows);
  // Rows that replace those with the same id, if there are any. Of several rows with one id the last wins.
  WriteBatch& upsert(TableView rows);
  // Ids that are not in the index are ignored.
  WriteBatch& erase(std::span<const std::int64_t> ids);

  struct Insert {
    TableView rows;
  };
  struct Upsert {
    TableView rows;
  };
  struct Erase {
    std::span<const std::int64_t> ids;
  };
  using Step = std::variant<Insert, Upsert, Erase>;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

struct WriteOptions {
  // An index of float32 refuses values that float32 does not hold exactly. If this is set they are rounded
  // instead, and counted in IndexInfo::rounded_values.
  bool round_to_float32 = false;
};

struct WriteResult {
  std::uint64_t version = 0;   // the first version of the index that holds the batch
  std::uint64_t inserted = 0;  // rows whose id was new
  std::uint64_t replaced = 0;  // rows that took the place of another
  std::uint64_t erased = 0;
  // Of the first table whose rows were assigned ids: what its row 0 got, or would have got had it not been
  // dropped. Row number r got first_id + r. A later such table goes on after the last number of the one before,
  // unless a step between them names a larger id. All of them are 0 or more. -1: no row was assigned an id.
  std::int64_t first_id = -1;
};

}  // namespace culmen
