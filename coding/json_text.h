// What the JSON of answers and of plans share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "culmen/id_type.h"

namespace culmen {

using Json = nlohmann::ordered_json;

// The number that an id stands for.
inline Json id_json(std::int64_t id, IdType type) {
  return type == IdType::uint64 ? Json(uint64_of_id(id)) : Json(id);
}

// Labels and names may hold any bytes. Those that are not UTF-8 are replaced, or all of it would be unreadable.
inline std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace culmen
