// Whether the columns of a file have names or only positions, judged by the name of the file.
#pragma once

#include <string>
#include <string_view>

#include "base/lower_case.h"

namespace culmen::tools {

inline bool has_column_names(const std::string& path) {
  const std::string name = lower_case(path);
  const auto ends_with = [&](std::string_view ending) { return name.ends_with(ending); };
  return !ends_with(".npy") && !ends_with(".fvecs") && !ends_with(".fbin");
}

}  // namespace culmen::tools
