// Lists on the command line: items with commas between them; double quotes enclose names that hold a comma.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culmen::tools {

// "a, "b,c"=1" -> {a, "b,c"=1}: trimmed, quotes kept. An empty item is kept, too.
std::vector<std::string_view> split_items(std::string_view text);

// A name without its quotes. A doubled quote inside is an escaped one.
std::string unquoted(std::string_view name);

// name=value, split at the last =, because names may contain one. The value is empty if there is no =.
std::pair<std::string, std::string_view> split_setting(std::string_view item);

// "a,"b,c"" -> {a, b,c}; none for an empty text.
std::vector<std::string> split_names(std::string_view text);

}  // namespace culmen::tools
