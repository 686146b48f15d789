// Writes the plans of queries: query --explain.
#pragma once

#include <span>
#include <string_view>

#include "culmen/index.h"
#include "tools/output.h"

namespace culmen::tools {

struct PlannedQueries {
  const Index& index;
  std::span<const Query> queries;
  const SearchOptions& options;
  bool batch;  // the queries are from a file: their place is predicted as well
};

// As text ("table"), as one object ("json"), or as one a line ("jsonl"):
// {"queries":[{"weights":{..},"plan":{..}}],"placement":{..}}.
void write_plans(const PlannedQueries& planned, std::string_view format, Output& out);

}  // namespace culmen::tools
