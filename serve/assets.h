// Files that are compiled into the program (serve/CMakeLists.txt).
#pragma once

#include <string_view>

namespace culmen::serve {

std::string_view open_api_text();  // OpenAPI 3.1, JSON
std::string_view page_text();      // HTML

}  // namespace culmen::serve
