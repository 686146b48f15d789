#include <string_view>

#include "coding/answer_json.h"
#include "tools/answers.h"

namespace culmen::tools {
namespace {

void write_query(const Answers& answers, std::size_t query, Output& out) {
  write_answer_json(answers.queries[query], answers.results[query], answers.info, answers.columns,
                    [&out](std::string_view text) { out.write(text); });
}

}  // namespace

void write_json(const Answers& answers, Output& out) {
  out.write("{\"queries\":[");
  for (std::size_t query = 0; query < answers.results.size(); ++query) {
    if (query != 0) out.write(",\n");
    write_query(answers, query, out);
  }
  out.write("]}\n");
}

void write_jsonl(const Answers& answers, Output& out) {
  for (std::size_t query = 0; query < answers.results.size(); ++query) {
    write_query(answers, query, out);
    out.write("\n");
  }
}

}  // namespace culmen::tools
