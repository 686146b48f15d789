// Changes of an index: batches, options and results.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "culmen/filter.h"
#include "culmen/table.h"

namespace culmen {

// Several changes that become visible together, or not at all. They are made in order: each sees what those before it
// have done. Tables and ids are not copied: they must live until the batch is written. Rows without ids get the next
// free id plus their number in the table. Rows without labels get empty ones if the index has labels.
//
// Columns are matched to the index by name, in any order, whether the table has them as attributes or as fields;
// without names (no attributes in the view), attributes are matched by position. A field of the index that the table
// lacks is missing in its rows; an attribute that it lacks, and a column that the index lacks, is an error. Bare numbers
// are taken as what the index has, if its type holds them exactly; of timestamps the unit is converted.
class WriteBatch {
 public:
  // New rows. An id that is in the index, or twice in the batch (but for WriteOptions::duplicates), makes the whole batch
  // fail.
  WriteBatch& insert(TableView rows);
  // Rows that replace those with the same id, or are new. Of several rows with one id the last wins.
  WriteBatch& upsert(TableView rows);
  // Ids that are not in the index are ignored.
  WriteBatch& erase(std::span<const std::int64_t> ids);
  // The same for an index of IdType::text.
  WriteBatch& erase(std::span<const std::string_view> texts);
  // Rows that pass the filter, of the index as the steps before have left it: also rows that this batch has inserted. The
  // empty filter erases all rows, which Python, the program and the server refuse: check a text that may be empty. Cost:
  // that of Index::ids_where, while other writers wait; and a load of the rows that the steps before have inserted, which
  // is a small part of what inserting them costs.
  WriteBatch& erase_where(Filter where);

  struct Insert {
    TableView rows;
  };
  struct Upsert {
    TableView rows;
  };
  struct Erase {
    std::span<const std::int64_t> ids;
  };
  struct EraseTexts {
    std::span<const std::string_view> texts;
  };
  struct EraseWhere {
    Filter where;
  };
  using Step = std::variant<Insert, Upsert, Erase, EraseTexts, EraseWhere>;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

struct WriteOptions {
  // An index of float32 refuses values that float32 cannot hold exactly. If this is set, it rounds them instead and
  // counts them in IndexInfo::rounded_values.
  bool round_to_float32 = false;
  // Which row counts if one is inserted whose id the batch has inserted before. It may not be in the index in either
  // case; an upsert replaces rows whatever this says. WriteResult counts the row once.
  Duplicates duplicates = Duplicates::error;
  // The version that the index must be at. If it is at the next one, the batch was written before: nothing changes, and
  // WriteResult::repeated is set. Otherwise throws InvalidArgument. For callers who repeat a call whose answer was lost.
  std::optional<std::uint64_t> expected_version = {};
};

struct WriteResult {
  std::uint64_t version = 0;   // the first version of the index with the batch
  std::uint64_t inserted = 0;  // rows whose id was new
  std::uint64_t replaced = 0;  // rows that replaced one with the same id
  std::uint64_t erased = 0;
  // The id assigned to row 0 of the first table without ids, even if that row was dropped: row number r got first_id +
  // r. The ids of a later such table follow those of the previous one, unless a step between them names a larger id.
  // Assigned ids are never negative. -1: no row was assigned an id.
  std::int64_t first_id = -1;
  bool repeated = false;  // WriteOptions::expected_version: the batch was there; the counts are 0
};

}  // namespace culmen
