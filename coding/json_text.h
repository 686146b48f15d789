// What the JSON of answers and of plans share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "culmen/index.h"

namespace culmen {

using Json = nlohmann::ordered_json;

// Labels and names may hold any bytes. Those that are not UTF-8 are replaced, or all of it would be unreadable.
inline std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// By the attributes' names, without those that are 0.
inline Json weights_json(const Query& query, const IndexInfo& info) {
  Json weights = Json::object();
  for (std::size_t i = 0; i < query.weights.size(); ++i)
    if (query.weights[i] != 0) weights[info.attributes[i].name] = query.weights[i];
  return weights;
}

}  // namespace culmen
