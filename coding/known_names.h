// The names of an index's columns, for messages.
#pragma once

#include <string>

#include "culmen/index.h"

namespace culmen {

// "price, rating, stars": the attributes. Of many names, the first and how many others there are.
std::string known_names(const IndexInfo& info);

// The attributes and the fields.
std::string known_columns(const IndexInfo& info);

}  // namespace culmen
