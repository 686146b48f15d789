// The option --missing of build: what stands in for missing values of attributes.
#pragma once

#include <string_view>
#include <vector>

#include "culmen/schema.h"

namespace culmen::tools {

// "median" for all attributes, "price=median,rating=0" for some; "median,rating=0" for all but one. Throws
// InvalidArgument for an unknown policy or attribute, and for one that is named twice.
void set_stand_ins(std::string_view text, std::vector<Attribute>& attributes);

}  // namespace culmen::tools
