#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "tools/answers.h"

namespace culmen::tools {
namespace {

static_assert(std::endian::native == std::endian::little, "the array is written as it stands in memory");

// NPY format 1.0: magic, version, length of the header, header padded so that the data is aligned to 64.
std::string header(std::size_t num_queries, std::size_t width) {
  const std::string shape = fmt::format("({}, {})", num_queries, width);
  std::string dictionary =
      "{'descr': [('id', '<i8'), ('score', '<f8')], 'fortran_order': False, 'shape': " + shape + ", }";
  const std::size_t prefix_bytes = 10;
  const std::size_t unpadded = prefix_bytes + dictionary.size() + 1;
  dictionary += std::string((64 - unpadded % 64) % 64, ' ') + '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(dictionary.size() & 0xff);
  bytes += static_cast<char>(dictionary.size() >> 8);
  return bytes + dictionary;
}

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
  out.write(header(answers.results.size(), width));
  const Hit no_hit;  // id -1, score -inf
  for (const SearchResult& result : answers.results)
    for (std::size_t rank = 0; rank < width; ++rank)
      out.write(slot(rank < result.hits.size() ? result.hits[rank] : no_hit));
}

}  // namespace culmen::tools
