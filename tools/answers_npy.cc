#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tools/answers.h"
#include "tools/npy_header.h"

namespace culmen::tools {
namespace {

std::string slot(std::int64_t id, double score) {
  std::string bytes(sizeof id + sizeof score, '\0');
  std::memcpy(bytes.data(), &id, sizeof id);
  std::memcpy(bytes.data() + sizeof id, &score, sizeof score);
  return bytes;
}

// The k of the queries, so the shape does not depend on the answers, but at most the number of rows.
std::size_t width_of(const Answers& answers) {
  std::size_t width = 0;
  for (std::size_t q = 0; q < answers.results.size(); ++q) {
    const SearchResult& result = answers.results[q];
    const std::size_t asked = answers.queries[q].k.value_or(result.hits.size());
    width = std::max(width, std::min<std::size_t>(asked, result.stats.rows_in_index));
  }
  return width;
}

}  // namespace

void write_npy(const Answers& answers, Output& out) {
  refuse_texts_in_npy(answers.info.id_type, "csv, json or jsonl");
  const std::size_t width = width_of(answers);
  const IdType type = answers.info.id_type;
  out.write(npy_header(fmt::format("[('id', '{}'), ('score', '<f8')]", npy_type_of(type)),
                       fmt::format("({}, {})", answers.results.size(), width)));
  const Hit no_hit;  // id -1, score -inf
  for (const SearchResult& result : answers.results)
    for (std::size_t rank = 0; rank < width; ++rank)
      out.write(rank < result.hits.size() ? slot(npy_id(result.hits[rank].id, type), result.hits[rank].score)
                                          : slot(no_hit.id, no_hit.score));
}

}  // namespace culmen::tools
