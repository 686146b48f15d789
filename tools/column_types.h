// The option --types of build.
#pragma once

#include <string_view>
#include <vector>

#include "coding/columns.h"
#include "culmen/table_io.h"

namespace culmen::tools {

// "zip=text,day=date" -> types. Throws InvalidArgument for an unknown type.
std::vector<GivenType> parse_column_types(std::string_view text);

}  // namespace culmen::tools
