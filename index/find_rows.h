// Where rows stand, by their ids. There is no map of ids but a writer's (index/write/id_map.h): ids are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

inline constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// For each id its row, or kNowhere. Leaves whose smallest id is above all that are wanted are passed over.
// Cost: ids in the order of memory, by all threads of the caller's arena, whatever the number of ids.
std::vector<std::uint64_t> find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids);

}  // namespace culmen
