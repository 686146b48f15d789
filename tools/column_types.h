// Names of column types, and the option --types of build.
#pragma once

#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "culmen/table_io.h"

namespace culmen::tools {

inline constexpr EnumNames<ColumnType, 6> kColumnTypes = {"type",
                                                          {{{"number", ColumnType::floating},
                                                            {"integer", ColumnType::integer},
                                                            {"boolean", ColumnType::boolean},
                                                            {"date", ColumnType::date},
                                                            {"timestamp", ColumnType::timestamp},
                                                            {"text", ColumnType::text}}}};

// "zip=text,day=date" -> types. Throws InvalidArgument for an unknown type.
std::vector<GivenType> parse_column_types(std::string_view text);

}  // namespace culmen::tools
