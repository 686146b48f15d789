// Access through a handle, which is empty once it has been moved from.
#pragma once

#include <string>

#include "culmen/error.h"

namespace culmen {

// Dereferences `handle`. Throws InvalidArgument if it is null; the text calls it a `kind`, for example "Index".
auto& held_by(const auto& handle, const char* kind) {
  if (handle == nullptr)
    throw InvalidArgument(std::string("this ") + kind + " has been moved from, and holds nothing any more");
  return *handle;
}

}  // namespace culmen
