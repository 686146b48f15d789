// Which culmen this is. CMake takes the version of the package from here.
#pragma once

#include <string_view>

#define CULMEN_VERSION_MAJOR 0
#define CULMEN_VERSION_MINOR 1
#define CULMEN_VERSION_PATCH 0

namespace culmen {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace culmen
