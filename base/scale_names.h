// Names of the scales of weights, for the command line and for questions as JSON.
#pragma once

#include "base/enum_names.h"
#include "culmen/query.h"

namespace culmen {

inline constexpr EnumNames<Scale, 4> kScaleNames = {
    "scale",
    {{{"none", Scale::none}, {"minmax", Scale::minmax}, {"zscore", Scale::zscore}, {"rank", Scale::rank}}}};

}  // namespace culmen
