// Questions about the order of rows other than for the best of it: the rank of a row, how many score more, and why.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

// How rows rank, by an index on the CPU or by its copies on GPUs.
struct Ranking {
  std::function<std::uint64_t(double score)> count_above;
  std::function<std::optional<RowRank>(const Row&)> rank_of;
};

// `index` and `query` live as long.
template <typename T>
Ranking ranking_of(const T& index, const Query& query, const SearchOptions& options, IdType type) {
  return {[&index, &query, options](double score) { return index.count_above(query, score, options); },
          [&index, &query, options, type](const Row& row) {
            return rank_of_row(index, type, query, row, options);
          }};
}

// Prints the answers, as text or as JSON (`format`: table, json or jsonl; the last has a line for each id of --rank-of). Throws InvalidArgument for ids that are not in
// the index.
void answer_about_rows(const QueryArguments& arguments, const AnyIndex& index, const Query& query,
                       const Ranking& ranking, const std::string& format, Output& out);

// "COLUMN=N". Throws InvalidArgument.
RowsPer parse_rows_per(const std::string& text);

}  // namespace culmen::tools
