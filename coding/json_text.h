// What the JSON of answers and of plans share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "culmen/search.h"

namespace culmen {

using Json = nlohmann::ordered_json;

// A number, or a text.
inline Json id_json(const Row& row, IdType type) {
  if (type == IdType::text) return Json(row.label);
  return type == IdType::uint64 ? Json(uint64_of_id(row.id)) : Json(row.id);
}

// Labels and names may hold any bytes. Those that are not UTF-8 are replaced, or all of it would be unreadable.
inline std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace culmen
