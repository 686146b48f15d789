#include <string>

#include "tools/answers.h"
#include "tools/column_titles.h"
#include "tools/csv_cell.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

std::string header(const Answers& answers) {
  std::string line = answers.batch ? "query,rank,id,score" : "rank,id,score";
  if (answers.info.has_labels) line += ",label";
  for (const std::string& title : attribute_titles(answers.info)) line += ',' + quoted_if_needed(title);
  return line + '\n';
}

std::string row(const Answers& answers, std::size_t query, std::size_t rank) {
  const SearchResult& result = answers.results[query];
  std::string line = answers.batch ? std::to_string(query + 1) + ',' : "";
  line += std::to_string(rank + 1) + ',' + std::to_string(result.hits[rank].id);
  line += ',' + shortest(result.hits[rank].score);
  if (answers.info.has_labels) line += ',' + quoted_if_needed(result.label(rank));
  for (std::size_t i = 0; i < answers.info.attributes.size(); ++i)
    line += ',' + shortest(result.attribute(rank, static_cast<int>(i)));
  return line + '\n';
}

}  // namespace

void write_csv(const Answers& answers, Output& out) {
  out.write(header(answers));
  for (std::size_t query = 0; query < answers.results.size(); ++query)
    for (std::size_t rank = 0; rank < answers.results[query].hits.size(); ++rank)
      out.write(row(answers, query, rank));
}

}  // namespace culmen::tools
