// Turns a user's batch into a Change: finds columns by name, checks and orients values, looks up and assigns ids, and
// folds all steps together.
#pragma once

#include <cstdint>

#include "culmen/write.h"
#include "index/write/arranged_table.h"
#include "index/write/change.h"
#include "index/write/change_fold.h"
#include "index/write/version_writer.h"

namespace culmen {

struct NormalizedBatch {
  Change change;
  WriteResult result;  // without the version
};

// A table of rows for an index, with the columns in the index's order. Checks columns, values and labels, but no ids;
// `rounded_values` grows by the number of values that are rounded to float32. Throws as Index::write.
ArrangedTable checked_rows(const TableView& given, const WriteOptions& options, const Snapshot& snapshot,
                           std::uint64_t& rounded_values);

// Assigns ids to the rows of a table without: returns the first, and moves next_id behind the last. Throws InputError if
// there are not as many left.
std::int64_t assign_ids(const TableView& table, std::int64_t& next_id);

// Throw InvalidArgument if an index with ids of this type assigns none; if it does not take the ids of a table.
void require_assigned_ids(IdType type);
void check_given_ids(const TableView& table, IdType type);

// Whether normalize() searches the writer's version, which has to be complete then (VersionWriter::finish_version).
bool has_filter(const WriteBatch& batch);

// Whose the ids of a batch are. Those that are stored are numbers, also where they stand in for texts.
enum class BatchIds : std::uint8_t { given, stored };

// Reads the index and changes nothing. Throws what Index::write documents. unapplied: changes that were not applied yet, of a
// batch without a filter, of numbers as ids; null: none.
NormalizedBatch normalize(const WriteBatch& batch, const WriteOptions& options, const VersionWriter& index,
                          BatchIds ids = BatchIds::given, const ChangeFold* unapplied = nullptr);

}  // namespace culmen
