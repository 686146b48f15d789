// Lists what is damaged in an index, and saves the rest.
#pragma once

#include <string>
#include <vector>

#include "culmen/open.h"
#include "index/storage/file_system.h"

namespace culmen {

// As Index::damage.
std::vector<std::string> damage(storage::FileSystem& file_system, const std::string& directory);

// Writes a new index to `to`, which must be missing or empty, from what can be read of `from`, which is only read.
// Loads the rows of sound leaves, then applies the log as far as it is sound. Throws FormatError if nothing can be
// saved, InvalidArgument if `to` is not empty, and IoError. Cost: that of a build, and memory for two copies of the
// rows.
RepairReport repair(storage::FileSystem& file_system, const std::string& from, const std::string& to);

}  // namespace culmen
