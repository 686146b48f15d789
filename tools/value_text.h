// Values of attributes and fields as text, for people and for CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coding/columns.h"
#include "culmen/index.h"

namespace culmen::tools {

// As culmen::shown_columns, of the names that the option --show lists. Those of ids and labels may be among them: these
// are shown in any case.
std::vector<ShownColumn> shown_columns(const IndexInfo& info, const Schema& schema,
                                       const std::optional<std::string>& show,
                                       const std::vector<std::string>& own);

// A cell of CSV: as exact_text, quoted if needed, and "" for an empty text.
std::string csv_cell(const FieldValue& value, const ColumnFormat& format);
// For people: floats are rounded.
std::string readable_text(const FieldValue& value, const ColumnFormat& format, ValueType type);

// The name of a type, with unit and zone: "timestamp in ms, UTC".
std::string format_text(const ColumnFormat& format);

}  // namespace culmen::tools
