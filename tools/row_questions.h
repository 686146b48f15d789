// Questions about the order of rows other than for the best of it: the rank of a row, how many score more, and why.
#pragma once

#include "coding/any_index.h"
#include "culmen/query.h"
#include "culmen/search.h"
#include "tools/output.h"
#include "tools/run_query.h"

namespace culmen::tools {

// Whether the arguments ask for one of them.
bool asks_about_rows(const QueryArguments& arguments);

// Prints the answers, as text or as JSON (`format`: table, json or jsonl). Throws InvalidArgument for ids that are not in
// the index.
void answer_about_rows(const QueryArguments& arguments, const AnyIndex& index, const Query& query,
                       const SearchOptions& options, const std::string& format, Output& out);

// "COLUMN=N". Throws InvalidArgument.
RowsPer parse_rows_per(const std::string& text);

}  // namespace culmen::tools
