#include <string>

#include "base/number_text.h"
#include "coding/answer_rows.h"
#include "tools/answers.h"
#include "tools/csv_cell.h"

namespace culmen::tools {
namespace {

std::string header(const Answers& answers) {
  std::string line = answers.batch ? "query,rank,id,score" : "rank,id,score";
  if (answers.info.has_labels) line += ",label";
  for (const ShownColumn& column : answers.columns) line += ',' + quoted_if_needed(column.title);
  return line + '\n';
}

std::string line_of(const Answers& answers, std::size_t query, std::size_t rank, const Row& row) {
  const SearchResult& result = answers.results[query];
  std::string line = answers.batch ? std::to_string(query + 1) + ',' : "";
  line += std::to_string(rank + 1) + ',' + text_cell(id_text(row, answers.info.id_type));
  line += ',' + number_text(result.hits[rank].score);
  if (answers.info.has_labels) line += ',' + quoted_if_needed(row.label);
  for (const ShownColumn& column : answers.columns)
    line += ',' + csv_cell(value_of(row, column), column.format);
  return line + '\n';
}

}  // namespace

void write_csv(const Answers& answers, Output& out) {
  out.write(header(answers));
  for (std::size_t query = 0; query < answers.results.size(); ++query)
    for_rows(answers.results[query],
             [&](std::size_t rank, const Row& row) { out.write(line_of(answers, query, rank, row)); });
}

}  // namespace culmen::tools
