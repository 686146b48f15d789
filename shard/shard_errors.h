// Errors of one shard say which.
#pragma once

#include <cstddef>
#include <string>

#include "culmen/error.h"

namespace culmen {

inline std::string shard_name(std::size_t shard, const std::string& directory) {
  return "shard " + std::to_string(shard) + " of " + directory;
}

// Calls f; an error of files that it throws gets the name in front.
template <typename F>
decltype(auto) naming(const std::string& name, F&& f) {
  try {
    return f();
  } catch (const IoError& error) {  // a NoIndex too: there is an index, one of whose shards is not
    throw IoError(name + ": " + error.what());
  } catch (const FormatError& error) {
    throw FormatError(name + ": " + error.what());
  }
}

}  // namespace culmen
