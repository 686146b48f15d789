// What an index holds, as JSON: the same from `culmen info --json` and from the server.
#pragma once

#include <string_view>
#include <vector>

#include "coding/json_text.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"

namespace culmen {

std::string_view role_name(FieldRole role);                        // "filter", "stored"
std::string_view value_type_name(const IndexInfo& info);           // "float32", "float64"
std::string_view preference_name(const AttributeInfo& attribute);  // "high", "low"

// `shards`: those of a sharded index; empty: it is none.
Json info_json(const IndexInfo& info, const Schema& schema, const RecoveryInfo& log,
               const std::vector<ShardInfo>& shards);

}  // namespace culmen
