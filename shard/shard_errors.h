// Errors of one shard say which.
#pragma once

#include <cstddef>
#include <string>

#include "culmen/error.h"

namespace culmen {

inline std::string shard_name(std::size_t shard, const std::string& directory) {
  return "shard " + std::to_string(shard) + " of " + directory;
}

// Calls f; an error of files that it throws gets the name in front. A shard that is missing is no NoIndex, which would
// invite callers to build another index in its place.
template <typename F>
decltype(auto) naming(const std::string& name, F&& f) {
  try {
    return f();
  } catch (const NoIndex& error) {
    throw IoError(name + " is missing: " + error.what() +
                  "; restore its directory from a copy, or build the sharded index again");
  } catch (const IoError& error) {
    throw IoError(name + ": " + error.what());
  } catch (const FormatError& error) {
    throw FormatError(name + ": " + error.what());
  }
}

}  // namespace culmen
