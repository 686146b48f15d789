// Turns a user's batch into a Change: finds columns by name, checks and orients values, looks up and assigns ids, and
// folds all steps together.
#pragma once

#include "culmen/write.h"
#include "index/write/change.h"
#include "index/write/tree_writer.h"

namespace culmen {

struct NormalizedBatch {
  Change change;
  WriteResult result;  // without the version
};

// Reads the tree and changes nothing. Throws what Index::write documents.
NormalizedBatch normalize(const WriteBatch& batch, const WriteOptions& options, const TreeWriter& tree);

}  // namespace culmen
