// Checks that ids are unique.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "culmen/array.h"

namespace culmen::io {

struct RepeatedId {
  std::size_t first_row = 0;
  std::size_t second_row = 0;  // the smallest row whose id has appeared before
};

// One pass if ids are ascending, else a parallel sort of a copy in `memory`, in the caller's task arena.
std::optional<RepeatedId> find_repeated_id(std::span<const std::int64_t> ids,
                                           const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen::io
