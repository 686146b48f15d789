// From a user's batch to the change that it is: columns found by name, values checked and oriented, ids
// looked up and assigned, all steps folded together.
#pragma once

#include "culmen/write.h"
#include "index/write/change.h"
#include "index/write/tree_writer.h"

namespace culmen {

struct NormalizedBatch {
  Change change;
  WriteResult result;  // all but the version
};

// Changes nothing. Throws as Index::write says.
NormalizedBatch normalize(const WriteBatch& batch, const WriteOptions& options, const TreeWriter& tree);

}  // namespace culmen
