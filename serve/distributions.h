// How the values of the columns are distributed, by a sample of the rows.
#pragma once

#include "coding/any_index.h"
#include "coding/json_text.h"
#include "serve/served_index.h"

namespace culmen::serve {

// {"rows":10000,"attributes":[{"name":"price","low":...,"high":...,"counts":[...]}],"fields":[{"name":"city","texts":[...]}]}.
// `low` and `high` are the 1st and the 99th percentile, and the ends of the counted ranges; what is beyond them counts in
// the first and in the last range. Texts are those of filter columns, the most frequent first.
Json distributions_json(const AnyIndex& index, const IndexView& view);

}  // namespace culmen::serve
