// A filter that says which rows to delete must not be empty: every row would pass.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

#include "culmen/error.h"

namespace culmen {

inline void refuse_empty_filter(std::string_view name, const std::string& where) {
  if (where.find_first_not_of(" \t\n\r\v\f") == std::string::npos)
    throw InvalidArgument(fmt::format("{} is empty, which would delete every row; say which rows", name));
}

}  // namespace culmen
