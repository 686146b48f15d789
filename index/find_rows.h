// Finds rows by their ids, in any version of an index: only writers know where all ids are (index/write/pages_of_ids.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// For each id its row, or kNowhere. None: the version was not read from files, which say where to look (index/id_lookup.h).
std::optional<std::vector<std::uint64_t>> look_up_rows(const Snapshot& snapshot,
                                                       std::span<const std::int64_t> ids);

// The same of any version, by reading the ids of all leaves. Skips leaves whose smallest id is above all wanted ones.
// Cost: one pass over the ids of all other leaves, by all threads of the caller's arena, for any number of ids.
std::vector<std::uint64_t> find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids);

}  // namespace culmen
