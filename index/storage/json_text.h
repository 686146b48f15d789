// Writes JSON text, in the format of nlohmann::json::dump(1). It builds no nlohmann document: the destructor of one may
// allocate (index/storage/json.h).
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_names.h"

namespace culmen::storage {

// A string with quotes and escapes. Throws InvalidArgument if it is not UTF-8, which only names can be.
std::string json_string(std::string_view text);

template <typename Enum, std::size_t N>
std::string json_string(const EnumNames<Enum, N>& names, Enum value) {
  return json_string(names.name(value));
}

std::string json_number(std::integral auto value) {
  return std::to_string(value);
}

inline std::string json_boolean(bool value) {
  return value ? "true" : "false";
}

// Items and values are JSON text. `indent`: of the line on which the array or object begins.
std::string json_array(const std::vector<std::string>& items, std::size_t indent);
using JsonPairs = std::vector<std::pair<const char*, std::string>>;
std::string json_object(const JsonPairs& members, std::size_t indent);

}  // namespace culmen::storage
