// Questions about the order of rows other than for the best of it: the rank of a row, how many score more, and why.
#pragma once

#include "coding/any_index.h"
#include "culmen/query.h"
#include "culmen/search.h"
#include "tools/output.h"
#include "tools/run_query.h"

namespace culmen::tools {

// How many of them the arguments ask.
int num_row_questions(const QueryArguments& arguments);
inline bool asks_about_rows(const QueryArguments& arguments) {
  return num_row_questions(arguments) > 0;
}

// Prints the answers, as text or as JSON (`format`: table, json or jsonl; the last has a line for each id of --rank-of). Throws InvalidArgument for ids that are not in
// the index.
void answer_about_rows(const QueryArguments& arguments, const AnyIndex& index, const Query& query,
                       const SearchOptions& options, const std::string& format, Output& out);

// "COLUMN=N". Throws InvalidArgument.
RowsPer parse_rows_per(const std::string& text);

}  // namespace culmen::tools
