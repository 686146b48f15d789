// The titles of the columns of an answer.
#pragma once

#include <string>
#include <vector>

#include "culmen/index.h"

namespace culmen::tools {

// Of each attribute: its name. One that is called like a column of the program's own (query, rank, id, score,
// label) gets "attribute." in front, whether or not that column is there: no two columns share a title, and
// the title does not depend on the way of asking.
std::vector<std::string> attribute_titles(const IndexInfo& info);

}  // namespace culmen::tools
