// Saving what is sound of a damaged index.
#pragma once

#include <string>

#include "culmen/open.h"
#include "index/storage/file_system.h"

namespace culmen {

// Writes a new index to `to`, which must be missing or empty, of what can be read of `from`, which is never
// written to. Rows of sound leaves are loaded anew, then the log is applied as far as it is sound. Throws
// FormatError if nothing can be saved, InvalidArgument if something is in `to`, IoError. Cost: as a build;
// memory for two copies of the rows beside the index.
RepairReport repair(storage::FileSystem& file_system, const std::string& from, const std::string& to);

}  // namespace culmen
