// Rows as JSON, as answers have them, to be written to an index.
#pragma once

#include "coding/read_json.h"
#include "culmen/schema.h"
#include "culmen/table.h"

namespace culmen {

// [{"id":7,"label":"...","attributes":{"price":80.5},"fields":{"city":"Roma"}}, ...]. Every row has an id, or none has.
// Dates and timestamps are text; null, and a value that is not named, is missing. The table has all columns of the schema.
// Throws InvalidArgument, which counts rows from 1.
Table read_rows(const ReadJson& rows, const Schema& schema);

}  // namespace culmen
