// Handles share what they stand for; one whose part another handle has taken over stands for nothing.
#pragma once

#include <string>

#include "culmen/error.h"

namespace culmen {

// What `handle`, a pointer, points to. `kind`: "Index", for the text. Throws InvalidArgument.
auto& held_by(const auto& handle, const char* kind) {
  if (handle == nullptr)
    throw InvalidArgument(std::string("this ") + kind + " has been moved from, and holds nothing any more");
  return *handle;
}

}  // namespace culmen
