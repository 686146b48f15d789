#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tools/answers.h"
#include "tools/npy_header.h"

namespace culmen::tools {
namespace {

std::string slot(const Hit& hit) {
  std::string bytes(sizeof(hit.id) + sizeof(hit.score), '\0');
  std::memcpy(bytes.data(), &hit.id, sizeof(hit.id));
  std::memcpy(bytes.data() + sizeof(hit.id), &hit.score, sizeof(hit.score));
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
  const std::size_t width = width_of(answers);
  out.write(npy_header("[('id', '<i8'), ('score', '<f8')]",
                       fmt::format("({}, {})", answers.results.size(), width)));
  const Hit no_hit;  // id -1, score -inf
  for (const SearchResult& result : answers.results)
    for (std::size_t rank = 0; rank < width; ++rank)
      out.write(slot(rank < result.hits.size() ? result.hits[rank] : no_hit));
}

}  // namespace culmen::tools
