// The titles of the columns of an answer.
#pragma once

#include <string>
#include <vector>

#include "culmen/index.h"

namespace culmen::tools {

// The title of each attribute is its name. One that is called like a column of the program (query, rank, id, score,
// label) gets the prefix "attribute.", whether or not that column is present: titles are unique, and do not depend on
// options.
std::vector<std::string> attribute_titles(const IndexInfo& info);

// "price, rating, stars", for messages.
std::string known_names(const IndexInfo& info);

}  // namespace culmen::tools
