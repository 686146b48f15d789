// An index directory: writes a snapshot into it, reads one back. docs/format.md describes each byte.
//
//   CURRENT           names the manifest, with its length and hash
//   MANIFEST-n        what the index is a table of; names, sizes and digests of the files below
//   SNAP-n-leaves     one block per leaf          SNAP-n-nodes        one block per inner node
//   SNAP-n-labels     one block per leaf          SNAP-n-partitions   one block
//   LOCK              held by the one process that writes
#pragma once

#include <memory>
#include <string>

#include "index/snapshot.h"
#include "index/storage/file_system.h"

namespace culmen::storage {

// Makes `snapshot` the index in `directory`, which is created if it is missing. Durable on return. Whatever
// happens on the way, the directory holds the old index or the new one, whole; after an error before the
// switch to the new one, no file of it stays behind. Files that are not ours are never touched. Throws
// IoError, and InvalidArgument if an index is there and `overwrite` is false, or if something else is.
void publish(const Snapshot& snapshot, FileSystem& file_system, const std::string& directory, bool overwrite);

// Reads and checks every byte of the newest index in `directory`, and writes nothing. What it returns is safe
// to search whoever made the files, though only Index::verify can tell whether its bounds and ids are true.
// Throws IoError, or FormatError naming the file and the byte.
std::shared_ptr<Snapshot> load(FileSystem& file_system, const std::string& directory);

}  // namespace culmen::storage
