// Builds an index again from its rows, with partitions and units that fit them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/user_rows.h"

namespace culmen {

// An index of the rows in these leaves of `snapshot` after the change, with the version of the snapshot. Stand-ins
// stay; dictionaries are made again, without texts that no row has. Cost: that of bulk_load, and a copy of the rows.
// temp_directory: as BuildOptions has it.
std::shared_ptr<Snapshot> reload_rows(const Snapshot& snapshot, std::span<const std::uint32_t> leaves,
                                      const Change& change, const std::filesystem::path& temp_directory = {});

// Rows with the columns of `index` as an index of their own, for few searches: they stay in the order in which they come,
// unless the index is wide. Throws as bulk_load.
template <typename T>
std::shared_ptr<Snapshot> load_as_they_come(const UserRows<T>& rows, const IndexMetadata& index);
// The same of the rows of a change.
std::shared_ptr<Snapshot> load_rows_of(Change change, const Snapshot& index);

}  // namespace culmen
