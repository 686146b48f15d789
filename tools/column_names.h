// Whether the columns of a file have names or only positions, judged by the name of the file.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace culmen::tools {

inline std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

inline bool has_column_names(const std::string& path) {
  const std::string name = lower_case(path);
  const auto ends_with = [&](std::string_view ending) { return name.ends_with(ending); };
  return !ends_with(".npy") && !ends_with(".fvecs") && !ends_with(".fbin");
}

}  // namespace culmen::tools
