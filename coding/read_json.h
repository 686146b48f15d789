// Reads JSON from strangers: bounded in depth, with no key twice, and with numbers as they were written.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "coding/named_ids.h"

namespace culmen {

using ReadJson = nlohmann::json;  // sorted keys: a hostile object of many keys costs no quadratic time

// Throws InvalidArgument for what is no JSON, for objects and arrays in more than `max_depth` others, for a key that an
// object has twice, and for numbers beyond the range of double.
ReadJson read_json(std::string_view text, int max_depth);

// The members of `object`. Each throws InvalidArgument, which names the member as `where` and the name, if it is not of
// that kind.
double read_number(const ReadJson& value, const std::string& what);
std::int64_t read_int64(const ReadJson& value, const std::string& what);
std::string read_text(const ReadJson& value, const std::string& what);
// Numbers, as ids of the type.
void read_id(const ReadJson& value, const std::string& what, NamedIds& ids);
NamedIds read_ids(const ReadJson& value, const std::string& what, IdType type);
std::vector<std::string> read_names(const ReadJson& value, const std::string& what);
const ReadJson::object_t& read_object(const ReadJson& value, const std::string& what);
const ReadJson::array_t& read_array(const ReadJson& value, const std::string& what);

// Throws InvalidArgument, which lists what is known, for a member that is not.
void check_members(const ReadJson::object_t& object, const std::vector<std::string>& known,
                   const std::string& what);

}  // namespace culmen
