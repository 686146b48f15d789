// What the JSON of answers and of plans share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace culmen {

using Json = nlohmann::ordered_json;

// Labels and names may hold any bytes. Those that are not UTF-8 are replaced, or all of it would be unreadable.
inline std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace culmen
