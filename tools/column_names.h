// Whether the columns of an input have names, or are told by their position alone.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace culmen::tools {

inline bool has_column_names(std::string path) {
  std::transform(path.begin(), path.end(), path.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto ends_with = [&](std::string_view ending) { return path.ends_with(ending); };
  return !ends_with(".npy") && !ends_with(".fvecs") && !ends_with(".fbin");
}

}  // namespace culmen::tools
